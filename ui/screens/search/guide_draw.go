package search

import (
	"fmt"
	"strings"

	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// guideLines draws the three steps: the one in front with its lines, the others
// with what was chosen.
func (v *View) guideLines(in *screen.Context, w, h int) []string {
	g := &v.guide
	var lines []string
	for s := range stages {
		role, remark := themes.Muted, ""
		if s == g.at {
			role = themes.Accent
			if in.Report != nil && in.Report.Time != nil {
				remark = in.Report.Time.BandOf("steps", in.Glyphs.PlusMinus)
			}
		} else if o := g.chosen(s); o != nil && s < g.at {
			remark = o.name
		}
		ask := s.ask()
		if widget.Width(s.name()+ask+remark)+6 > w && remark != "" {
			ask = ""
		}
		lines = append(lines, in.HeadingIn(role, w, s.name(), in.Cut(ask, w-widget.Width(s.name())-1),
			remark))
		if s != g.at {
			continue
		}
		room := h - len(lines) - int(stages-s) + 1 - 1
		lines = append(lines, v.optionLines(in, w, max(room, 1))...)
	}
	if room := h - len(lines) - 1; room > 2 {
		lines = append(append(lines, widget.Blank(w)), v.ruleLines(in, w, room)...)
	}
	return widget.Height(lines, w, h)
}

func (g *guide) chosen(s stage) *option {
	if g.row[s] < len(g.rows[s]) {
		return &g.rows[s][g.row[s]]
	}
	return nil
}

// optionLines returns the lines of the step in front.
func (v *View) optionLines(in *screen.Context, w, h int) []string {
	g := &v.guide
	muted := in.Paint(themes.Muted)
	name := optionWidth(w)
	head := widget.NewLine(w).RightAligned(muted, "GiB", name+8).RightAligned(muted, "tok/s/GPU", name+18)
	switch g.at {
	case batchStage:
		head = widget.NewLine(w).To(pointer).Put(in.Paint(themes.Good), "4 to 60 M").RightAligned(muted,
			"GiB", name+8).RightAligned(muted, "tok/s/GPU", name+18)
		head.RightAligned(muted, "to yours", name+27)
	case speedStage:
		head.RightAligned(muted, "to best", name+27)
	case fitStage, stages:
	}
	lines := []string{head.String()}
	rows := g.rows[g.at]
	n := max(h-1, 1)
	from := widget.Page(g.row[g.at], n, len(rows))
	for i := from; i < min(from+n, len(rows)); i++ {
		lines = append(lines, v.optionLine(in, &rows[i], i == g.row[g.at], w))
	}
	return append(lines[:min(len(lines), h)], widget.Blank(w))[:min(len(lines)+1, h)]
}

func optionWidth(w int) int {
	if w < 70 {
		return 20
	}
	return 27
}

func (v *View) optionLine(in *screen.Context, o *option, here bool, w int) string {
	l, role := in.Row(w, here)
	name := optionWidth(w)
	label := in.Paint(role)
	if !here && o.gbs > 0 && in.Setup != nil && advise.UsualBatch(float64(o.gbs)*float64(in.Setup.Seq)) {
		label = in.Paint(themes.Good)
	}
	l.To(pointer).Put(label, in.Cut(o.name, name-pointer))
	switch {
	case !o.done:
		return l.RightAligned(in.Paint(themes.Muted), in.Glyphs.Ellipsis, name+8).String()
	case !o.found:
		l.To(name + 2)
		text := "ruled out: " + o.why
		if widget.Width(text)+2 > l.Left() {
			text = o.why
		}
		return l.Put(in.Paint(themes.Bad), in.Glyphs.Cross+" ").Put(in.Paint(themes.Muted),
			in.Cut(text, l.Left()-2)).String()
	}
	l.RightAligned(in.Paint(role), figure.GiB(o.row.Peak), name+8)
	strong := role
	if !here {
		strong = themes.Strong
	}
	l.RightAligned(in.Paint(strong), figure.Three(o.row.Speed()), name+18)
	if against := v.against(); against > 0 && v.guide.at != fitStage {
		d := 100 * (o.row.Speed()/against - 1)
		text, paint := figure.Signed(d, 1)+" %", in.Paint(role)
		if !here && d < -0.05 {
			paint = in.Paint(themes.Warn)
		}
		l.RightAligned(paint, text, name+27)
	}
	words := guideWords(o)
	if gbs := o.row.Setup.GBS; v.guide.at == fitStage && gbs != v.guide.of.base.GBS {
		words = "batch " + figure.Comma(gbs) + ": " + words
	}
	if o.note != "" {
		words = o.note + ": " + words
	}
	return l.Gap(2).Put(in.Paint(themes.Muted), in.Cut(words, l.Left())).String()
}

// against returns the speed that the lines of a step are compared with: that of the
// batch of the setup, or of the best layout.
func (v *View) against() float64 {
	g := &v.guide
	i := 0
	if g.at == batchStage {
		i = g.own
	}
	if rows := g.rows[g.at]; i < len(rows) && rows[i].found {
		return rows[i].row.Speed()
	}
	return 0
}

// guideWords returns the layout of a line in few cells.
func guideWords(o *option) string {
	s := &o.row.Setup
	text := fmt.Sprintf("dp %d tp %d pp %d", s.DP, s.TP, s.PP)
	if s.VPP > 1 {
		text += fmt.Sprintf(" vpp %d", s.VPP)
	}
	if s.CP > 1 {
		text += fmt.Sprintf(" cp %d", s.CP)
	}
	if s.EP > 1 {
		text += fmt.Sprintf(" ep %d", s.EP)
	}
	text += fmt.Sprintf(" z%d mbs %d m %d", s.ZeRO, s.MBS, s.MicroBatches)
	if again := s.Recompute.String(); again != "none" {
		text += " " + again
	}
	return text
}

// guideStatus says what the line under the cursor is.
func (v *View) guideStatus(in *screen.Context) string {
	o := v.guide.here()
	switch {
	case o == nil:
		return ""
	case v.guide.at == batchStage && o.note == usualBatch(in.Setup) && (o.found || !o.done) &&
		!in.Setup.Frozen():
		return fmt.Sprintf("%s: default batch of search; the default of eval is %d %s", o.name,
			knob.DefaultBatchDepth, knob.BatchDepthUnit)
	case !o.done:
		return "searching"
	case !o.found:
		return o.name + ": " + o.why
	case v.guide.at == fitStage && o.row.Setup.GBS != v.guide.of.base.GBS:
		return fmt.Sprintf("%s fits with %s, not with your %s; enter goes on to the global batch "+
			"with it", o.name, figure.Plural(o.row.Setup.GBS, "sequence"), figure.Comma(v.guide.of.base.GBS))
	case v.guide.at == fitStage:
		verb := " fits"
		if strings.HasSuffix(o.name, "s") {
			verb = " fit" // all methods
		}
		return o.name + verb + "; enter goes on to the global batch with it"
	case v.guide.at == batchStage:
		return o.name + ": larger batches amortize more communication and bubble, until training stops " +
			"gaining from them; enter goes on"
	}
	if own := in.Setup; own != nil && same(&o.row.Setup, own) {
		return "your current setup: " + report.LayoutWords(own, nil)
	}
	return "enter takes it: " + report.LayoutWords(&o.row.Setup, nil)
}
