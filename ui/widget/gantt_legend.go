package widget

import "meshscope/themes"

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
		if apart+Width(e.sign)+1+len(e.text) > l.Left() {
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
		name := "both"
		if len(letters) > 2 {
			name = "mixed"
		}
		switch {
		case p.theme.Blends():
			entries = append(entries, legendEntry{p.theme.Blend(mix...), p.framed(letters), name})
		case p.theme.Colours:
			sample := mixedCell(p, blendKey(&[4]float32{0.4, 0.6}))
			entries = append(entries, legendEntry{sample.paint, Fill(sample.sign, 3), name})
		default:
			entries = append(entries, legendEntry{themes.Paint{}, "#", name}, legendEntry{themes.Paint{}, "f b +", "partly waiting"})
		}
	}
	return append(entries, legendEntry{p.idle, p.idleSign, "waiting"})
}

// framed gives a letter its coloured area; without colours it stands alone.
func (p *ganttPainter) framed(letters string) string {
	if !p.theme.Colours {
		return letters
	}
	return " " + letters + " "
}
