package schedule

import "testing"

// TestProducerIsTheOrders: looking back from the moment of an operation finds the
// same producer as looking through the whole list of its rank, and so does the table
// of all of them.
func TestProducerIsTheOrders(t *testing.T) {
	looked := 0
	for _, info := range Kinds() {
		for p := 1; p <= 5; p++ {
			for _, m := range []int{1, 2, 5, 12} {
				s := Spec{Kind: info.Kind, Ranks: p, VirtualStages: max(1, info.Chunks), MicroBatches: m}
				if info.Chunks == 0 {
					s.VirtualStages = 3
				}
				o, err := Build(s)
				if err != nil {
					continue
				}
				all := o.Producers()
				for _, latency := range []float64{0, 0.4, 30} {
					c := UniformCosts(s, ChunkTimes{F: 1, B: 2.5, I: 1, W: 1.5}, latency)
					for stage := range c.F {
						c.F[stage] *= float64(1 + stage%3)
					}
					line, err := Simulate(o, c)
					if err != nil {
						t.Fatal(err)
					}
					for rank := range p {
						for k := o.Start[rank]; k < o.Start[rank+1]; k++ {
							at := Place{Rank: rank, Op: k}
							want, ok := o.Producer(at)
							if got, found := line.producer(at); got != want || found != ok {
								t.Fatalf("%+v: %s takes what %v makes, not %v", s, o.Text(rank, o.Ops[k]),
									want, got)
							}
							if got := all[k]; ok && got != want || !ok && got.Op != -1 {
								t.Fatalf("%+v: the table says that %s takes what %v makes, not %v", s,
									o.Text(rank, o.Ops[k]), got, want)
							}
							looked++
						}
					}
				}
			}
		}
	}
	if looked < 20_000 {
		t.Fatalf("only %d operations were looked at", looked)
	}
}

// TestRunForgetsASummary: a timeline that was opEnd and then simulated whole
// with other costs has the times of those, also after OpTimes.
func TestRunForgetsASummary(t *testing.T) {
	spec := Spec{Kind: OneFOneB, Ranks: 2, VirtualStages: 1, MicroBatches: 4}
	o, err := Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	var s Simulator
	var line Timeline
	if _, err := s.SimulateSummary(o, UniformCosts(spec, ChunkTimes{F: 1, B: 2}, 0), &line); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(o, UniformCosts(spec, ChunkTimes{F: 10, B: 20}, 0), &line); err != nil {
		t.Fatal(err)
	}
	last := 0.0
	for _, end := range line.OpTimes().End {
		last = max(last, end)
	}
	if last != line.Makespan {
		t.Fatalf("operations end at %v, the step at %v", last, line.Makespan)
	}
}
