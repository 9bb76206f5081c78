package search

import (
	"math"
	"strings"

	"meshscope/engine"
	find "meshscope/engine/search"
	"meshscope/launch"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// knobLines returns what is searched, one knob a line, then how sure the order is.
func (v *View) knobLines(in *screen.Context, w, h int) []string {
	lines := []string{in.Heading(w, "SEARCH", "", "")}
	for _, k := range v.listed(in) {
		l := widget.NewLine(w)
		label, value := themes.Text, themes.Muted
		if !v.chosen.free(k) {
			value = themes.Current
		}
		if v.inKnob && k == v.knob {
			label, value = themes.Focus, themes.Focus
			if !v.entry.on { // the caret has a look of its own
				l.Whole(in.Paint(themes.Focus))
			}
			l.Put(in.Paint(themes.Focus), in.Glyphs.Pointer)
		}
		l.To(2).Put(in.Paint(label), k.label())
		l.To(valueAt)
		if v.entry.on && v.inKnob && k == v.knob {
			in.Typed(l, &v.entry.input)
		} else {
			l.Put(in.Paint(value), in.Cut(v.named(in, k), w-valueAt))
		}
		lines = append(lines, l.String())
		if k == launchers && v.airy(in, h) {
			lines = append(lines, widget.Blank(w))
		}
	}
	if v.airy(in, h) {
		lines = append(lines, widget.Blank(w))
	}
	return append(lines, v.sureLines(in, w)...)
}

// named returns the word of a knob as it is shown: whose rules the layouts meet by that
// launcher's name.
func (v *View) named(in *screen.Context, k facet) string {
	word := v.word(k)
	if k == launchers && word == rulesKept && in.Setup != nil {
		if l := launch.Of(in.Setup.Stack); l != nil {
			return l.ID
		}
	}
	return word
}

// airy reports whether there is room for blank lines between the knobs.
func (v *View) airy(in *screen.Context, h int) bool { return h >= len(v.listed(in))+7 }

// sureLines say how little the order of the best tells, and what the first place
// rests on.
func (v *View) sureLines(in *screen.Context, w int) []string {
	a := v.answer
	if a == nil || a.result.near.Least == 0 || v.running != nil {
		return nil
	}
	texts := []string{others(&a.result.near) + " within 1 %"}
	if long := texts[0] + " of rank 1"; widget.Width(long) <= w-pointer {
		texts[0] = long
	}
	if a.result.near.Most == 1 {
		texts[0] = "none as roomy within 1 %"
	}
	if a.forMargin {
		texts = append([]string{"1 is " + find.MarginBrief}, texts...)
		if widget.Width(texts[0]) > w-pointer {
			texts[0] = find.MarginBrief
		}
	}
	if len(a.rows) > 0 && a.rows[0].Slow > a.rows[0].Step {
		texts = append(texts, "ranked by "+figure.Seconds(a.rows[0].Slow)+", overlap in doubt")
	}
	if len(a.reliances) > 0 {
		var parts []string
		for _, l := range a.reliances[:min(len(a.reliances), 2)] {
			parts = append(parts, strings.ToUpper(l.Dimension)+" "+figure.Short(math.Round(100*l.Share)))
		}
		if widget.Width(overlapped(parts)) > w-pointer {
			parts = parts[:1] // the dimension that counts most
		}
		texts = append(texts, overlapped(parts))
	}
	if a.result.band.Least > 0 {
		texts = append(texts, a.closeWords(w-pointer))
	} else {
		texts = append(texts, "no error band")
	}
	if words := a.room.Brief(in.Glyphs.PlusMinus); words != "" {
		texts = append(texts, words)
	}
	name, remark := "RANKING CONFIDENCE", ""
	if a.room.Fit == engine.Tight { // in the heading, which is on the smallest screen too
		name, remark = "CONFIDENCE", string(a.room.Fit)
	}
	lines := []string{in.HeadingIn(themes.Warn, w, name, "", remark)}
	for _, text := range texts {
		lines = append(lines, in.Note(w, text))
	}
	return lines
}

// overlapped names the dimensions whose traffic is assumed to be overlapped, and the share of the step that
// it is.
func overlapped(parts []string) string { return "overlapped: " + strings.Join(parts, ", ") + " %" }

// closeWords say how many layouts have the mark of those too close to call. Where the last
// one that is listed has it, more of them may follow.
func (a *answer) closeWords(w int) string {
	n := find.Near{Least: 1} // the first
	for i := range a.rows {
		if a.rows[i].Close {
			n.Least++
		}
	}
	switch last := len(a.rows) - 1; {
	case last > 0 && a.rows[last].Close:
		n.Least = max(n.Least, a.result.band.Least)
		if a.result.band.Most > 0 {
			n.Most = max(n.Least, a.result.band.Most)
		}
	case a.result.band.Most > 0:
		n.Most = n.Least
	}
	text := others(&n) + " too close"
	for _, more := range []string{" to call (~)", " (~)"} {
		if widget.Width(text+more) <= w {
			return text + more
		}
	}
	return text
}

// others returns how many layouts but the best are near it: 11, or 11 to 340 where bounds
// leave it open, or at least 11 where the search was stopped.
func others(n *find.Near) string {
	least, most := n.Least-1, n.Most-1
	switch {
	case most == 0:
		return "none"
	case most < 0:
		return "at least " + figure.Comma(least)
	case least == most:
		return figure.Comma(least)
	}
	return figure.Comma(least) + " to " + figure.Comma(most)
}

// valueAt is the column in which the values of the knobs start.
const valueAt = 14

// listed returns the knobs that have a choice for this model.
func (v *View) listed(in *screen.Context) []facet {
	var out []facet
	for k := range knobs {
		if in.Setup != nil && !in.Setup.Model.IsMoE() && (k == expert || k == expertTensor) {
			continue
		}
		if k == batchRule && v.word(objective) != string(find.FewestGPUs) {
			continue
		}
		out = append(out, k)
	}
	return out
}
