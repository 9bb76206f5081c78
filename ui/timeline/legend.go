package timeline

import (
	"cmp"
	"slices"
	"strings"

	"meshscope/engine/schedule"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// Legend returns one line that names the signs of the picture of the same width and
// height; entries that do not fit are left out.
func (v *Chart) Legend(t *themes.Theme, g widget.Glyphs, w, h int) string {
	l := widget.NewLine(w)
	rows := v.Rows(h)
	if w <= 0 || len(rows) == 0 || !(v.Timeline.Makespan > 0) {
		return l.String()
	}
	label, idle := v.margins(w)
	p := v.newPainter(t, g, w-label-idle)
	for _, r := range rows { // which mixes and which labels there are shows in the picture only
		p.row(r)
	}
	entries := append(p.legend(rows), LegendEntry{Paint: p.idle, Sign: p.idleSign, Text: "idle"})
	for _, s := range p.spans {
		if s.cut {
			entries = append([]LegendEntry{{Paint: p.mark, Sign: p.glyphs.Cut, Text: "left out"}}, entries...)
			break
		}
	}
	need := -3
	for _, e := range entries {
		need += 3 + widget.Width(e.Sign) + 1 + widget.Width(e.Text)
	}
	for _, e := range entries {
		apart := 3
		if l.Used() == 0 {
			apart = 0
		}
		if need > w && e.Brief != "" {
			e.Text = e.Brief
		}
		if apart+widget.Width(e.Sign)+1+widget.Width(e.Text) > l.Left() {
			break
		}
		l.Gap(apart).Put(e.Paint, e.Sign).Put(t.Paint(themes.Muted), " "+e.Text)
	}
	return l.String()
}

// LegendEntry is one sign and what it means; Brief is what is said where there
// is little room, where that is less than Text.
type LegendEntry struct {
	Paint             themes.Paint
	Sign, Text, Brief string
}

// legend lists the mixes that were drawn, the most frequent first, because
// without them the picture cannot be read, and then the kinds that ranks run,
// all the same ones.
func (p *painter) legend(rows []int) []LegendEntry {
	var runs [4]bool
	o := p.line.Order
	paired := false
	for _, op := range o.Rank(rows[0]) {
		runs[op.Kind()] = true
		paired = paired || op.Paired()
	}
	var entries []LegendEntry
	if p.perOp < 1 {
		entries = p.mixLegend(paired)
	}
	names := [4]string{"forward", "backward", "input gradient", "weight gradient"}
	fills := [4]themes.Fill{themes.Forward, themes.Backward, themes.InputGrad, themes.WeightGrad}
	for kind, name := range names {
		if runs[kind] {
			letter := "FBIW"[kind : kind+1]
			entries = append(entries, LegendEntry{
				Paint: p.theme.Area(fills[kind]), Sign: p.framed(letter),
				Text: name, Brief: briefKind(p.theme.Colours, kind),
			})
		}
	}
	if p.small {
		text, brief := "second chunk, F3.1 in words", "2nd chunk"
		if o.Chunks() > 2 {
			text, brief = "odd chunk, F3.1 in words", "odd chunk"
		}
		entries = append(entries,
			LegendEntry{
				Paint: p.theme.Area(p.fill(schedule.NewOp(schedule.Forward, 1, 0))),
				Sign:  p.framed("f"), Text: text, Brief: brief,
			})
	}
	if p.joined {
		entries = append(entries, LegendEntry{Paint: p.mark, Sign: "&", Text: "two at once"})
	}
	return entries
}

// briefKind returns nothing where the letter in its colour says enough.
func briefKind(colours bool, kind int) string {
	if colours {
		return ""
	}
	return [4]string{"fwd", "bwd", "input", "weight"}[kind]
}

// Mixes that a legend names: as many, and none that fills less of the columns.
const (
	legendMixes = 3
	legendLeast = 0.02
)

// mixLegend explains what was drawn where a column holds several operations.
func (p *painter) mixLegend(paired bool) []LegendEntry {
	if !p.mixes() {
		return p.fewLegend()
	}
	type mix struct {
		name      string
		key       uint32
		most, sum int
	}
	var mixes []mix
	total := 0
	for key, n := range p.blend.seen {
		total += n
		name := blendName(key)
		if len(name) < 2 {
			continue
		}
		i := slices.IndexFunc(mixes, func(m mix) bool { return m.name == name })
		if i < 0 {
			i, mixes = len(mixes), append(mixes, mix{name: name})
		}
		m := &mixes[i]
		if m.sum += n; n > m.most || n == m.most && key < m.key {
			m.most, m.key = n, key
		}
	}
	slices.SortFunc(mixes, func(a, b mix) int { return cmp.Or(b.sum-a.sum, strings.Compare(a.name, b.name)) })
	var entries []LegendEntry
	for i, m := range mixes {
		if i == legendMixes || float64(m.sum) < legendLeast*float64(total) {
			break
		}
		cell := p.blend.look(p, m.key, 0)
		if n := len(entries); n > 0 && entries[n-1].Brief == inTurn { // said once, behind the last
			entries[n-1].Brief = ""
		}
		entries = append(entries, LegendEntry{
			Paint: cell.paint, Sign: p.framed(m.name),
			Text: mixText(m.name, paired), Brief: briefMix(m.name, paired),
		})
	}
	return entries
}

// mixText says what alternates; forward and backward of a schedule with
// overlapped pairs run at the same time.
func mixText(name string, paired bool) string {
	text := strings.Join(strings.Split(name, ""), ", ") + " alternating"
	if paired && strings.HasPrefix(name, "FB") {
		text = "F & B at once"
		if len(name) > 2 {
			text += ", " + strings.Join(strings.Split(name[2:], ""), ", ")
		}
	}
	return text
}

// briefMix says of kinds that run at the same time that they do; their letters are
// in the sign.
func briefMix(name string, paired bool) string {
	if paired && strings.HasPrefix(name, "FB") {
		return "at once"
	}
	return inTurn
}

const inTurn = "alternating"

// framed gives a letter its coloured area; without colours it stands alone.
func (p *painter) framed(letters string) string {
	if !p.theme.Colours {
		return letters
	}
	return " " + letters + " "
}
