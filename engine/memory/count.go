package memory

import (
	"strconv"

	"meshscope/engine/model"
	"meshscope/engine/record"
)

const sourceCut = "Megatron-LM: TP splits the matrices, norms and router are replicated on every rank, EP " +
	"distributes the experts"

// CountRank counts the parameters of one pipeline rank.
func CountRank(in *Input, rank int, cut Divisors) Parameters {
	c := counter{in: in, cut: cut, last: -1}
	return c.rank(rank)
}

// counter counts rank after rank. Most stages are like the one before.
type counter struct {
	in   *Input
	cut  Divisors
	last int        // the stage counted last; -1: none
	of   Parameters // of it
}

func (c *counter) rank(r int) Parameters {
	var p Parameters
	note := c.in.rankNote(r)
	for chunk := range c.in.Order.Chunks() {
		stage := c.in.Order.StageOf(r, chunk)
		if c.last < 0 || c.in.Stages[stage] != c.in.Stages[c.last] || note.rec.On() {
			c.of = stageParameters(c.in, note, stage, &c.cut)
		}
		c.last = stage
		p.add(c.of)
	}
	note.parameters(&p, p.share(c.in, r))
	return p
}

// stageParameters counts the parameters of one stage on one GPU.
func stageParameters(in *Input, note note, s int, d *Divisors) Parameters {
	m, st := in.Model, &in.Stages[s]
	p := Parameters{Layers: st.Layers()}
	for i := range in.Program.Layers {
		l, count := &in.Program.Layers[i], int(st.Of[i])
		if count == 0 {
			continue
		}
		dense, expert := in.layerParameters(l, d)
		p.Dense += float64(count) * dense
		p.Expert += float64(count) * expert
		block := 0.0
		if sharded, whole := l.Block(); sharded.V > 0 {
			n := min(count, m.SharedBlocks)
			block = sharded.V/d.sharded + whole.V/d.replicated
			p.Dense += float64(n) * block
			note.times("dense", n, "shared_blocks_of_stage_"+strconv.Itoa(s),
				"(("+sharded.Text()+") / t + ("+whole.Text()+")"+d.whole()+")")
		}
		p.Largest = max(p.Largest, dense+expert+block)
		p.Layer = p.Largest
		p.blocks += count
		if note.rec.On() {
			name := l.Name + "_layers_of_stage_" + strconv.Itoa(s)
			note.times("dense", count, name, "{layer.", l.ID, ".parameters-per-gpu}")
			if l.MoE {
				note.times("expert", count, name, "{layer.", l.ID, ".expert-parameters-per-gpu}")
			}
		}
	}
	p.Dense += float64(m.Extra()) * float64(p.Layers) / float64(max(m.Layers, 1)) / d.sharded
	if m.Extra() > 0 && note.rec.On() {
		note.times("dense", p.Layers, "layers_of_stage_"+strconv.Itoa(s), "P_extra / L / t")
	}

	table := in.table(d)
	if st.Embedding {
		p.blocks++
		p.Embedding += table + float64(m.BeforeLayers())/d.replicated
		note.embedding("{model.embedding-per-gpu}")
		if m.BeforeLayers() > 0 {
			note.embedding("position_table", d.whole())
		}
	}
	if st.Head {
		p.blocks++
		p.Embedding += table
		note.embedding("{model.embedding-per-gpu}")
		if m.Tied {
			p.tiedCopy = table
		}
		p.Dense += float64(m.FinalNorm()) / d.replicated
		note.term("dense", "final_norm", d.whole())
		if in.TrainMTP {
			addMTP(in, note, &p, d)
		}
	}
	p.Dense += p.Embedding
	if (st.Embedding || st.Head) && table > p.Largest {
		p.Largest, p.table = table, true
	}
	return p
}

// table returns the embedding, or the head, on one GPU.
func (in *Input) table(d *Divisors) float64 {
	table := d.vocab * in.Program.Hidden().Width.V / d.sharded
	if in.Record.On() {
		formula := "V * h / t"
		if d.padded {
			formula = "{model.padded-vocabulary} * h / t"
		}
		in.Record.Figure(record.Entry{
			ID: "model.embedding-per-gpu", Name: "Embedding table on one GPU, and the head",
			Symbol:  "P_table",
			Formula: formula, Value: table, Source: sourceCut,
		})
	}
	return table
}

// layerParameters counts one layer on one GPU: what all data-parallel ranks hold,
// and its routed experts.
func (in *Input) layerParameters(layer *model.Layer, d *Divisors) (dense, expert float64) {
	l, id := layer.Params(), layer.ID
	var copies record.Num
	if d.copies {
		copies = layer.Copies(in.Record.Named("t", float64(in.Layout.TP)))
	}
	dense = copies.V + d.part(l.AttnSharded+l.MLPSharded+l.SharedExperts,
		l.AttnReplicated+l.Norms+l.MLPReplicated+l.Router)
	expert = d.expert(l)
	if !in.Record.On() {
		return dense, expert
	}
	rec := in.Record.Scope("layer."+id, id+" layer")
	var parts []string
	for _, part := range [...]struct {
		id string
		n  int64
	}{{"attention", l.AttnSharded}, {"mlp", l.MLPSharded}, {"shared", l.SharedExperts}} {
		if part.n > 0 {
			parts = append(parts, "{"+layer.Scope(part.id)+".parameters}")
		}
	}
	sharded := record.Sum(parts...)
	if len(parts) > 1 {
		sharded = "(" + sharded + ")"
	}
	formula := sharded + " / t + whole_parts_of_attention_norms_and_router" + d.whole()
	if copies.V > 0 {
		formula += " + " + copies.Text()
	}
	rec.Figure(record.Entry{
		ID:     "parameters-per-gpu",
		Name:   "Parameters replicated over data-parallel ranks of a " + id + " layer on one GPU",
		Symbol: "parameters per " + id + " layer", Formula: formula, Value: dense, Source: sourceCut,
		LeavesOut: "fractions stay where a degree does not divide a matrix",
	}, record.In("whole_parts_of_attention_norms_and_router",
		l.AttnReplicated+l.Norms+l.MLPReplicated+l.Router))
	if layer.MoE {
		rec.Figure(record.Entry{
			ID:      "expert-parameters-per-gpu",
			Name:    "Routed experts' parameters of a " + id + " layer on one GPU",
			Symbol:  "expert-parameters per " + id + " layer",
			Formula: "{" + layer.Scope("experts") + ".parameters} / (EP * ETP) + expert_biases" + d.biases(),
			Value:   expert, Source: sourceCut,
			LeavesOut: "fractions stay where a degree does not divide a matrix",
		}, record.In("expert_biases", l.ExpertsReplicated))
	}
	return dense, expert
}

// addMTP adds the multi-token-prediction modules: layers of the kind of the
// last layer, and what else they own (projection and norms). They share the
// embedding and the head.
func addMTP(in *Input, note note, p *Parameters, d *Divisors) {
	m := in.Model
	l := in.Program.Module().Params()
	experts := float64(l.ExpertsSharded + l.ExpertsReplicated)
	rest := in.Program.MTP() - float64(m.MTPLayers)*experts
	p.Dense += rest / d.sharded
	p.Expert += float64(m.MTPLayers) * experts / d.experts
	if m.MTPLayers > 0 {
		note.term("dense", "MTP_modules_without_experts / t")
		note.given("MTP_modules_without_experts", rest)
		note.given("their_experts", experts)
		if experts > 0 {
			note.times("expert", m.MTPLayers, "MTP_modules", "their_experts / (EP * ETP)")
		}
	}
}

// embedding adds a term to what the embedding and the head are.
func (n note) embedding(formula ...string) {
	n.term("embedding", formula...)
	n.term("dense", formula...)
}

// parameters records those of a rank. A tied head next to the embedding is the
// embedding itself.
func (n note) parameters(p *Parameters, tied bool) {
	if !n.rec.On() {
		return
	}
	less := ""
	if tied {
		less = " - {model.embedding-per-gpu}"
	}
	n.figure(record.Entry{
		ID: "dense-parameters", Name: "Parameters on one GPU that all data-parallel ranks hold",
		Symbol:  "P_dense",
		Formula: n.sum("dense") + less, Value: p.Dense, Source: sourceCut,
	})
	if p.Expert > 0 {
		n.figure(record.Entry{
			ID: "expert-parameters", Name: "Parameters of routed experts on one GPU", Symbol: "P_expert",
			Formula: n.sum("expert"), Value: p.Expert, Source: sourceCut,
		})
	}
	n.figure(record.Entry{
		ID: "parameters", Name: "Parameters on one GPU", Symbol: "parameters", Formula: p.formula(),
		Value: p.Dense + p.Expert, Source: sourceCut,
	})
	n.figure(record.Entry{
		ID: "embedding-parameters", Name: "Parameters of embedding and head on one GPU",
		Symbol:  "embedding parameters",
		Formula: n.sum("embedding") + less, Value: p.Embedding, Source: sourceCut,
	})
}
