package schedule

// Disproved says in words that the formula which is usually quoted for the bubble
// of this schedule gives too little for this setup; empty where there is none or it
// holds. Durations are of one chunk. The formulas are (p-1)/(v m) of the Ultra-Scale
// Playbook and, of the zero-bubble paper (arXiv 2401.10241, table 1), the idle times
// (p-1)(tF+tI-tW) of ZB-H1 and (p-1)(tF+tI-2tW) of ZB-H2.
func (s Spec) Disproved(t ChunkTimes) string {
	const rounding = 1e-9
	p, m, v := s.Ranks, s.MicroBatches, s.VirtualStages
	if p < 2 {
		return ""
	}
	longer := func(a, b float64) bool { return a > b*(1+rounding) }
	switch s.Kind {
	case Interleaved, LoopedBFS:
		switch {
		case v < 2:
		case m < p:
			return "(p-1)/(v m) is too low with fewer micro-batches than ranks"
		case s.Kind == Interleaved && m%s.group() > 0 && m%s.group() < p:
			return "(p-1)/(v m) is too low where the last group of micro-batches is short"
		}
	case ZBH1:
		switch {
		case longer(t.W, t.F):
			return "the paper's idle time (p-1)(tF+tI-tW) is too low where tW > tF"
		case longer(t.W, t.I):
			return "the paper's idle time (p-1)(tF+tI-tW) is too low where tW > tI"
		case m < p:
			return "the paper's idle time (p-1)(tF+tI-tW) is too low with fewer micro-batches than ranks"
		}
	case ZBH2:
		switch {
		case longer(t.W, t.F) && longer(t.I, t.F):
			return "the paper's idle time (p-1)(tF+tI-2tW) is too low where tW > tF and tI > tF"
		case m < 2*p-1:
			return "the paper's idle time (p-1)(tF+tI-2tW) is too low with fewer than 2p-1 micro-batches"
		}
	default:
	}
	return ""
}
