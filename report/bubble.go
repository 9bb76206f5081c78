package report

import (
	"math"

	"meshscope/engine"
	"meshscope/report/figure"
)

// BubbleOfStep returns the bubble: the idle time of the slowest rank as a share of its step.
func BubbleOfStep(r *engine.Report) float64 {
	if r == nil || r.Time == nil {
		return 0
	}
	return r.Time.OfBubble()
}

// OfStep says what a bubble is a share of.
const OfStep = "of the slowest rank's step"

// Bubble says what the bubble is and what it is a share of.
func Bubble(r *engine.Report) string {
	return "bubble " + figure.Percent(BubbleOfStep(r)) + " " + OfStep
}

// OverIdeal returns what equal stages without send/recv would wait, over their work: (p-1)/m and its
// kin. Empty where no closed form is exact.
func OverIdeal(p *engine.Pipeline) string {
	if p == nil || p.BubbleClosedForm == nil || p.Ranks < 2 {
		return ""
	}
	name, value := "closed form", *p.BubbleClosedForm
	first := float64(p.Ranks-1) / float64(max(p.MicroBatches, 1))
	switch v := float64(p.Stages) / float64(p.Ranks); {
	case near(value, first):
		name = "(p-1)/m"
	case near(value, first/v):
		name = "(p-1)/(v m)"
	}
	return name + " " + figure.Percent(value) + " over ideal"
}

// near reports whether two figures are the same but for rounding.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }
