package starts_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/engine_test/draws"
	"meshscope/launch"
	"meshscope/presets"
	"meshscope/ui/state"
)

// published is what a model has on 256 H100: batch, sequence and precision, typed from the recipe of the
// nearest number of GPUs, or the default where none is published.
type published struct {
	id, gbs, seq, precision string
	source                  string
}

// popular are models that people choose from a fresh start.
func popular(t *testing.T) (out []published) {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("testdata/popular.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if cells := strings.SplitN(strings.TrimSpace(line), ",", 5); line[0] != '#' && len(cells) == 5 {
			out = append(out, published{cells[0], cells[1], cells[2], cells[3], cells[4]})
		}
	}
	if len(out) != 25 {
		t.Fatalf("%d models", len(out))
	}
	return out
}

// machines are what people choose with g.
var machines = []string{
	"dgx-h100", "dgx-a100", "gb200-nvl72", "dgx-h200", "dgx-b200", "aws-p5", "meta-roce-24k", "deepseek-h800",
	"azure-nd-mi300x", "aws-p4d", "gcp-a3-mega", "selene",
}

// again chooses another model or machine as the explorer does, and looks at what comes of it.
func again(t *testing.T, from *state.State, a state.Action) engine.Setup {
	t.Helper()
	draft, what := state.Again(from, a)
	q, err := search.Begin(draft, launch.Limit)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	best, chosen := q.Choose(context.Background(), 2)
	r := engine.Evaluate(best)
	if !r.Legal {
		t.Errorf("%s: not legal: %v", what, r.Problems)
		return best
	}
	p, err := q.Problem()
	if err != nil {
		t.Fatal(err)
	}
	p.Top, p.Workers = 1, 2
	first := search.Run(context.Background(), p, nil)
	if p.Space.Accepts, p.Space.Refused = nil, true; !chosen.Found {
		if r := search.Run(context.Background(), p, nil); len(r.Best) > 0 {
			t.Errorf("%s: a layout fits, but none is chosen", what)
		}
		if chosen.Over <= 0 || chosen.Smallest > 0 && chosen.Smallest <= best.GPUs {
			t.Errorf("%s: over by %v, %d GPUs would do", what, chosen.Over, chosen.Smallest)
		}
		return best
	}
	if !r.Memory.Fits {
		t.Errorf("%s: does not fit", what)
	}
	const points = 0.03
	if len(first.Best) > 0 && r.Throughput.MFU < first.Best[0].Report.Throughput.MFU-points {
		t.Errorf("%s: MFU %.3f, the first of search has %.3f", what, r.Throughput.MFU,
			first.Best[0].Report.Throughput.MFU)
	}
	return best
}

// TestAnotherModel: from a fresh start m to each of 25 models on 3 machines is legal and fits wherever any
// layout does, near search's first, with the batch, the sequence and the precision of its recipe; an ordinary
// run takes a few.
func TestAnotherModel(t *testing.T) {
	lib, popular, few := presets.Default(), popular(t), 4
	if draws.Deep() {
		few = len(popular)
	}
	for i, machine := range machines[:3] {
		from := state.New(presets.StartSetup(), "", true)
		if machine != "dgx-h100" {
			c, err := lib.Cluster(machine)
			if err != nil {
				t.Fatal(err)
			}
			setup := again(t, &from, state.Action{Cluster: &c})
			from, _ = state.Apply(from, state.Action{Verb: state.UseSetup, Setup: &setup})
		}
		if i > 0 && !draws.Deep() {
			few = i + 1
		}
		step := i + 1 // all in a deep run on the first machine, others of them on the others
		for n := i; n < few; n += step {
			of := &popular[n]
			m, err := lib.Model(of.id)
			if err != nil {
				t.Fatal(err)
			}
			s := again(t, &from, state.Action{Model: &m})
			if s.GPUs != from.Setup.GPUs || s.Cluster != from.Setup.Cluster {
				t.Errorf("%s on %s: %d GPUs of %s", of.id, machine, s.GPUs, s.Cluster.ID)
			}
			got := []string{strconv.Itoa(s.GBS), strconv.Itoa(s.Seq), string(s.Precision)}
			if machine == "dgx-h100" && !slices.Equal(got, []string{of.gbs, of.seq, of.precision}) {
				t.Errorf("%s: %s, published is %+v", of.id, got, *of)
			}
		}
	}
}

// TestAnotherMachine: from a fresh start g to each of 12 machines likewise, on as many GPUs.
func TestAnotherMachine(t *testing.T) {
	lib, few := presets.Default(), 3
	if draws.Deep() {
		few = len(machines)
	}
	for _, machine := range machines[1 : 1+min(few, len(machines)-1)] {
		from := state.New(presets.StartSetup(), "", true)
		c, err := lib.Cluster(machine)
		if err != nil {
			t.Fatal(err)
		}
		if s := again(t, &from, state.Action{Cluster: &c}); s.GPUs != from.Setup.GPUs &&
			s.GPUs != c.MaxGPUs || s.Model != from.Setup.Model {
			t.Errorf("%s: %d GPUs, %s", machine, s.GPUs, s.Model.ID)
		}
	}
}

// TestOwnNodesStay: who has 48 GPUs is never offered more: a layout that does not divide them is mended
// instead.
func TestOwnNodesStay(t *testing.T) {
	from := state.New(presets.StartSetup(), "", true)
	for _, nodes := range []string{"6", "12", "3", "7", "11"} {
		s, _ := state.Apply(from, state.Action{Verb: state.SetKnob, ID: knob.Nodes, Text: nodes})
		owned := s.Setup.GPUs
		if engine.Legal(s.Setup) {
			continue
		}
		fixed, _ := state.Apply(s, state.Action{Verb: state.TakeFix})
		if !engine.Legal(fixed.Setup) || fixed.Setup.GPUs != owned {
			t.Errorf("%s nodes: the nearest has %d GPUs of %d, %s", nodes, fixed.Setup.GPUs, owned,
				state.FixWords(engine.Check(s.Setup)))
		}
	}
}
