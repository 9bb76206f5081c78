package network

import (
	"strings"

	"meshscope/engine"
	"meshscope/engine/overlap"
	"meshscope/report/figure"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// waits says in a sentence how much of the step waits for traffic, for which most, and why that is not
// hidden; nothing while a question is open.
func (v *overview) waits(in *screen.Context, w int) []string {
	t := in.Report.Time
	asked := in.Taught || in.Asks || in.Hides("time.", "communication.")
	if asked || len(in.Report.Communication) == 0 || !(t.Step > 0) {
		return nil
	}
	waited := t.Exposed + t.Offload
	share := figure.Percent(float64(waited / t.Step))
	c := longest(in.Report.Communication)
	if c == nil || waited < t.Step/200 {
		return []string{in.Sentence(w, "Traffic hides behind compute: "+share+" of the step waits for it.")}
	}
	first := share + " of the step waits for traffic, " + strings.ToUpper(c.Dimension) + " most: "
	exposed := figure.Seconds(c.Exposed) + " of its " + figure.Seconds(c.Seconds)
	why := because(in.Setup, c)
	more := ""
	for _, o := range overlap.Ratios(in.Setup, in.Report) {
		if o.Dimension == c.Dimension && o.Ratio > 1 {
			more = "; it takes " + ratioText(o.Ratio) + in.Glyphs.Times + " the compute beside it"
		}
	}
	for _, text := range []string{
		first + exposed + " is exposed, because " + why + more, first + exposed + ", because " + why,
		first + exposed + " is exposed",
		share + " of the step waits, " + strings.ToUpper(c.Dimension) + " most: " + exposed + " is exposed",
	} {
		if widget.Width(text)+1 <= w {
			return []string{in.Sentence(w, text+".")}
		}
	}
	return []string{in.Sentence(w, share+" of the step waits for traffic.")}
}

// longest returns the dimension that the step waits for most; messages between stages are part of the
// bubble.
func longest(list []engine.Communication) *engine.Communication {
	var most *engine.Communication
	for i := range list {
		if c := &list[i]; c.Dimension != "pp" && c.Exposed > 0 && (most == nil || c.Exposed > most.Exposed) {
			most = c
		}
	}
	return most
}

// because says what keeps a dimension's traffic from being hidden.
func because(s *engine.Setup, c *engine.Communication) string {
	if c.Copies() {
		return "it is kept off the GPU"
	}
	switch c.Dimension {
	case "tp", "etp":
		return "a layer needs its activations whole"
	case "cp":
		return "a ring step is shorter than its send/recv"
	case "ep":
		return "experts wait for their tokens"
	case "pp-wait":
		return "a stage stops for its messages"
	}
	if s.ZeRO >= 3 {
		return "a layer needs its weights whole"
	}
	return "the last buckets have no backward left"
}
