package widget

import (
	"strings"

	"meshscope/themes"
)

// Legend is one line that names the signs of the picture of the same width and
// height; entries that do not fit are left out.
func (v *Gantt) Legend(t *themes.Theme, g Glyphs, w, h int) string {
	l := NewLine(w)
	rows := v.Rows(h)
	if w <= 0 || len(rows) == 0 || !(v.Timeline.Makespan > 0) {
		return l.String()
	}
	label, idle := v.margins(w)
	p := v.newPainter(t, g, w-label-idle, rows)
	blended := p.perOp < 1
	for _, e := range p.legend(rows, blended) {
		apart := 3
		if l.Used() == 0 {
			apart = 0
		}
		if apart+Width(e.sign)+1+Width(e.text) > l.Left() {
			break
		}
		l.Gap(apart).Put(e.paint, e.sign).Put(t.Paint(themes.Muted), " "+e.text)
	}
	return l.String()
}

type legendEntry struct {
	paint      themes.Paint
	sign, text string
}

// legend lists the kinds that ranks run, all the same ones, and the mixes.
func (p *ganttPainter) legend(rows []int, blended bool) []legendEntry {
	var runs [4]bool
	o := p.line.Order
	for _, op := range o.Rank(rows[0]) {
		runs[op.Kind()] = true
	}
	names := [4]string{"forward", "backward", "input gradient", "weight gradient"}
	fills := [4]themes.Fill{themes.Forward, themes.Backward, themes.InputGrad, themes.WeightGrad}
	var entries []legendEntry
	var mix []themes.Share
	letters := ""
	for kind, name := range names {
		if !runs[kind] {
			continue
		}
		letter := "FBIW"[kind : kind+1]
		letters += letter
		mix = append(mix, themes.Share{Fill: fills[kind], Share: 1})
		entries = append(entries, legendEntry{p.theme.Area(fills[kind]), p.framed(letter), name})
	}
	if blended && len(letters) > 1 {
		entries = append(p.mixLegend(letters, mix), entries...)
	}
	entries = append(entries, legendEntry{p.idle, p.idleSign, "waiting"})
	for _, s := range p.spans {
		if s.cut {
			return append([]legendEntry{{p.mark, p.glyphs.Cut, "left out"}}, entries...)
		}
	}
	return entries
}

// mixLegend explains what is drawn where a column holds several operations. It
// comes first: without it the picture cannot be read.
func (p *ganttPainter) mixLegend(letters string, mix []themes.Share) []legendEntry {
	name := strings.Join(strings.Split(letters, ""), " and ") + " alternate"
	switch {
	case p.theme.Blends():
		return []legendEntry{{p.theme.Blend(mix...), p.framed(letters), name}}
	case p.theme.Colours:
		sample := mixedCell(p, blendKey(&[4]float32{0.4, 0.6}))
		return []legendEntry{{sample.paint, Fill(sample.sign, 3), name}}
	default:
		return []legendEntry{{themes.Paint{}, "#", name}, {themes.Paint{}, "f b +", "partly waiting"}}
	}
}

// framed gives a letter its coloured area; without colours it stands alone.
func (p *ganttPainter) framed(letters string) string {
	if !p.theme.Colours {
		return letters
	}
	return " " + letters + " "
}
