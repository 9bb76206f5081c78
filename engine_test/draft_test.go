package engine_test

import (
	"errors"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/presets"
)

// draftModel and draftCluster are plain shapes to resolve against: 64 heads, 80
// layers, nodes of 8.
func draftModel() model.Model {
	return model.Model{
		ID: "llama", Layers: 80, Hidden: 8192, Heads: 64, KVHeads: 8, HeadDim: 128, FFN: 28672,
		Vocab: 128256, MaxSeq: 131072, Gated: true, Norm: "rmsnorm", NormsPer: 2,
		Position: "rope", AttnBias: "none", QKNorm: "none", Attention: "gqa", Activation: "swiglu",
	}
}

func draftCluster() hardware.Cluster {
	return hardware.Cluster{
		ID: "eights", NodeGPUs: 8, ScaleUpGPUs: 8,
		GPU: hardware.GPU{
			ID: "gpu", MemoryUsable: 79 * units.GiB, MemoryBandwidth: 3350 * units.GBps,
			PeakBF16: 989 * units.TFLOPS, PeakFP16: 989 * units.TFLOPS, PeakTF32: 494 * units.TFLOPS,
			PeakFP32: 67 * units.TFLOPS,
			NodeGPUs: 8, ScaleUpGPUs: 8, LinkBandwidth: 450 * units.GBps,
		},
		Intra: hardware.Link{Name: "in", Bandwidth: 450 * units.GBps, Latency: units.Microsecond},
		Inter: hardware.Link{Name: "out", Bandwidth: 50 * units.GBps, Latency: 2 * units.Microsecond},
	}
}

// draftOf says "tp=8 gbs=512" on an empty draft.
func draftOf(t testing.TB, said string) knob.Draft {
	t.Helper()
	m, c := draftModel(), draftCluster()
	d := knob.DraftOf(m, c, nil)
	for word := range strings.FieldsSeq(said) {
		id, value, _ := strings.Cut(word, "=")
		if err := d.Set(knob.ID(id), value); err != nil {
			t.Fatalf("draft %q: %v", word, err)
		}
	}
	return d
}

func TestDraftDerivesWhatIsLeftOut(t *testing.T) {
	type sizes struct{ gpus, dp, mbs, m, gbs int }
	tests := map[string]struct {
		said string
		want sizes
	}{
		"nothing said: 8 nodes, one sequence per dp rank x pp x 4": {"", sizes{64, 64, 1, 4, 256}},
		"the built-in start":        {"tp=8 pp=2 gbs=512", sizes{64, 4, 1, 128, 512}},
		"gpus":                      {"gpus=16 tp=8", sizes{16, 2, 1, 4, 8}},
		"nodes":                     {"nodes=4 tp=8 pp=2", sizes{32, 2, 1, 8, 16}},
		"nodes and gpus that agree": {"nodes=2 gpus=12 tp=4 pp=3", sizes{12, 1, 1, 12, 12}},
		"last node partly used":     {"nodes=2 dp=3 tp=4", sizes{12, 3, 1, 4, 12}},
		"dp without gpus":           {"dp=3 tp=4 pp=2", sizes{24, 3, 1, 8, 24}},
		"microbatches without gbs": {
			"gpus=64 tp=8 microbatches=10 mbs=2",
			sizes{64, 8, 2, 10, 160},
		},
		"all of the batch": {
			"gpus=64 tp=8 mbs=2 microbatches=4 gbs=64",
			sizes{64, 8, 2, 4, 64},
		},
		"a large micro-batch: whole ones":         {"gpus=8 tp=8 mbs=3", sizes{8, 1, 3, 2, 6}},
		"degrees do not divide the GPUs: floor":   {"gpus=64 tp=3", sizes{64, 21, 1, 4, 84}},
		"more degrees than GPUs":                  {"gpus=4 tp=8", sizes{4, 1, 1, 4, 4}},
		"batch does not divide: floor":            {"gpus=8 tp=1 gbs=100", sizes{8, 8, 1, 12, 100}},
		"batch of less than a micro-batch a rank": {"gpus=8 gbs=4", sizes{8, 8, 1, 1, 4}},
		"rounded dp hides no second complaint": {
			"gpus=64 tp=3 gbs=64 mbs=1 microbatches=2",
			sizes{64, 21, 1, 2, 64},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := draftOf(t, tc.said).Resolve()
			if err != nil {
				t.Fatal(err)
			}
			if got := (sizes{s.GPUs, s.DP, s.MBS, s.MicroBatches, s.GBS}); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestDraftDefaults(t *testing.T) {
	got, err := draftOf(t, "tp=8 pp=2 gbs=512").Resolve()
	if err != nil {
		t.Fatal(err)
	}
	want := engine.Setup{
		Model: draftModel(), Cluster: draftCluster(),
		Layout: layout.Layout{
			GPUs: 64, DP: 4, TP: 8, PP: 2, VPP: 1, CP: 1, EP: 1, ETP: 1, SP: true, ZeRO: 1, HSDP: 1,
			MBS: 1, MicroBatches: 128, GBS: 512, Seq: 8192,
		},
		Recipe: knob.Recipe{
			Schedule: schedule.OneFOneB, Recompute: recipe.Recompute{Mode: recipe.RecomputeNone},
			Precision: recipe.BF16, GradDtype: recipe.GradFP32, Attention: recipe.Flash,
			Software:  autoSoftware(),
			Optimizer: recipe.Adam, Loss: recipe.UnfusedLoss, Offload: recipe.OffloadNone, Imbalance: 100,
			Stack: recipe.DefaultStack, MFU: recipe.MFUCausal,
		},
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDraftDefaultsFollowTheRest(t *testing.T) {
	tests := map[string]struct {
		said string
		id   knob.ID
		want string
	}{
		"no sequence parallelism alone": {"tp=1", "sp", "off"},
		"unless it is said":             {"tp=8 sp=off", "sp", "off"},
		"interleaved with vpp":          {"pp=2 vpp=2", "schedule", "interleaved"},
		"textbook has no ZeRO":          {"calibration=textbook", "zero", "0"},
		"textbook stores the scores":    {"calibration=textbook", "attention", "standard"},
		"textbook with flash, if said":  {"calibration=textbook attention=flash", "attention", "flash"},
		"full for some layers":          {"recompute=full:4", "recompute", "full:4"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := draftOf(t, tc.said).Resolve()
			if err != nil {
				t.Fatal(err)
			}
			p, _ := knob.Find(tc.id)
			if got := p.Text(s); got != tc.want {
				t.Errorf("%s is %q, want %q", tc.id, got, tc.want)
			}
		})
	}
}

func TestDraftFollowsModelAndMachine(t *testing.T) {
	m, c := draftModel(), draftCluster()
	m.MaxSeq, c.MaxGPUs, c.GPU.PeakBF16 = 2048, 16, 0
	d := knob.DraftOf(m, c, nil)
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if s.Seq != 2048 || s.GPUs != 16 || s.Precision != recipe.FP16 {
		t.Errorf("seq %d, gpus %d, precision %s; want 2048, 16, fp16", s.Seq, s.GPUs, s.Precision)
	}
}

func TestDraftContradictions(t *testing.T) {
	tests := map[string]struct {
		said   string
		fields [2]string
	}{
		"more GPUs than the nodes hold":  {"gpus=65 nodes=8", [2]string{"gpus", "nodes"}},
		"so few GPUs that a node idles":  {"gpus=56 nodes=8", [2]string{"gpus", "nodes"}},
		"dp against gpus":                {"gpus=64 dp=3 tp=8 pp=2", [2]string{"gpus", "dp"}},
		"dp against gpus, other degrees": {"gpus=64 dp=4", [2]string{"gpus", "dp"}},
		"dp against nodes":               {"nodes=8 dp=3 tp=8 pp=2", [2]string{"nodes", "dp"}},
		"batch": {
			"gpus=64 tp=8 mbs=1 microbatches=4 gbs=512",
			[2]string{"gbs", "microbatches"},
		},
		"batch without mbs": {"gpus=64 tp=8 microbatches=100 gbs=512", [2]string{"gbs", "microbatches"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := draftOf(t, tc.said).Resolve()
			var conflict *knob.ConflictError
			if !errors.As(err, &conflict) {
				t.Fatalf("got %v, want a contradiction", err)
			}
			if conflict.Fields != tc.fields {
				t.Errorf("names %v, want %v", conflict.Fields, tc.fields)
			}
			for _, f := range tc.fields {
				if !strings.Contains(err.Error(), "--"+f) {
					t.Errorf("message %q does not name --%s", err, f)
				}
			}
		})
	}
}

func TestDraftRefusesValues(t *testing.T) {
	huge, zero, negative := 1<<40, 0, -3
	tests := map[string]struct {
		change func(*knob.Draft)
		field  string
	}{
		"no model":    {func(d *knob.Draft) { *d = *new(knob.Draft) }, "model"},
		"no cluster":  {func(d *knob.Draft) { *d = *new(knob.Draft); d.SetModel(draftModel()) }, "cluster"},
		"zero":        {func(d *knob.Draft) { d.With(knob.Given{knob.TP: zero}) }, "tp"},
		"negative":    {func(d *knob.Draft) { d.With(knob.Given{knob.GBS: negative}) }, "gbs"},
		"huge degree": {func(d *knob.Draft) { d.With(knob.Given{knob.PP: huge}) }, "pp"},
		"huge nodes": {
			func(d *knob.Draft) { n := knob.MaxGPUs; d.With(knob.Given{knob.Nodes: n}) },
			"nodes",
		},
		"degrees that multiply": {func(d *knob.Draft) {
			n := knob.MaxDegree
			d.With(knob.Given{knob.DP: n, knob.TP: n, knob.PP: n, knob.CP: n})
		}, "dp"},
		"copies that follow": {
			func(d *knob.Draft) { n := knob.MaxGPUs; d.With(knob.Given{knob.GPUs: n}) },
			"gpus",
		},
		"micro-batches": {func(d *knob.Draft) { n := knob.MaxBatch; d.With(knob.Given{knob.GBS: n}) }, "gbs"},
		"batch that multiplies": {func(d *knob.Draft) {
			n, m := knob.MaxDegree, knob.MaxMicroBatches
			d.With(knob.Given{knob.MBS: n, knob.MicroBatches: m})
		}, "microbatches"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := draftOf(t, "")
			tc.change(&d)
			_, err := d.Resolve()
			var value *knob.ValueError
			if !errors.As(err, &value) {
				t.Fatalf("got %v, want a refused value", err)
			}
			if value.Field != tc.field || value.Allowed == "" {
				t.Errorf("field %q, allowed %q; want field %q", value.Field, value.Allowed, tc.field)
			}
		})
	}
}

// What is taken from a draft is what was said, for every parameter, and after it
// the draft says nothing of it.
func TestDraftTake(t *testing.T) {
	s := presets.DefaultSetup()
	for _, p := range knob.All() {
		var d knob.Draft
		if text, said := d.Take(p.ID); said {
			t.Errorf("%s: an empty draft says %q", p.ID, text)
		}
		want := p.Text(s)
		if err := d.Set(p.ID, want); err != nil {
			t.Fatalf("%s: %v", p.ID, err)
		}
		if text, said := d.Take(p.ID); !said || text != want {
			t.Errorf("%s: took %q %v, want %q", p.ID, text, said, want)
		}
		if text, said := d.Take(p.ID); said {
			t.Errorf("%s: taken, and still %q", p.ID, text)
		}
	}
	var d knob.Draft
	if _, said := d.Take("nothing"); said {
		t.Error("an unknown parameter was said")
	}
}

// autoSoftware is what a stack is told to run where nothing is given.
func autoSoftware() (run recipe.Software) {
	for _, f := range recipe.SoftwareFields() {
		*f.Of(&run) = recipe.Auto
	}
	return run
}
