package screen

import (
	"meshscope/themes"
	"meshscope/ui/widget"
)

// Speed are the names of the figures that say how fast a step is: one gives the others.
func Speed() []string {
	return []string{
		"time.step", "throughput.mfu", "throughput.model", "throughput.tokens",
		"pipeline.makespan", "run.days", "run.cost",
	}
}

// Cover draws a panel that would tell a masked figure: its name over a bar without a length.
func (c *Context) Cover(name string, w, h int) []string {
	lines := []string{c.Heading(w, name, "", "hidden until you answer")}
	if h > 1 {
		lines = append(lines, Unknown(c, w))
	}
	return widget.Height(lines, w, h)
}

// Unknown draws a bar without a length.
func Unknown(c *Context, w int) string {
	sign := "░"
	if !c.Glyphs.Unicode {
		sign = ":"
	}
	return widget.NewLine(w).Put(c.Paint(themes.Faint), widget.Fill(sign, w)).String()
}
