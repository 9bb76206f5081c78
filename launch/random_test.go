package launch_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine_test/draws"
	"meshscope/launch"
	"meshscope/presets"
)

// drawn returns a random legal setup; false where the draw is illegal.
func drawn(r *rand.Rand, models []presets.ModelPreset) (engine.Setup, bool) {
	m := models[r.IntN(len(models))].Model
	one := func(of ...int) int { return of[r.IntN(len(of))] }
	tp, pp, cp, mbs := one(1, 1, 2, 4, 8), one(1, 1, 2, 4, 8, 16, 3), one(1, 1, 1, 2, 4), one(1, 1, 2, 4)
	given := knob.Given{
		knob.TP: tp, knob.PP: pp, knob.CP: cp, knob.MBS: mbs, knob.Seq: one(2048, 4096, 8192),
		knob.ZeRO: one(0, 1, 1, 1, 2, 3),
	}
	dp := one(1, 2, 4, 8, 16)
	given[knob.GPUs] = dp * tp * pp * cp
	given[knob.GBS] = dp * mbs * pp * one(1, 2, 4)
	if pp > 1 {
		given[knob.VPP] = one(1, 1, 2, 3, 4)
	}
	if m.IsMoE() {
		given[knob.EP], given[knob.ETP] = one(1, 2, 4, 8, 16), one(1, 1, 2)
	}
	c, err := presets.Default().Cluster([]string{"dgx-h100", "dgx-b200", "dgx-a100"}[r.IntN(3)])
	if err != nil {
		return engine.Setup{}, false
	}
	s, err := knob.DraftOf(m, c, given).Resolve()
	if err != nil {
		return s, false
	}
	for _, id := range []knob.ID{
		knob.Recompute, knob.Precision, knob.GradDtype, knob.Optimizer, knob.Offload, knob.Loss,
		knob.Attention, knob.SP, knob.MTP, knob.GroupSize, "offload-layers",
		"dispatcher", "ep-overlap", "tp-overlap", "cuda-graph", "attention-precision", "dp-overlap",
		"grouped-mlp", knob.HSDP, knob.Tokens, knob.Price,
	} {
		if r.IntN(5) == 0 {
			steps := knob.Steps(s, id, knob.Locks{})
			s = steps[r.IntN(len(steps))].Setup
		}
	}
	if r.IntN(6) == 0 {
		_ = s.Recompute.UnmarshalText([]byte([]string{
			"modules:norm,mlp", "modules:mla-up,moe-act,shared",
			"full:4", "modules:moe",
		}[r.IntN(4)]))
	}
	if s.PP > 1 && r.IntN(6) == 0 { // a split of one layer moved from the first stage to the last
		stages, err := s.StagesOfStack(nil, nil)
		if err == nil && stages[0].Layers() > 1 {
			var words []string
			for i, st := range stages {
				n := st.Layers()
				switch i {
				case 0:
					n--
				case len(stages) - 1:
					n++
				}
				words = append(words, fmt.Sprint(n))
			}
			s.Split = strings.Join(words, ",")
		}
	}
	return s, engine.Legal(s)
}

// TestGroupedMLP: how the MLPs of experts run comes back, from each of the files that can say it.
func TestGroupedMLP(t *testing.T) {
	for _, id := range []string{"megatron", "bridge"} {
		l, _ := launch.Find(id)
		for _, how := range []recipe.GroupedMLP{recipe.GroupedLoop, recipe.GroupedFused} {
			s := setup(t, "qwen3-30b-a3b", knob.Given{
				knob.GPUs: 16, knob.EP: 8, knob.GBS: 64,
				knob.Seq: 4096,
			})
			s.GroupedMLP = how
			d, refused := l.Export(&s, "test")
			if len(refused) > 0 {
				t.Fatalf("%s: %+v", id, refused)
			}
			if got, _ := back(t, d, &s); got.GroupedMLP != how {
				t.Errorf("%s: %s comes back as %s", id, how, got.GroupedMLP)
			}
		}
	}
}

// TestRandomRoundTrip: random legal setups that a launcher accepts come back.
func TestRandomRoundTrip(t *testing.T) {
	models := presets.Default().Models()
	for _, id := range []string{"megatron", "bridge"} {
		l, _ := launch.Find(id)
		r, want := rand.New(rand.NewPCG(draws.Seeds()[0], 1)), 60
		if draws.Deep() {
			want = 500
		}
		tried, done := 0, 0
		for ; done < want && tried < 200*want && !t.Failed(); tried++ {
			if s, ok := drawn(r, models); ok && roundTrip(t, l, s, "a draw") {
				done++
			}
		}
		t.Logf("%s: %d setups of %d draws", id, done, tried)
		if done < want && !t.Failed() {
			t.Errorf("%s: only %d of %d draws were accepted", id, done, tried)
		}
	}
}

// TestNothingIsDropped: another value of any knob changes the document, is refused or listed.
func TestNothingIsDropped(t *testing.T) {
	dense := knob.Given{knob.GPUs: 64, knob.TP: 4, knob.PP: 4, knob.VPP: 10, knob.GBS: 512}
	bases := []engine.Setup{
		setup(t, "llama3.1-70b", dense), setup(t, "llama3.1-8b", knob.Given{knob.GPUs: 8, knob.GBS: 64}),
		setup(t, "deepseek-v3", knob.Given{
			knob.GPUs: 1024, knob.TP: 2, knob.PP: 16, knob.VPP: 2, knob.EP: 64,
			knob.GBS: 4096, knob.Seq: 4096,
		}),
	}
	for _, id := range []string{"megatron", "bridge"} {
		l, _ := launch.Find(id)
		for i := range bases {
			base, refused := l.Export(&bases[i], "test")
			if len(refused) > 0 {
				t.Fatalf("%s: %+v", id, refused)
			}
			tried := 0
			for _, k := range knob.All() {
				if k.ID == knob.Split {
					continue // which round trips try
				}
				key := strings.ReplaceAll(string(k.ID), "-", "_")
				for _, step := range knob.Steps(bases[i], k.ID, knob.Locks{}) {
					s := step.Setup
					if !engine.Legal(s) || canonical(s) == canonical(bases[i]) {
						continue
					}
					tried++
					d, refused := l.Export(&s, "test")
					if len(refused) > 0 || !bytes.Equal(d.Text(), base.Text()) {
						continue
					}
					listed := func(n launch.NotCarried) bool { return n.Key == key || key == "nodes" }
					if !slices.ContainsFunc(d.NotCarried, listed) &&
						!slices.ContainsFunc(base.NotCarried, listed) {
						t.Errorf("%s, base %d: let the launcher write %s %s, or give the knob a row in "+
							"lacks.go: its file is that of %s", id, i, k.ID, step.Text, k.Text(bases[i]))
					}
				}
			}
			if tried < 50 {
				t.Errorf("only %d values tried", tried)
			}
		}
	}
}
