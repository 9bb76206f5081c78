package report

import (
	"fmt"
	"math"
	"strings"

	"meshscope/engine"
	"meshscope/engine/search"
	"meshscope/report/figure"
)

// nearness says how little the order of the best tells, and what the first place
// assumes.
func (o *Search) nearness() Section {
	r := &o.Result
	s := Section{Heading: "Ranking confidence"}
	close := nearWords(&r.Near, "1 % of the best") + "."
	if r.Near.Most != 1 {
		close += " The order of layouts so close is the model's, not a measurement."
	}
	s.say(close)
	first := &r.Best[0].Report
	if evidence := o.Problem.Objective.Evidence(first); r.Band.Share > 0 {
		s.say(nearWords(&r.Band, "its error band ("+evidence.Band("±")+")") + ".")
	} else if o.Problem.Objective == search.LeastMemory {
		s.say("The memory is not validated here: no published run is like them, so there is no error band to count in.")
	} else {
		s.say("The step times are not validated here: no published run is like them, so there is no error band to count in.")
	}
	if words := roomWords(first.Memory); words != "" {
		s.say(words)
	}
	leans := search.Leans(first)
	if len(leans) == 0 {
		s.say("The first place rests on no traffic that is taken to hide behind computing.")
		return s
	}
	words := make([]string, len(leans))
	for i, l := range leans {
		words[i] = fmt.Sprintf("%s of %s (%s of the step)", figure.FineSeconds(l.Hidden), l.Dimension, figure.FinePercent(l.Share))
	}
	s.say("The first place rests on traffic that is taken to hide behind computing: " + strings.Join(words, ", ") +
		". What of it does not hide is added to the step; eval lists all that is assumed.")
	return s
}

// roomWords say how sure it is that the first place fits: its free memory beside the
// error band of the model of memory.
func roomWords(m *engine.Memory) string {
	if !m.Fits {
		return ""
	}
	free := fmt.Sprintf("%s GiB free", figure.GiB(m.Usable-m.Peak))
	switch {
	case m.ErrorBand == nil:
		return "The first place has " + free + ". The memory is not validated here: there is no error band to hold that against."
	case !m.Close():
		return fmt.Sprintf("The first place has %s, more than the error band of its memory (%s, %s GiB).", free, m.Band("±"), figure.GiB(m.Slip()))
	}
	headroom := math.Ceil(100 * *m.ErrorBand / (1 + *m.ErrorBand))
	return fmt.Sprintf("Whether the first place fits is not sure: it has %s, and its memory may be wrong by %s (%s GiB). --headroom %.0f%% leaves out what is so close.",
		free, m.Band("±"), figure.GiB(m.Slip()), headroom)
}

// nearWords are how many layouts are within something of the best.
func nearWords(n *search.Near, within string) string {
	switch {
	case n.Most == 0 && n.Least == 1: // stopped: of what was not looked at nothing is known
		return "No other layout is known yet that lies within " + within
	case n.Most == 0:
		return fmt.Sprintf("At least %s of the layouts that were looked at lie within %s, the best counted", figure.Comma(n.Least), within)
	case n.Most == 1:
		return "No other layout lies within " + within
	case n.Least == n.Most:
		return fmt.Sprintf("%s layouts lie within %s, the best counted", figure.Comma(n.Least), within)
	}
	return fmt.Sprintf("At least %s and, by their bounds, at most %s layouts lie within %s, the best counted", figure.Comma(n.Least), figure.Comma(n.Most), within)
}
