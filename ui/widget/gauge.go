package widget

import "meshscope/themes"

// Gauge is a bar from nothing to full; over the limit it changes its fill.
type Gauge struct {
	Value float64
	Full  float64
	Limit float64 // 0: none
	Fill  themes.Fill
	Over  themes.Fill // fill beyond the limit
}

// Render draws the gauge w cells wide.
func (g *Gauge) Render(t *themes.Theme, glyphs Glyphs, w int) string {
	fill := g.Fill
	if g.Limit > 0 && g.Value > g.Limit {
		fill = g.Over
	}
	bar := Stack{
		Segments: []Segment{{Fill: fill, Value: g.Value}}, Scale: g.Full, Limit: g.Limit,
		Plain: true,
	}
	return bar.Render(t, glyphs, w)
}
