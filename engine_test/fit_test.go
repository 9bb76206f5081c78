package engine_test

import (
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// DeepSeek-V3 on its 2,048 H800 (arXiv 2412.19437: pp 16, ep 64, 15,360
// sequences of 4,096): plain 1F1B without recomputation cannot hold the
// activations of the micro-batches in flight, and the tool says so.
func TestDeepSeekV3DoesNotFitUnderPlain1F1B(t *testing.T) {
	m := presetModel(t, "deepseek-v3")
	cluster, err := presets.Default().Cluster("deepseek-h800")
	if err != nil {
		t.Fatal(err)
	}
	d := knob.DraftOf(m, cluster, knob.Given{
		knob.GPUs: 2048, knob.PP: 16, knob.EP: 64, knob.GBS: 15_360,
		knob.Seq: 4096,
	})
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	r := engine.Evaluate(s)
	why := r.Memory.Reason
	for _, part := range []string{
		"activations alone", "15 micro-batches in flight", "1f1b",
		"nothing recomputed",
	} {
		if !strings.Contains(why, part) {
			t.Errorf("%q does not say %q", why, part)
		}
	}
	t.Log(why)
	fixes := advise.Fixes(s, nil)
	full := false
	for i := range fixes {
		remedy := &fixes[i]
		t.Logf("%s: %.1f GiB, %.1f s", remedy.Turns(), remedy.Report.Memory.Peak.GiB(),
			remedy.Report.Time.Step)
		full = full || strings.HasPrefix(remedy.Turns(), "recompute full")
		if !remedy.Report.Memory.Fits {
			t.Errorf("%s does not fit", remedy.Turns())
		}
	}
	if !full {
		t.Error("full recomputation is not among the remedies")
	}
	s.Recompute = recipe.Recompute{Mode: recipe.RecomputeFull}
	r = engine.Evaluate(s)
	if r.Memory.Reason != "" {
		t.Errorf("fits, yet %q", r.Memory.Reason)
	}
}
