package step

import (
	"fmt"
	"strings"

	"meshscope/engine/layout"
	"meshscope/engine/record"
)

// piece is one piece of a stage in formulas: how often it is there, as a factor,
// and the sums of what it is made of.
type piece struct {
	times string
	sums  *record.Recorder
}

// pieces returns those that Stage adds up.
func (p *Parts) pieces(rec *record.Recorder, st *layout.Stage) (all []piece) {
	in := p.k.in
	add := func(n int, times, id string) {
		if n == 1 {
			times = ""
		}
		if n > 0 {
			all = append(all, piece{times, in.Record.Scope(id, "")})
		}
	}
	rec.Given(record.In("layers", st.Layers()), record.In("MTP_runs", in.Model.MTPRuns()))
	for i := range in.Program.Layers {
		l := &in.Program.Layers[i]
		rec.Given(record.In(l.Name+"_layers", int(st.Of[i])))
		add(int(st.Of[i]), l.Name+"_layers * ", "layer."+l.ID)
	}
	if st.Embedding {
		add(1, "", "embedding")
	}
	if st.Head {
		add(1, "", "head")
		if n := in.Model.MTPRuns(); in.TrainMTP {
			for _, id := range []string{"layer." + in.Program.Module().ID, "mtp-projection", "head"} {
				add(n, "MTP_runs * ", id)
			}
		}
	}
	return all
}

// recomputed returns the layers whose forward runs again as a whole.
func (p *Parts) recomputed(stage int, st *layout.Stage) (all []piece) {
	in := p.k.in
	again := st.Take(in.Program, recomputedLayers(in, stage))
	if in.Known != nil {
		again = p.exchangedAgain(stage, st)
	}
	for i, n := range again {
		if n > 0 {
			l := &in.Program.Layers[i]
			all = append(all,
				piece{"recomputed_" + l.Name + "_layers * ", in.Record.Scope("layer."+l.ID, "")})
		}
	}
	return all
}

// record records the sums of a stage: its passes, what runs again, and its traffic.
func (p *Parts) record(rec *record.Recorder, c *Cost, stage int, st *layout.Stage) {
	in, of, pieces := p.k.in, rec.What(), p.pieces(rec, st)
	// A ledger sums kernels; messages stay those of the layers.
	senders := pieces
	known := func(id string, value float64) string { // of the stack's ledger
		rec.Given(record.InUnit(record.Seconds, id+"_of_the_ledger", value))
		return id + "_of_the_ledger"
	}
	if in.Known != nil {
		pieces = nil
		rec.Term("recompute", known("recompute", float64(c.Recompute)))
	}
	figure := func(id, name, symbol string, unit record.Unit, terms string, value float64, source,
		omits string,
	) {
		if unit == record.Seconds && p.k.m.Software.Factor != 1 {
			terms = "factor_of_the_stack * (" + terms + ")"
		}
		rec.Figure(record.Entry{
			ID: id, Name: name, Symbol: symbol + " of " + of, Unit: unit, Formula: terms, Value: value,
			Source: source, LeavesOut: omits,
		})
	}
	from := record.From(p.k.m.Software.From)
	for _, part := range c.sums() {
		var sum []string
		for _, piece := range pieces {
			if !part.overlap || piece.sums.Sum(part.id) != "0" {
				sum = append(sum, piece.times+piece.sums.Ref(part.id))
			}
		}
		if in.Known != nil && !part.overlap {
			sum = []string{known(strings.ReplaceAll(part.id, "-", "_"), float64(part.t))}
		}
		name, source, omits := part.name+" of one micro-batch on "+of, "layers times their operations",
			"exposed communication (its own figure)"
		if part.overlap {
			name, source, omits = part.name+" on "+of, "a second of compute overlaps with one traffic", ""
		}
		figure(part.id, name, part.id, record.Seconds, record.Sum(sum...), float64(part.t),
			source+", times the factor of the stack; "+from, omits)
	}
	figure("recompute", "recomputation of one micro-batch on "+of, "recompute", record.Seconds,
		rec.Sum("recompute"), float64(c.Recompute),
		"forward of what --recompute names", "multi-token-prediction modules, which keep all activations")
	f, b := &c.ForwardLinks, &c.BackwardLinks
	recomputed := p.recomputed(stage, st)
	for _, d := range LinkDimensions() {
		if Copies(d) { // toHost and recordCopies
			continue
		}
		f, b := f.Of(d), b.Of(d)
		for _, what := range [...]struct {
			id    string
			unit  record.Unit
			value float64
		}{
			{"bytes", record.Traffic, float64(f.Bytes + b.Bytes)},
			{"seconds", record.Seconds, float64(f.Seconds + b.Seconds)},
			{"exposed", record.Seconds, float64(f.Exposed + b.Exposed)},
		} {
			var sum []string
			take := func(pieces []piece, pass string) {
				for _, piece := range pieces {
					if s := piece.sums.Sum(pass + "." + d + "." + what.id); s != "0" {
						sum = append(sum, piece.times+"("+s+")")
					}
				}
			}
			take(senders, "forward")
			take(senders, "backward")
			take(recomputed, "forward")
			if recomputation := in.Recomputation(); d[0] == 'e' && recomputation.Experts() {
				for i := range in.Program.Layers {
					if l := &in.Program.Layers[i]; l.MoE && st.Of[i] > 0 {
						take([]piece{{l.Name + "_layers * ", in.Record.Scope("layer."+l.ID, "")}}, "forward")
					}
				}
			}
			figure(d+"."+what.id, fmt.Sprintf("%s traffic of one micro-batch on %s: %s",
				strings.ToUpper(d), of, what.id),
				strings.ToUpper(d)+" "+what.id, what.unit, record.Sum(sum...), what.value,
				"traffic of its layers, forward, backward and recomputed", "")
		}
	}
}
