package steps

import (
	"math"
	"os"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/ledger"
	"meshscope/engine/recipe"
	"meshscope/engine_test/shared"
	"meshscope/presets"
)

// given returns the knobs of a record's way; false where they have none for it.
func given(r *record, w *ledger.Way) (knob.Given, bool) {
	list := knob.Given{
		knob.GPUs: 1, knob.DP: 1, knob.ZeRO: 0, knob.Calibration: recipe.PyTorch, knob.Seq: r.Seq,
		knob.MBS: r.MicroBatch, knob.MicroBatches: w.MicroBatches, knob.Recompute: r.Checkpoint,
	}
	if w.Code.Transformers {
		list[knob.Calibration] = recipe.Transformers
	}
	if w.FSDP {
		list[knob.ZeRO] = 3
	}
	if w.Compile {
		list["compile"] = "on"
	}
	if w.Frozen() {
		list[knob.LoRA], list["lora-targets"] = w.Rank, strings.Join(w.Targets, ",")
	} else if w.Bytes == 2 {
		list[knob.Optimizer] = recipe.AdamNoMaster
	}
	cudnn := w.Attention == recipe.CuDNN
	if cudnn {
		list[knob.Attention] = w.Attention
	}
	return list, !w.Slice && (!cudnn || !w.Compile) && !w.NoRepeat && !w.Offload && !w.HostSaved &&
		w.Optimizer == "" && r.Optimizer == ""
}

// TestEvalOfRecords: eval of a measured step's setup takes as long as the ledger says, and has its memory.
func TestEvalOfRecords(t *testing.T) {
	text, err := os.ReadFile(shared.Path(t, "validation", "h100", "steps.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	gpu, err := presets.Default().GPU("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	node, compared := presets.Default().NodeOf(gpu), 0
	for line := range strings.Lines(string(text)) {
		rows, unmapped, _, err := Compare(strings.NewReader(line))
		if err != nil || len(unmapped) > 0 {
			t.Fatal(err, unmapped)
		}
		var r record
		if _, err := r.read([]byte(line)); err != nil {
			t.Fatal(err)
		}
		w, err := r.way()
		if err != nil {
			t.Fatal(err)
		}
		list, ok := given(&r, w)
		if !ok {
			continue
		}
		compared++
		m, err := r.model(w.Code)
		if err != nil {
			t.Fatal(err)
		}
		d := knob.DraftOf(*m, node, list)
		s, err := d.Resolve()
		if err != nil {
			t.Errorf("%s: %v", r.Name, err)
			continue
		}
		got := engine.Evaluate(s)
		if !got.Legal {
			t.Errorf("%s: %v", r.Name, got.Problems)
			continue
		}
		step := rows[0].Step.Predicted
		if off := float64(got.Time.Step)/step - 1; math.Abs(off) > .05 {
			t.Errorf("%s: %.1f ms, the ledger has %.1f (%+.1f %%)", r.Name, 1e3*float64(got.Time.Step),
				1e3*step, 100*off)
		}
		// hooks of the measurement hold a gradient of each block; it did not reduce each micro-batch
		peak := rows[0].PeakAllocated.Predicted
		off := float64(got.Memory.Ranks[0].Allocated)/peak - 1
		if math.Abs(off) > .02 && w.MicroBatches == 1 {
			t.Errorf("%s: %.2f GiB, the ledger has %.2f (%+.2f %%)", r.Name,
				got.Memory.Ranks[0].Allocated.GiB(), peak/(1<<30), 100*off)
		}
	}
	if compared < 30 {
		t.Errorf("only %d records have a setup", compared)
	}
}
