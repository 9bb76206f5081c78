package engine_test

import (
	"math"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/cards"
	"meshscope/engine/compare"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/ring"
	"meshscope/engine/units"
)

// TestUnitsChangeAtTheirSize: a value gets the larger prefix exactly where it is one of them.
func TestUnitsChangeAtTheirSize(t *testing.T) {
	for _, c := range []struct {
		unit record.Unit
		v    float64
		want string
	}{
		{record.Seconds, 0, "0 s"},
		{record.Seconds, 1e-12, "1e-06 us"},
		{record.Seconds, 0.5e-12, "0 s"},
		{record.Seconds, -2e-6, "-2 us"},
		{record.Seconds, 1e-3, "1 ms"},
		{record.Seconds, 0.999e-3, "999 us"},
		{record.Seconds, 1, "1 s"},
		{record.Seconds, 0.999, "999 ms"},
		{record.Memory, 1 << 10, "1 KiB"},
		{record.Memory, 1023, "1,023 B"},
		{record.Memory, 1 << 20, "1 MiB"},
		{record.Memory, 1 << 30, "1 GiB"},
		{record.Memory, -1 << 30, "-1 GiB"},
		{record.Traffic, 1e3, "1 kB"},
		{record.Traffic, 999, "999 B"},
		{record.Traffic, 1e9, "1 GB"},
		{record.Rate, 1e12, "1 TFLOP/s"},
		{record.Bandwidth, 1e9, "1 GB/s"},
		{record.FLOPs, 1e6, "1 MFLOP"},
		{record.Share, 0.125, "12.5 %"},
		{record.Tokens, 1234567, "1,234,567 tokens/s"},
		{record.Count, 1e15, "1e+15"},
		{record.Count, 999_999_999_999_999, "999,999,999,999,999"},
		{record.Count, 1e-4, "0.0001"},
		{record.Count, 0.5e-4, "5e-05"},
		{record.Count, 1.5, "1.5"},
		{record.Count, 0.123456789, "0.123457"},
		{record.Count, 123456.7, "123,457"},
		{record.Count, 12345.67, "12,345.7"},
		{record.Count, -1234.5, "-1,234.5"},
		{record.Count, 100, "100"},
		{record.Count, 1000, "1,000"},
	} {
		if got := c.unit.Text(c.v); got != c.want {
			t.Errorf("%v %s: %q, want %q", c.v, c.unit, got, c.want)
		}
	}
	if got := record.Thousands("-12345.678"); got != "-12,345.678" {
		t.Errorf("%q", got)
	}
	for _, c := range [][3]float64{
		{1, 1 + 0.5e-12, 0},
		{1, 1 + 2e-12, -2e-12},
		{-5, -5, 0},
		{3, 1, 2},
		{-3, -1, -2},
		{0, 0, 0},
		{0, 1, -1},
	} {
		if got := units.Difference(c[0], c[1]); math.Abs(got-c[2]) > 1e-15 {
			t.Errorf("%v - %v = %v, want %v", c[0], c[1], got, c[2])
		}
	}
	if units.Bytes(8).Over(0) != 0 || units.Bytes(8).Over(-1) != 0 || units.FLOPs(8).Over(4) != 2 {
		t.Error("a rate that is missing takes no time")
	}
}

// TestEscapesAtTheirEdges: the first and last visible ASCII characters are, their neighbours are not,
// wherever they stand among eight; texts are cut behind their last character that fits.
func TestEscapesAtTheirEdges(t *testing.T) {
	for at := range 17 {
		for b, want := range map[byte]bool{
			' ': true, '~': true, ' ' - 1: false, '~' + 1: false, 0: false,
			0x80: false, 0xff: false,
		} {
			text := []byte(strings.Repeat("a", 17))
			text[at] = b
			if got := escape.Printable(string(text)); got != want {
				t.Errorf("%#x at %d of 17: printable %v", b, at, got)
			}
		}
	}
	if !escape.Printable("é") || escape.Printable("a\u202eb") || !escape.Printable("") {
		t.Error("letters are printable, bidirectional marks are not")
	}
	long := strings.Repeat("x", escape.Most)
	if escape.Clip(long) != long || escape.Clip(long+"y") != long+"..." {
		t.Error("200 characters stay, 201 do not")
	}
	if wide := strings.Repeat("é", escape.Most); escape.Clip(wide) != wide ||
		escape.Clip(wide+"é") != wide+"..." {
		t.Error("characters are counted, not bytes")
	}
	if name := strings.Repeat("n", 60); escape.Name(name) != name || escape.Name("m"+name) != "..."+name {
		t.Error("60 bytes of a name stay")
	}
	if got := escape.Name("é" + strings.Repeat("n", 59)); got != "..."+strings.Repeat("n", 59) {
		t.Errorf("%q: a name is cut in a character", got)
	}
}

// TestModelsAtTheirLimits: the least and the largest width of each field are sound, one beyond is not and
// the limit is offered.
func TestModelsAtTheirLimits(t *testing.T) {
	dense := llama(4096, 32, 32, 8, 14336, 128_256, false)
	moe := dense
	moe.Experts, moe.TopK, moe.ExpertFFN, moe.MoEFreq = 64, 6, 1408, 1
	once := dense
	once.MTPLayers = 1
	mla := moe
	mla.QLoraRank, mla.KVLoraRank, mla.QKNopeDim, mla.QKRopeDim, mla.VHeadDim = 1536, 512, 128, 64, 128
	for _, c := range []struct {
		field      string
		base       model.Model
		of         func(m *model.Model) *int
		least, top int
	}{
		{"layers", dense, func(m *model.Model) *int { return &m.Layers }, 1, model.MaxLayers},
		{"hidden", dense, func(m *model.Model) *int { return &m.Hidden }, 1, model.MaxWidth},
		{"head_dim", dense, func(m *model.Model) *int { return &m.HeadDim }, 1, model.MaxHeadDim},
		{"ffn_hidden", dense, func(m *model.Model) *int { return &m.FFN }, 1, model.MaxWidth},
		{"vocab", dense, func(m *model.Model) *int { return &m.Vocab }, 1, model.MaxVocab},
		{"max_seq", dense, func(m *model.Model) *int { return &m.MaxSeq }, 1, model.MaxSequence},
		{"norms_per_layer", dense, func(m *model.Model) *int { return &m.NormsPer }, 0, model.MaxNorms},
		{"local_window", dense, func(m *model.Model) *int { return &m.LocalWindow }, 0, model.MaxSequence},
		{"mtp_layers", dense, func(m *model.Model) *int { return &m.MTPLayers }, 0, model.MaxMTPLayers},
		{"mtp_passes", dense, func(m *model.Model) *int { return &m.MTPPasses }, 0, 1},
		{"mtp_passes", once, func(m *model.Model) *int { return &m.MTPPasses }, 0, model.MaxMTPLayers},
		{"moe_layer_freq", dense, func(m *model.Model) *int { return &m.MoEFreq }, 0, 1},
		{"top_k", moe, func(m *model.Model) *int { return &m.TopK }, 1, 64},
		{"moe_ffn_hidden", moe, func(m *model.Model) *int { return &m.ExpertFFN }, 1, model.MaxWidth},
		{"first_k_dense_layers", moe, func(m *model.Model) *int { return &m.FirstDense }, 0, 31},
		{"moe_layer_freq", moe, func(m *model.Model) *int { return &m.MoEFreq }, 1, 32},
		{"n_shared_experts", moe, func(m *model.Model) *int { return &m.SharedExperts }, 0, model.MaxExperts},
		{
			"shared_ffn_hidden_total", moe, func(m *model.Model) *int { return &m.SharedFFN }, 0,
			model.MaxWidth,
		},
		{"q_lora_rank", mla, func(m *model.Model) *int { return &m.QLoraRank }, 0, model.MaxWidth},
		{"qk_nope_head_dim", mla, func(m *model.Model) *int { return &m.QKNopeDim }, 1, model.MaxHeadDim},
		{"qk_rope_head_dim", mla, func(m *model.Model) *int { return &m.QKRopeDim }, 0, model.MaxHeadDim},
		{"v_head_dim", mla, func(m *model.Model) *int { return &m.VHeadDim }, 1, model.MaxHeadDim},
	} {
		for _, v := range []int{c.least - 1, c.least, c.top, c.top + 1} {
			m := c.base
			*c.of(&m) = v
			wrong, nearest := false, ""
			for _, e := range m.Check() {
				if e.Field == c.field {
					wrong, nearest = true, e.Nearest
				}
			}
			if sound := v >= c.least && v <= c.top; wrong == sound {
				t.Errorf("%s of %d: wrong %v (nearest %s)", c.field, v, wrong, nearest)
			}
		}
	}
	groups := func(experts, groups, routed, top int) model.Model {
		m := moe
		m.Experts, m.ExpertGroups, m.RoutedGroups, m.TopK = experts, groups, routed, top
		return m
	}
	for _, c := range []struct {
		m     model.Model
		field string
	}{
		{groups(64, 8, 1, 8), ""},
		{groups(64, 8, 1, 9), "routed_groups"},
		{groups(64, 8, 8, 64), ""},
		{groups(64, 8, 9, 8), "routed_groups"},
		{groups(64, 7, 7, 8), "expert_groups"},
		{groups(64, 0, 0, 64), ""},
		{groups(64, 64, 64, 64), ""},
		{groups(64, 65, 65, 1), "expert_groups"},
	} {
		errs := c.m.Check()
		if (len(errs) == 0) != (c.field == "") || c.field != "" && !strings.Contains(errs.Error(), c.field) {
			t.Errorf("%d experts in %d groups, %d routed, %d of them: %v, want %q", c.m.Experts,
				c.m.ExpertGroups, c.m.RoutedGroups, c.m.TopK, errs, c.field)
		}
	}
	named := dense
	if named.Name = strings.Repeat("n", model.MaxLabel); len(named.Check()) != 0 {
		t.Error("a name of 200 bytes is refused")
	}
	if named.Name += "n"; len(named.Check()) == 0 {
		t.Error("a name of 201 bytes is taken")
	}
	for extra, sound := range map[int64]bool{
		0: true, -1: false, model.MaxParameters - dense.Total(): true,
		model.MaxParameters - dense.Total() + 1: false, model.MaxParameters + 1: false,
	} {
		m := dense
		if m.ExtraParams = extra; (len(m.Check()) == 0) != sound {
			t.Errorf("%d parameters more: %v", extra, m.Check())
		}
	}
}

// TestWhereExpertsStand: every n-th layer after the first dense ones, the n-th of them first.
func TestWhereExpertsStand(t *testing.T) {
	for _, c := range []struct {
		first, every int
		want         string
	}{
		{0, 1, "eeeeeeee"},
		{3, 1, "---eeeee"},
		{0, 2, "-e-e-e-e"},
		{1, 2, "--e-e-e-"},
		{0, 0, "eeeeeeee"},
		{2, 3, "----e--e"},
	} {
		m := model.Model{Layers: 8, Experts: 4, FirstDense: c.first, MoEFreq: c.every}
		got := ""
		for i := range m.Layers {
			got += map[bool]string{true: "e", false: "-"}[m.MoELayer(i)]
		}
		if got != c.want || m.MoELayers() != strings.Count(c.want, "e") {
			t.Errorf("%d dense, every %d: %s with %d, want %s", c.first, c.every, got, m.MoELayers(), c.want)
		}
	}
}

// TestMessagesThatLeaveTheirNode: between the last rank of a node and the first of the next, and back to the
// first.
func TestMessagesThatLeaveTheirNode(t *testing.T) {
	c := ring.Collective{Op: ring.AllGather, Ranks: 8, PerNode: 4}
	for s, want := range map[ring.Send]bool{
		{From: 2, To: 3}: false, {From: 3, To: 4}: true,
		{From: 7, To: 0}: true, {From: 4, To: 5}: false, {From: 0, To: 3}: false,
	} {
		if c.Crosses(s) != want {
			t.Errorf("%+v crosses: %v", s, !want)
		}
	}
	if one := (ring.Collective{Ranks: 2}); !one.Crosses(ring.Send{From: 0, To: 1}) {
		t.Error("ranks without neighbours in a node are nodes")
	}
	sends := ring.Collective{Op: ring.SendRecv, Ranks: 8, PerNode: 4}
	if got := sends.Sends(0); len(got) != 1 || got[0].From != 3 || got[0].To != 4 {
		t.Errorf("the message of a pair: %+v", got)
	}
	if all := (ring.Collective{Op: ring.SendRecv, Ranks: 3, PerNode: 8}); all.Sends(0)[0].From != 2 {
		t.Errorf("in one node: %+v", all.Sends(0))
	}
}

// TestRatiosOfWhatThereIs: no ratio to nothing or of what is below nothing; equal to nine digits is the same.
func TestRatiosOfWhatThereIs(t *testing.T) {
	for _, c := range []struct {
		a, b, ratio float64
		ok, same    bool
	}{
		{2, 3, 1.5, true, false},
		{0, 3, 0, false, false},
		{2, 0, 0, true, false},
		{2, -1, 0, false, false},
		{-2, 1, 0, false, false},
		{1, 1 + 0.5e-9, 1 + 0.5e-9, true, true},
		{1, 1 + 2e-9, 1 + 2e-9, true, false},
		{0, 0, 0, false, true},
		{-3, -3, 0, false, true},
	} {
		d := compare.Delta{A: &c.a, B: &c.b}
		if ratio, ok := d.Ratio(); ok != c.ok || ok && ratio != c.ratio || d.Same() != c.same {
			t.Errorf("%v over %v: %v %v, the same %v", c.b, c.a, ratio, ok, d.Same())
		}
	}
}

// TestShareOfTheBusiest: of four expert ranks one has 1.6 times the mean and three share the rest; of one
// rank it has all.
func TestShareOfTheBusiest(t *testing.T) {
	m := presetModel(t, "mixtral-8x7b")
	d := knob.DraftOf(m, draftCluster(), knob.Given{
		knob.GPUs: 8, knob.TP: 1, knob.PP: 1, knob.EP: 4,
		knob.Seq: 4096, knob.Imbalance: 160,
	})
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	loads := cards.Loads(&s)
	const mean = 4096 * 2 // tokens go to two experts each
	if len(loads) != 4 || !same(loads[0].Tokens, 1.6*mean) || !same(loads[1].Tokens, (4-1.6)*mean/3) ||
		!same(loads[3].Tokens, loads[1].Tokens) {
		t.Errorf("%+v, want %v and %v", loads, 1.6*mean, 2.4*mean/3)
	}
}

// TestPeaksWithTheirBands: exactly the memory that there is fits with the band on top; a margin is 5 % or the
// band.
func TestPeaksWithTheirBands(t *testing.T) {
	for _, c := range []struct {
		peak, usable units.Bytes
		band         float64
		want         engine.Fit
	}{
		{80, 100, 0.25, engine.Fits},
		{80.1, 100, 0.25, engine.Tight},
		{125, 100, 0.25, engine.Tight},
		{125.1, 100, 0.25, engine.Over},
		{100, 100, 0, engine.Fits},
	} {
		if got := engine.FitWithin(c.peak, c.usable, c.band); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	m := engine.Memory{Usable: 100, Peak: 80}
	m.ErrorBand = 0.25
	if m.Margin() != 20 || m.PeakErrorBytes() != 20 || !m.HasMargin() {
		t.Errorf("a margin of %v, a slip of %v, has it: %v", m.Margin(), m.PeakErrorBytes(), m.HasMargin())
	}
	if m.Peak = 80.1; m.HasMargin() {
		t.Error("less than the margin is left")
	}
	if m.ErrorBand = 0.01; m.Margin() != 5 {
		t.Errorf("a margin of %v, want 5 %%", m.Margin())
	}
}

// TestRecomputeWords: all layers, some and none, parts in their order; a set of all parts is sound and one
// more is not.
func TestRecomputeWords(t *testing.T) {
	for want, r := range map[string]recipe.Recompute{
		"none": {}, "full": {Mode: recipe.RecomputeFull}, "full:1": {Mode: recipe.RecomputeFull, Layers: 1},
		"selective": {Mode: recipe.RecomputeSelective},
	} {
		if r.String() != want {
			t.Errorf("%+v: %s, want %s", r, r, want)
		}
		var back recipe.Recompute
		if err := back.UnmarshalText([]byte(want)); err != nil || back.String() != want {
			t.Errorf("%s reads %s (%v)", want, back, err)
		}
	}
	for word, sound := range map[string]bool{
		"full:0": false, "full:1": true, "full:100000": true,
		"full:100001": false, "full:": false, "none:1": false, "selective:": false, "modules:norm": true,
		"modules:norm,": false, "modules:nor": false,
	} {
		var r recipe.Recompute
		if err := r.UnmarshalText([]byte(word)); (err == nil) != sound {
			t.Errorf("%s: %v", word, err)
		}
	}
	for modules, sound := range map[recipe.Modules]bool{
		recipe.AllModules: true, recipe.AllModules + 1: false,
		0: false, 1: true,
	} {
		s := startSetup(t)
		s.Recompute = recipe.Recompute{Mode: recipe.RecomputeModules, Modules: modules}
		if hasProblem(engine.Check(s), "recompute") == sound {
			t.Errorf("parts %b: %+v", modules, engine.Check(s))
		}
	}
}
