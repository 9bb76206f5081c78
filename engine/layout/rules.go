package layout

import (
	"fmt"
	"strconv"

	"meshscope/engine/hardware"
	"meshscope/engine/knob/id"
	"meshscope/engine/model"
	"meshscope/engine/units"
)

// Bounds of what is evaluated at all. They are far above any machine or run
// ever published and keep every product of degrees inside an int.
const (
	MaxDegree       = 1 << 20
	MaxGPUs         = 1 << 24
	MaxMicroBatches = 1<<20 - 1
	MaxSeq          = 1 << 30
	MaxGBS          = 1 << 40
)

// rules collects problems; the first group that fails ends the check, because
// later rules divide by what earlier ones guarantee.
type rules struct {
	m    *model.Model
	c    *hardware.Cluster
	l    *Layout
	list []Problem

	mute bool // codes alone, no messages
}

func (r *rules) addf(severity Severity, code string, field id.ID, format string, args ...any) {
	p := Problem{Code: code, Severity: severity, Field: string(field)}
	if !r.mute {
		p.Message = fmt.Sprintf(format, args...)
	}
	r.list = append(r.list, p)
}

func (r *rules) failf(code string, field id.ID, format string, args ...any) {
	r.addf(Error, code, field, format, args...)
}

func (r *rules) warnf(code string, field id.ID, format string, args ...any) {
	r.addf(Warning, code, field, format, args...)
}

// Rules lists what is wrong with a layout of a model on a cluster, without
// nearest values: errors for what cannot be executed at all, warnings for what
// one launcher rejects on top or what is rarely wanted. It appends to into.
// The model must have passed its own check.
func (l *Layout) Rules(m *model.Model, c *hardware.Cluster, into []Problem) []Problem {
	r := rules{m: m, c: c, l: l, list: into}
	return r.all()
}

// RuleCodes is Rules without messages, for those who only count.
func (l *Layout) RuleCodes(m *model.Model, c *hardware.Cluster, into []Problem) []Problem {
	r := rules{m: m, c: c, l: l, list: into, mute: true}
	return r.all()
}

func (r *rules) all() []Problem {
	before := len(r.list)
	r.bounds()
	if len(r.list) > before {
		return r.list
	}
	r.tensor()
	r.pipeline()
	r.sequence()
	r.experts()
	r.world()
	r.batch()
	r.unusual()
	return r.list
}

func (r *rules) bounds() {
	l := r.l
	for _, b := range [...]struct {
		field     id.ID
		value     int
		low, high int
	}{
		{id.GPUs, l.GPUs, 1, MaxGPUs},
		{id.DP, l.DP, 1, MaxDegree},
		{id.TP, l.TP, 1, MaxDegree},
		{id.PP, l.PP, 1, MaxDegree},
		{id.VPP, l.VPP, 1, MaxDegree},
		{id.CP, l.CP, 1, MaxDegree},
		{id.EP, l.EP, 1, MaxDegree},
		{id.ETP, l.ETP, 1, MaxDegree},
		{id.ZeRO, l.ZeRO, 0, 3},
		{id.HSDP, l.HSDP, 0, MaxDegree},
		{id.MBS, l.MBS, 1, MaxDegree},
		{id.MicroBatches, l.MicroBatches, 1, MaxMicroBatches},
		{id.GBS, l.GBS, 1, MaxGBS},
		{id.Seq, l.Seq, 1, MaxSeq},
	} {
		if b.value < b.low || b.value > b.high {
			r.failf("out-of-range", b.field, "%s is %d; allowed are %d to %d", b.field, b.value, b.low,
				b.high)
		}
	}
}

// heads: TP gives each rank whole ones.
func (r *rules) heads(heads, kv int, whose string) {
	switch t := r.l.TP; {
	case t > heads:
		r.failf("tp-exceeds-heads", id.TP,
			"tp %d is more than %s %d attention heads: TP gives each rank whole heads", t, whose, heads)
	case heads%t != 0:
		r.failf("tp-heads", id.TP,
			"tp %d does not divide %s %d attention heads: TP gives each rank whole heads", t, whose, heads)
	case !r.m.IsMLA() && kv%t != 0 && t%kv != 0:
		r.failf("tp-kv-heads", id.TP, "tp %d neither divides %s %d kv heads nor is a multiple of them", t,
			whose, kv)
	}
}

// tensor: TP cuts heads and MLP columns into equal parts.
func (r *rules) tensor() {
	m, t := r.m, r.l.TP
	if t == 1 {
		return
	}
	r.heads(m.Heads, m.KVHeads, "the model's")
	if a, kv := m.LocalAttention(); a != m.Heads || kv != m.KVHeads {
		r.heads(a, kv, "its windowed layers'")
	}
	if n := m.Undivided(t); n > 0 {
		r.failf("tp-ffn", id.TP, "tp %d does not divide the MLP width %d", t, n)
	}
	if heads, what := m.ScanHeads(); heads > 0 && heads%t != 0 {
		r.failf("tp-linear-heads", id.TP, "tp %d does not divide the %d %s: TP gives each rank whole ones", t,
			heads, what)
	}
	if m.Has(model.LetterConv) && m.Hidden%t != 0 {
		r.failf("tp-conv-channels", id.TP, "tp %d does not divide the %d channels of short convolutions", t,
			m.Hidden)
	}
	if m.OutputGroups%t != 0 {
		r.failf("tp-output-groups", id.TP,
			"tp %d does not divide the %d groups of heads that attention's output goes down in", t,
			m.OutputGroups)
	}
	if m.SharedFFN%t != 0 {
		r.failf("tp-shared-ffn", id.TP, "tp %d does not divide the shared experts' width %d", t, m.SharedFFN)
	}
	if t > r.c.Domain() {
		r.warnf("tp-leaves-domain", id.TP, "tp %d exceeds the %s of a scale-up domain: its traffic, "+
			"several times per layer, crosses the network", t, units.Plural(r.c.Domain(), "GPU"))
	}
	if !m.IsMLA() && t > m.KVHeads && t%m.KVHeads == 0 && t <= m.Heads {
		r.warnf("tp-kv-replication", id.TP,
			"tp %d exceeds the model's %s: each is replicated on %d ranks", t,
			units.Plural(m.KVHeads, "kv head"), t/m.KVHeads)
	}
	if r.l.SP && r.l.Seq/r.l.CP%t != 0 {
		r.failf("sp-seq", id.Seq,
			"sequence parallelism needs tp to divide the %d tokens of a rank; tp = %d does not",
			r.l.Seq/r.l.CP, t)
	}
	if m.IsMoE() && !r.l.SP {
		r.warnf("moe-tp-without-sp", id.SP, "Megatron-Core requires SP for experts with TP")
	}
}

// edges are the stages that may be without a layer: the first with the
// embedding, the last with the head. Published layouts count those as layers
// (Qwen3-235B's 94 layers on 96 stages, Llama 3.1 405B's 126 on 128).
const edges = 2

func (r *rules) pipeline() {
	m, l := r.m, r.l
	switch {
	case l.PP > m.Layers:
		r.failf("pp-exceeds-layers", id.PP, "pp %d is more than the model's %d layers", l.PP, m.Layers)
	case l.PP*l.VPP > m.Layers+edges && l.Split == "":
		r.failf("stages-exceed-layers", id.VPP,
			"pp x vpp = %d stages are more than the model's %d layers, embedding and head", l.PP*l.VPP,
			m.Layers)
	case l.Split != "":
		if split, err := ParseSplit(l.Split, l.Stages(), m.Layers); err != nil {
			r.failf("split", id.Split, "%s", err.Error())
		} else if stage, layer := reusing(m, split); stage >= 0 && m.ReusedKV > 0 {
			r.failf("split-keys", id.Split,
				"split %s: stage %d begins with layer %d, at or behind which layers take keys and values of "+
					"one before it; these are not sent between stages", l.Split, stage, layer)
		} else if stage >= 0 {
			r.failf("split-selection", id.Split, "split %s: stage %d begins with layer %d, which attends to "+
				"the tokens that an earlier one chose (R of layer_pattern); a stage must begin with one "+
				"that "+
				"chooses (D), since a selection is not sent between stages", l.Split, stage, layer)
		}
	case m.ReusedKV > 0 && l.Stages() > len(stageStarts(m)):
		r.failf("stages-exceed-keys", id.PP,
			"pp x vpp = %d stages, and the last %d layers take keys and values of earlier ones, which are "+
				"not sent between stages: at most %d stages", l.Stages(), m.ReusedKV, len(stageStarts(m)))
	case m.Has(model.LetterShared) && l.Stages() > len(stageStarts(m)):
		r.failf("stages-exceed-selections", id.PP,
			"pp x vpp = %d stages are more than the model's %d layers "+
				"that choose tokens (D of layer_pattern); a stage must begin with one, since a selection "+
				"is not "+
				"sent between stages", l.Stages(), len(stageStarts(m)))
	case m.Layers%l.Stages() != 0 && !SplitsByCost(m):
		r.uneven()
	}
}

// uneven warns of layers that do not divide over the stages, with the options of Megatron-LM
// that run them as they are here (megatron/training/arguments.py).
func (r *rules) uneven() {
	layers, stages := r.m.Layers, r.l.Stages()
	p := Problem{Code: "vpp-uneven", Severity: Warning, Field: string(id.VPP)}
	if !r.mute { // put together without fmt: a model of 126 layers has it in every evaluation
		how := "runs them with --account-for-embedding-in-pipeline-split and " +
			"--account-for-loss-in-pipeline-split"
		switch counted, even := CountedEvenly(layers, stages); {
		case !even:
			how = "then requires an explicit layout (--split here, --pipeline-model-parallel-layout there)"
		case counted == 1:
			how = "runs them with --account-for-loss-in-pipeline-split"
		}
		text := strconv.AppendInt(make([]byte, 0, 192), int64(layers), 10)
		text = strconv.AppendInt(append(text, " layers do not divide over "...), int64(stages), 10)
		p.Message = string(append(append(text, " stages; Megatron-LM "...), how...))
	}
	r.list = append(r.list, p)
}

// CountedEvenly reports whether layers divide over stages, with how many of loss and embedding
// counted as layers: 0, 1 (the loss, --account-for-loss-in-pipeline-split) or 2 (both), every
// stage keeping at least one layer. The balanced split is then Megatron-LM's.
func CountedEvenly(layers, stages int) (counted int, even bool) {
	if layers%stages == 0 {
		return 0, true
	}
	for counted = 1; counted <= 2; counted++ {
		if sum := layers + counted; sum%stages == 0 && sum/stages >= 2 {
			return counted, true
		}
	}
	return 0, false
}

func (r *rules) sequence() {
	m, l := r.m, r.l
	if l.Seq > m.MaxSeq {
		if m.Position == model.PositionLearned {
			r.failf("seq-position-table", id.Seq,
				"sequence %d is longer than the model's table of %d learned positions", l.Seq, m.MaxSeq)
		} else {
			r.warnf("seq-exceeds-model", id.Seq,
				"sequence %d is longer than the %d tokens the model was published with", l.Seq, m.MaxSeq)
		}
	}
	if l.CP > 1 {
		if kinds := m.Beyond("*WGMKLCDRQX-E"); kinds != "" {
			r.failf("cp-scan", id.CP, "cp %d: no launcher divides a sequence for layers of the kind %s",
				l.CP, kinds)
			return
		}
	}
	if heads, what := m.ScanHeads(); heads > 0 && l.CP > 1 && heads%l.TP == 0 &&
		!m.ExchangesScan(l.TP, l.CP) {
		r.failf("cp-linear-heads", id.CP,
			"tp x cp = %d does not divide the %d %s: its CP exchanges the sequence for heads", l.TP*l.CP,
			heads, what)
	}
	ratio := max(m.CompressRatio, m.CompressHeavy)
	switch {
	case l.CP == 1:
	case ratio > 0 && l.Seq%(l.CP*ratio) != 0:
		r.failf("cp-compressed-keys", id.CP,
			"cp x %d = %d does not divide the sequence of %d tokens: a key of %d tokens would lie on two "+
				"ranks", ratio, l.CP*ratio, l.Seq, ratio)
	case l.Seq%l.CP != 0:
		r.failf("cp-seq", id.CP, "cp %d does not divide the sequence of %d tokens", l.CP, l.Seq)
	case l.Seq%(2*l.CP) != 0:
		r.warnf("cp-zigzag", id.CP, "2 x cp = %d does not divide the sequence, as a balanced causal split "+
			"needs and Megatron-Core requires", 2*l.CP)
	}
}

func (r *rules) experts() {
	m, l := r.m, r.l
	if !m.IsMoE() {
		if l.EP > 1 {
			r.failf("ep-dense", id.EP, "ep %d: the model has no routed experts to distribute", l.EP)
		}
		if l.ETP > 1 {
			r.failf("etp-dense", id.ETP, "etp %d: the model has no routed experts to split", l.ETP)
		}
		return
	}
	if m.Experts%l.EP != 0 {
		r.failf("ep-experts", id.EP, "ep %d does not divide the model's %d experts", l.EP, m.Experts)
	}
	if m.ExpertFFN%l.ETP != 0 {
		r.failf("etp-ffn", id.ETP, "etp %d does not divide the experts' width %d", l.ETP, m.ExpertFFN)
	}
	if plane := l.DP * l.CP * l.TP; plane%(l.EP*l.ETP) != 0 {
		r.failf("ep-plane", id.EP, "ep x etp = %d does not divide dp x cp x tp = %d: experts fold over the "+
			"ranks of one pipeline stage", l.EP*l.ETP, plane)
	}
}

func (r *rules) world() {
	l, c := r.l, r.c
	if product := l.Ranks(); product != l.GPUs {
		r.failf("gpus-not-divisible", id.GPUs, "dp x tp x pp x cp = %d x %d x %d x %d = %d, not the %s",
			l.DP, l.TP, l.PP, l.CP, product, units.Plural(l.GPUs, "GPU"))
	}
	if c.Inter.Bandwidth <= 0 && l.GPUs > c.Domain() {
		r.failf("no-scale-out", id.GPUs,
			"%d GPUs are more than the %d that %s joins, and it has no published network beyond", l.GPUs,
			c.Domain(), c.Name)
	}
	if c.MaxGPUs > 0 && l.GPUs > c.MaxGPUs {
		r.warnf("cluster-size", id.GPUs, "%d GPUs are more than the %d of %s", l.GPUs, c.MaxGPUs, c.Name)
	}
	if l.GPUs > c.Node() && l.GPUs%c.Node() != 0 {
		r.warnf("partial-node", id.GPUs, "%d GPUs leave a node of %d partly empty", l.GPUs, c.Node())
	}
}

func (r *rules) batch() {
	l := r.l
	if l.DP%l.Replicas() != 0 {
		r.failf("hsdp-dp", id.HSDP,
			"hsdp %d does not divide dp %d: a replica is a whole number of data-parallel ranks", l.HSDP, l.DP)
	}
	switch product := l.MBS * l.MicroBatches * l.DP; {
	case product == l.GBS:
	case l.MBS*l.DP > l.GBS && l.MBS > 0:
		r.failf("batch-not-divisible", id.GBS, "mbs x dp = %d x %d = %d sequences at once are more than "+
			"the global batch of %d: fewer replicas (dp up to %d), a larger batch or a smaller micro-batch",
			l.MBS, l.DP, l.MBS*l.DP, l.GBS, l.GBS/l.MBS)
	default:
		r.failf("batch-not-divisible", id.GBS,
			"mbs x microbatches x dp = %d x %d x %d = %d, not the global batch of %d", l.MBS, l.MicroBatches,
			l.DP, product, l.GBS)
	}
}

func (r *rules) unusual() {
	l := r.l
	if l.SP && l.TP == 1 {
		r.warnf("sp-without-tp", id.SP, "sequence parallelism has no effect without tensor parallelism")
	}
	if l.ZeRO >= 2 && l.PP > 1 {
		r.warnf("zero-with-pp", id.ZeRO, "ZeRO-%d reduce-scatters gradients in every micro-batch; "+
			"Megatron-LM and DeepSpeed reject it with pipeline parallelism", l.ZeRO)
	}
}
