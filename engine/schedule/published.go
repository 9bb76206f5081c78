package schedule

// rounding is by how much a duration has to be longer to count as longer.
const rounding = 1e-9

func longer(a, b float64) bool { return a > b*(1+rounding) }

// evenSlack is by how much durations may differ from what a pattern was made for.
const evenSlack = 1.05

// Disproved says in words that the formula which is usually quoted for the bubble
// of this schedule gives too little for this setup; empty where there is none or it
// holds. Durations are of one chunk. The formulas are (p-1)/(v m) of the Ultra-Scale
// Playbook and, of the zero-bubble paper (arXiv 2401.10241, table 1), the idle times
// (p-1)(tF+tI-tW) of ZB-H1 and (p-1)(tF+tI-2tW) of ZB-H2.
func (i *Info) Disproved(s *Spec, t ChunkTimes) string {
	if i.disproved == nil || s.Ranks < 2 {
		return ""
	}
	return i.disproved(s, t)
}

// Uneven reports whether the schedule meets durations that its fixed pattern was not
// made for (controllable memory, arXiv 2405.15362): its idle time then grows with the
// number of micro-batches.
func (i *Info) Uneven(t ChunkTimes) bool { return i.uneven != nil && i.uneven(t) }

func disprovedLoop(s *Spec, _ ChunkTimes) string {
	if s.VirtualStages > 1 && s.MicroBatches < s.Ranks {
		return "(p-1)/(v m) is too low with fewer micro-batches than ranks"
	}
	return ""
}

func disprovedZBH1(s *Spec, t ChunkTimes) string {
	switch {
	case longer(t.W, t.F):
		return "the paper's idle time (p-1)(tF+tI-tW) is too low where tW > tF"
	case longer(t.W, t.I):
		return "the paper's idle time (p-1)(tF+tI-tW) is too low where tW > tI"
	case s.MicroBatches < s.Ranks:
		return "the paper's idle time (p-1)(tF+tI-tW) is too low with fewer micro-batches than ranks"
	}
	return ""
}

func disprovedZBH2(s *Spec, t ChunkTimes) string {
	switch {
	case longer(t.W, t.F) && longer(t.I, t.F):
		return "the paper's idle time (p-1)(tF+tI-2tW) is too low where tW > tF and tI > tF"
	case s.MicroBatches < 2*s.Ranks-1:
		return "the paper's idle time (p-1)(tF+tI-2tW) is too low with fewer than 2p-1 micro-batches"
	}
	return ""
}
