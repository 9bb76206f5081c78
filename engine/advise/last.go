package advise

import (
	"cmp"
	"fmt"
	"slices"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/schedule"
	"meshscope/engine/search"
	"meshscope/engine/units"
)

// last returns why a move comes after the others; empty where it does not. What the
// setup does already is no reason.
func (a *adviser) last(m *Move) string {
	s, now := &m.Setup, &a.now
	crosses := func() bool {
		here, there := now.Groups(&now.Cluster).TP, s.Groups(&s.Cluster).TP
		return there.Size > 1 && there.Crosses() && (!here.Crosses() || here.Size < there.Size)
	}
	const host = "the update's time on the host is that of one measured machine"
	assumed := s.Offload.NVMe() && !now.Offload.NVMe() && !s.Cluster.DrivesGiven()
	switch {
	case assumed && now.Offload.Optimizer():
		return "the drives' rates are assumed"
	case assumed:
		return host + ", and the drives' rates are assumed"
	case s.Offload.Optimizer() && !now.Offload.Optimizer():
		return host
	case s.OffloadLayers > now.OffloadLayers:
		return "copies of activations to the host are assumed to overlap"
	case s.GradDtype != now.GradDtype || s.Optimizer != now.Optimizer || s.Precision != now.Precision:
		return "changes the numbers that training computes with"
	case s.PP > 1 && s.Schedule == schedule.Naive && now.Schedule != schedule.Naive:
		return "one pipeline rank works at a time"
	case crosses():
		return "TP over the network between nodes"
	default:
		return a.tight(m.fuller)
	}
}

// margin returns the bytes that a layout must leave free.
func (a *adviser) margin(m *engine.Memory) units.Bytes {
	if a.options.Limited {
		return m.Usable * units.Bytes(a.options.Headroom)
	}
	return m.Margin()
}

// roomy reports whether a layout fits with the margin.
func (a *adviser) roomy(m *engine.Memory) bool {
	if a.options.Limited {
		return m.Fits && m.Usable-m.Peak >= a.margin(m)
	}
	return m.HasMargin()
}

// tight says that a layout fits without its margin; empty where it does not fit or has it.
func (a *adviser) tight(m *engine.Memory) string {
	if !m.Fits || a.roomy(m) {
		return ""
	}
	return fmt.Sprintf("no margin: %.1f GiB free, %.1f asked for", (m.Usable - m.Peak).GiB(),
		a.margin(m).GiB())
}

// beyond is why a move comes last that is faster than the best layout of a search, or fits
// where none of a search does.
const beyond = "depends on a value that search does not try by default"

// marked gives moves that are faster than the best of a search for the same a reason to
// come last: search leaves some values out, because few launchers have them. A move of a knob
// that search leaves as it is was not what the search was asked for.
func (a *adviser) marked(list []Move) []Move {
	for i := range list {
		a.mark(&list[i])
	}
	return list
}

func (a *adviser) mark(m *Move) {
	faster := a.found != nil && a.roomy(a.found.fuller) &&
		m.PessimisticStep*units.Seconds(1+a.found.Report.Time.CloseMargin()) < a.found.PessimisticStep
	if m.Last == "" && (faster || a.none && m.Fits) && !a.leavesSearch(m) {
		m.Last = beyond
	}
}

// leavesSearch reports whether a move turns a knob that a search does not vary by itself.
func (a *adviser) leavesSearch(m *Move) bool {
	return slices.ContainsFunc(a.knobs, func(id knob.ID) bool {
		p, _ := knob.Find(id)
		return !slices.Contains(search.Free(), id) && p.Text(m.Setup) != p.Text(a.now)
	})
}

// ordered sorts moves: those with a reason to come last after all others, and of them the tight ones last;
// the ways to train that the setup has before others, fewer changes before more, and of as many the fastest
// first. The best of a search may be the setup itself, which is no move.
func (a *adviser) ordered(list []Move) []Move {
	list = slices.DeleteFunc(a.marked(list), func(m Move) bool { return len(m.Changes) == 0 })
	slices.SortStableFunc(list, a.compare)
	return list
}

func (a *adviser) compare(x, y Move) int {
	return cmp.Or(rank(x.Last != "")-rank(y.Last != ""), rank(!x.Roomy)-rank(!y.Roomy),
		rank(a.parallelizes(&x))-rank(a.parallelizes(&y)), x.Turned-y.Turned, cmp.Compare(y.Speed, x.Speed))
}

func rank(later bool) int {
	if later {
		return 1
	}
	return 0
}

// parallelizes reports whether a move brings TP, PP or CP to a setup that has sharded data parallelism
// alone (FSDP, ZeRO 2 and 3): many programs that train so have no other.
func (a *adviser) parallelizes(m *Move) bool {
	split := func(s *engine.Setup) bool { return s.TP*s.PP*s.CP > 1 }
	return a.now.ZeRO >= 2 && !split(&a.now) && split(&m.Setup)
}
