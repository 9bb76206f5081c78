package report

import (
	"fmt"
	"math"
	"strings"

	"meshscope/engine"
	"meshscope/engine/search"
	"meshscope/report/figure"
)

// nearness tells how close the best layouts are, and what the first one assumes.
func (o *Search) nearness() Section {
	r := &o.Result
	s := Section{Heading: "Ranking confidence"}
	close := nearWords(&r.Near, "1 % of the best") + "."
	if r.Near.Most > 1 || r.Near.Least > 1 {
		close += " The model cannot tell which of these is the fastest."
	}
	s.say(close)
	first := &r.Best[0].Report
	evidence := o.Problem.Objective.Evidence(first)
	if words := nearWords(&r.Band, "a quarter of its error band ("+evidence.Band("±")+")") +
		"."; r.Band.Most == 1 {
		s.say(words)
	} else {
		s.say("Too close to call: " + strings.ToLower(words[:1]) + words[1:])
	}
	if words := roomWords(first.Memory); words != "" {
		s.say(words)
	}
	if best := &r.Best[0]; best.PessimisticStep > first.Time.Step {
		s.say(fmt.Sprintf("The first place is ranked by %s, where no unproven overlap works; where all of "+
			"it does the step is %s.",
			figure.FineSeconds(best.PessimisticStep), figure.FineSeconds(first.Time.Step)))
	}
	reliances := search.OverlapReliances(first)
	if len(reliances) == 0 {
		s.say("The best layout assumes no overlapped communication.")
		return s
	}
	words := make([]string, len(reliances))
	for i, l := range reliances {
		words[i] = fmt.Sprintf("%s %s (%s)", strings.ToUpper(l.Dimension), figure.FineSeconds(l.Hidden),
			figure.FinePercent(l.Share))
	}
	s.say("The best layout assumes that compute overlaps this communication: " + strings.Join(words, ", ") +
		" of the step. Any part that does not overlap is added to the step time; eval lists all assumptions.")
	return s
}

// roomWords tells how sure it is that the best layout fits: its free memory compared with
// the error band of the memory model.
func roomWords(m *engine.Memory) string {
	if !m.Fits {
		return ""
	}
	free := fmt.Sprintf("%s GiB free", figure.GiB(m.Usable-m.Peak))
	if m.HasMargin() {
		return fmt.Sprintf("The best layout has %s, more than the error band of its memory (%s, %s GiB).",
			free, m.Band("±"), figure.GiB(m.PeakErrorBytes()))
	}
	headroom := math.Ceil(100 * float64(m.Margin()/m.Usable))
	state, than := "is tight", "the error band of its memory"
	if m.Fit != engine.Tight {
		state, than = "fits, but without the usual margin", "5 % of it; the error band is"
	}
	return fmt.Sprintf("The best layout %s: it has %s, less than %s (%s, %s GiB). --headroom %.0f%% leaves "+
		"out such layouts.",
		state, free, than, m.Band("±"), figure.GiB(m.PeakErrorBytes()), headroom)
}

// nearWords tells how many layouts are within a distance of the best.
func nearWords(n *search.Near, within string) string {
	switch {
	case n.Most == 0 && n.Least == 1: // stopped: the rest of the space is unknown
		return "So far no other layout with as much margin of memory is within " + within
	case n.Most == 0:
		return fmt.Sprintf("At least %s of the layouts ranked so far are within %s, including the best",
			figure.Comma(n.Least), within)
	case n.Most == 1:
		return "No other layout with as much margin of memory is within " + within
	case n.Least == n.Most:
		return fmt.Sprintf("%s layouts are within %s, including the best", figure.Comma(n.Least), within)
	}
	return fmt.Sprintf("At least %s and, by their lower bounds, at most %s layouts are within %s, "+
		"including the best", figure.Comma(n.Least), figure.Comma(n.Most), within)
}
