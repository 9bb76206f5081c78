package cli

import (
	"math/rand/v2"
	"strings"
	"testing"

	"meshscope/engine/explain"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// TestForeignFigure: names of the figures of random layouts are known before any layout is; those with a word
// that none has are not, and the nearest are named.
func TestForeignFigure(t *testing.T) {
	known := map[string]bool{}
	for _, line := range setupsOfFigures() {
		book, err := bookOf(line)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range book.IDs() {
			for _, part := range partsOf(id) {
				known[part] = true
			}
		}
	}
	draw := rand.New(rand.NewPCG(1, 2))
	turns := map[knob.ID]string{
		knob.TP: "1 2 4", knob.PP: "1 2 4", knob.CP: "1 2", knob.EP: "1 2 4", knob.ETP: "1 2",
		knob.VPP: "1 2", knob.SP: "on off", knob.ZeRO: "0 1 2 3",
		knob.Recompute: "none selective full full:1 modules:norm,act modules:mla-up,moe-act,shared",
		knob.Schedule:  "1f1b interleaved afab zb-h1 zb-v zb-auto dualpipe v-min",
		knob.Precision: "bf16 fp8 fp16", knob.Offload: "none optimizer", "offload-layers": "0 1",
		knob.MTP: "on off", knob.Optimizer: "adam muon sgd",
	}
	for _, id := range []string{
		"gpt2-124m", "llama3.1-8b", "deepseek-v3", "deepseek-v2-lite", "mixtral-8x7b",
		"gpt-oss-20b", "gemma2-9b", "bloom-176b", "minimax-m1", "qwen3-next-80b-a3b",
		"nemotron3-nano-30b-a3b", "granite-4.0-h-tiny",
	} {
		m, err := presets.Default().Model(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, stack := range recipe.Stacks() {
			base := knob.WithModel(presets.DefaultSetup(), m)
			base.Stack = stack
			for range 15 {
				s := base
				for _, k := range knob.All() { // in their order, so that a draw is always the same
					if words := strings.Fields(turns[k.ID]); len(words) > 0 {
						if turned, err := knob.Turn(s, k.ID, words[draw.IntN(len(words))],
							knob.Locks{GPUs: true}); err == nil {
							s = turned
						}
					}
				}
				book, legal := explain.Of(s)
				if !legal {
					continue
				}
				for _, figure := range book.IDs() {
					for _, part := range partsOf(figure) {
						if !known[part] {
							t.Errorf("%s on %s: %q of %s is unknown", id, stack, part, figure)
							known[part] = true
						}
					}
				}
			}
		}
	}
	for name, want := range map[string]string{
		"time.stepp":                "did you mean time.step",
		"qq.qqq":                    `unknown figure "qq.qqq"; `,
		"memory.ranks.0.wieghts":    "did you mean memory.ranks.0.weights",
		"time.":                     `unknown figure "time."`,
		"time.step":                 "",
		"memory.fullest.weights":    "",
		"memory.free":               "",
		"run.cost":                  "",
		"memory.ranks.4095.weights": "",
	} {
		if err := foreignFigure(name); (err == nil) != (want == "") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
