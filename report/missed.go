package report

import (
	"strings"

	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/report/figure"
)

// MissedWords tell how far the fastest layout is from a deadline that none meets, and what would meet it.
func MissedWords(m *search.Missed, deadline units.Seconds) string {
	var words []string
	if f := m.Fastest; f != nil {
		t := f.Report.Time
		takes := f.Report.Run.Seconds * t.SlowEnd(f.PessimisticStep) / t.Step
		const day = 86400
		text := figure.Lasting(takes)
		if takes >= day {
			text = figure.Days(float64(takes / day))
		}
		words = append(words, "the fastest layout takes "+text+" at the slow end of its band, "+
			farFrom(float64(takes/deadline)))
	}
	var meets []string
	if m.Batch > 0 {
		meets = append(meets, "a global batch of "+figure.Comma(m.Batch)+" on these GPUs")
	}
	if m.GPUs > 0 {
		gpus := figure.Plural(m.GPUs, "GPU")
		if m.GPUsBatch != m.Given {
			gpus += " with a global batch of " + figure.Comma(m.GPUsBatch)
		}
		meets = append(meets, gpus)
	}
	switch {
	case len(meets) > 0:
		words = append(words, strings.Join(meets, " or ")+" would meet it")
	case m.Stopped:
		words = append(words, "the search for what would meet it was stopped")
	default:
		words = append(words, "no number of these GPUs up to "+figure.Comma(m.Most)+" would meet it")
	}
	return strings.Join(words, "; ")
}

// farFrom tells how much longer than a deadline something takes.
func farFrom(times float64) string {
	if times < 2 {
		return figure.Percent(times-1) + " more than the deadline"
	}
	return figure.Three(times) + " times the deadline"
}
