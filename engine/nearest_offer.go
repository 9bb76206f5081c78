package engine

// offered takes what the schedule's own rule proposes, such as one micro-batch
// or two stages per rank, and lets GPUs and batch follow. Nil if that is not
// enough.
func offered(s *Setup, p *Problem) *Setup {
	if len(p.Nearest) == 0 {
		return nil
	}
	for _, keep := range [...]struct{ gpus, batch bool }{{true, true}, {true, false}, {false, false}} {
		t := *s
		for field, value := range p.Nearest {
			if n, ok := value.(int); ok {
				setField(&t, field, n)
			}
		}
		if follow(&t, p.Field, keep.gpus, keep.batch) && legal(&t) {
			return &t
		}
	}
	return nil
}
