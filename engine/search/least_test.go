package search_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/launch"
	"meshscope/presets"
)

// TestLeastOfHostMemory: of Llama 3.1 70B whose optimizer is on two hosts of 300 GiB every layout that fits
// on the GPUs keeps too much there: the one that needs least keeps the 12 bytes of each parameter once, half
// of them on each node, and no pipeline, whose first and last rank have the embeddings too.
func TestLeastOfHostMemory(t *testing.T) {
	m, err := presets.Default().Model("llama3.1-70b")
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := presets.Default().Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	cluster.HostMemory = 300 << 30
	const least = 70_553_706_496 * 12 / 2.0
	d := knob.DraftOf(m, cluster, knob.Given{knob.GPUs: 16, knob.Offload: "optimizer"})
	q, err := search.Begin(d, launch.Limit)
	if err != nil {
		t.Fatal(err)
	}
	s, chosen := q.Choose(t.Context(), 2)
	got := engine.Evaluate(s).Memory
	words := chosen.Words(strconv.Itoa)
	if math.Abs(float64(got.Host)/least-1) > 1e-3 || got.Peak > got.Usable || chosen.Found ||
		!strings.Contains(words, "needs least memory is "+got.HostWords()) {
		t.Errorf("%v on a host, at least %v; %s", got.Host.GiB(), least/(1<<30), words)
	}
}
