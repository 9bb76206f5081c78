package engine_test

import (
	"math"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// TestSmallMachines: cards of workstations and rented machines. A bare GPU is one node of so many, joined by
// PCIe; usable memory is at least what frameworks report as the card's total, within 2 %.
func TestSmallMachines(t *testing.T) {
	for _, c := range []struct {
		id       string
		node     int
		reported float64 // GiB, of out-of-memory messages
	}{
		{"a40", 8, 44.35},
		{"a6000", 4, 47.54},
		{"rtx6000-ada", 4, 47.4},
		{"a10", 4, 22.06},
		{"a10g", 4, 22.19},
		{"t4", 4, 14.56},
		{"rtx5090", 8, 31.36},
		{"rtx4090", 8, 23.64},
		{"rtx3090", 8, 23.69},
		{"l4", 8, 0}, // of the fact sheet: without ECC
		{"l40s", 8, 0},
	} {
		gpu, err := presets.Default().GPU(c.id)
		if err != nil {
			t.Fatal(err)
		}
		d := knob.DraftOf(presetModel(t, "llama3.2-1b"), presets.Default().NodeOf(gpu), knob.Given{
			knob.Calibration: recipe.PyTorch, knob.ZeRO: 3, knob.Seq: 512,
			knob.Recompute: recipe.Recompute{Mode: recipe.RecomputeFull},
		})
		s, err := d.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		if s.GPUs != c.node || s.Cluster.NodeGPUs != c.node || !strings.HasPrefix(s.Cluster.Intra.Name, "PCIe") {
			t.Errorf("%s: %d GPUs of nodes of %d, joined by %s", c.id, s.GPUs, s.Cluster.NodeGPUs,
				s.Cluster.Intra.Name)
		}
		if got := gpu.MemoryUsable.GiB(); c.reported > 0 && math.Abs(got/c.reported-1) > .02 {
			t.Errorf("%s: %.2f GiB usable, frameworks report %.2f", c.id, got, c.reported)
		}
		r := engine.Evaluate(s)
		if !r.Legal {
			t.Errorf("%s: %v", c.id, r.Problems)
			continue
		}
		if got := r.Memory.Ranks[0].Driver.GiB(); math.Abs(got-1.96) > .01 { // context and one communicator
			t.Errorf("%s: driver and communicators take %.2f GiB", c.id, got)
		}
	}
}

// TestNoBF16: a GPU without bf16 trains in fp16, and bf16 is refused there by name.
func TestNoBF16(t *testing.T) {
	gpu, err := presets.Default().GPU("t4")
	if err != nil {
		t.Fatal(err)
	}
	d := knob.DraftOf(presetModel(t, "gpt2-124m"), presets.Default().NodeOf(gpu), knob.Given{
		knob.GPUs: 1, knob.Calibration: recipe.Transformers, knob.ZeRO: 0,
	})
	s, err := d.Resolve()
	if err != nil || s.Precision != recipe.FP16 {
		t.Fatal(s.Precision, err)
	}
	if r := engine.Evaluate(s); !r.Legal {
		t.Error(r.Problems)
	}
	s.Precision = recipe.BF16
	r := engine.Evaluate(s)
	if r.Legal || len(r.Problems) != 1 || r.Problems[0].Message != "T4 has no published bf16 rate" {
		t.Fatal(r.Problems)
	}
	if got := r.Problems[0].Nearest[string(knob.Precision)]; got != string(recipe.FP16) {
		t.Error(r.Problems[0].Nearest)
	}
}

// TestGraceHopperNodes: four superchips a node, as public machines have them.
func TestGraceHopperNodes(t *testing.T) {
	for _, id := range []string{"jupiter-gh200", "alps-gh200"} {
		c, err := presets.Default().Cluster(id)
		if err != nil {
			t.Fatal(err)
		}
		if c.NodeGPUs != 4 || c.GPU.ID != "gh200-96g" || c.Intra.Bandwidth != 450e9 || c.Inter.Bandwidth != 25e9 {
			t.Errorf("%s: %+v", id, c)
		}
	}
}
