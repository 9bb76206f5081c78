package starts_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/engine_test/draws"
	"meshscope/launch"
	"meshscope/presets"
)

func TestMain(m *testing.M) { draws.Main(m) }

// start is a model on so many GPUs of a cluster.
type start struct {
	model   presets.ModelPreset
	cluster presets.ClusterPreset
	gpus    int
}

// starts returns a few of all models on so many GPUs of all clusters; the deep run takes ten times as many,
// others each time.
func starts(lib *presets.Library, gpus, few int) (out []start) {
	models, clusters := lib.Models(), lib.Clusters()
	all, from := len(models)*len(clusters), 0
	if draws.Deep() {
		few, from = min(10*few, all), int(draws.Seeds()[len(draws.Seeds())-1]%uint64(all))
	}
	for i := range few {
		n := (from + i*all/few) % all
		out = append(out, start{models[n%len(models)], clusters[n/len(models)], gpus})
	}
	return out
}

// Why a start may have no layout.
const (
	noMachine = "the machine has fewer GPUs"
	noLegal   = "no layout is legal"
	states    = "weights, gradients and optimizer take more than the memory of all GPUs"
	noRoom    = "states would fit, but no layout does with a micro-batch"
)

// bytesOfStates is what a parameter takes at the least: weights and gradients in 16 bits,
// master copy and two moments in 32.
const bytesOfStates = 16

// find starts as the program does. It returns why no layout is found, and what is wrong with
// that, or with the one that is found.
func (s *start) find() (none, wrong string) {
	setup, err := knob.DraftOf(s.model.Model, s.cluster.Cluster, knob.Given{knob.GPUs: s.gpus}).Resolve()
	if err != nil {
		return noMachine, ""
	}
	if float64(setup.Model.Total())*bytesOfStates > float64(s.cluster.GPU.MemoryUsable)*float64(s.gpus) {
		return states, ""
	}
	q := search.NewQuery()
	q.Setup = setup
	if l := launch.Of(setup.Stack); l != nil {
		q.Accepts, q.Launcher = l.Accepts, l.ID
	}
	if err := q.Set(knob.GPUs, fmt.Sprint(s.gpus)); err != nil {
		return "", err.Error()
	}
	best, chosen := q.Choose(context.Background(), 1)
	if chosen.Found {
		if r := engine.Evaluate(best); !r.Legal || !r.Memory.Fits {
			return "", fmt.Sprintf("starts with %+v, legal %t", best.Layout, r.Legal)
		}
		return "", ""
	}
	q.Margin, q.Accepts, q.Refused = false, nil, true
	p, err := q.Problem()
	if err != nil {
		return "", err.Error()
	}
	switch p.Top = 1; {
	case len(search.Run(context.Background(), p, nil).Best) > 0:
		return "", "a layout fits, but none is chosen"
	case chosen.Layouts == 0:
		return noLegal, ""
	}
	return noRoom, ""
}

// TestStartFits: a start without a degree is legal and fits wherever any layout does. Of 108 in
// an ordinary run few are large, because their searches take long.
func TestStartFits(t *testing.T) {
	for _, of := range []struct{ gpus, few int }{{1, 40}, {8, 50}, {64, 12}, {1024, 6}} {
		t.Run(fmt.Sprintf("%d GPUs", of.gpus), func(t *testing.T) {
			try(t, starts(presets.Default(), of.gpus, of.few))
		})
	}
}

// try tries starts on all cores.
func try(t *testing.T, list []start) {
	t.Helper()
	none := map[string]int{}
	var next atomic.Int64
	var lock sync.Mutex
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for n := next.Add(1) - 1; n < int64(len(list)); n = next.Add(1) - 1 {
				s := &list[n]
				why, wrong := s.find()
				lock.Lock()
				if wrong != "" {
					t.Errorf("%s on %d x %s: %s", s.model.ID, s.gpus, s.cluster.ID, wrong)
				}
				none[why]++ // empty: it has one
				lock.Unlock()
			}
		})
	}
	wait.Wait()
	t.Logf("%d of %d starts have a layout", none[""], len(list))
	for _, why := range []string{noMachine, noLegal, states, noRoom} {
		if n := none[why]; n > 0 {
			t.Logf("%d have none: %s", n, why)
		}
	}
}
