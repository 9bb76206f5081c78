package rings

import (
	"fmt"
	"strconv"

	"meshscope/engine/ring"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Where the blocks of the example stand.
const (
	matrixTop  = 3
	matrixLeft = 5
	blockWidth = 3
	besideMost = 50 // width of the words next to the blocks
)

// scale returns the cells of a block: as many lines as the window has, twice as many columns and one.
func (v *attention) scale(in *screen.Context, a *ring.Attention) (width, height int) {
	const around = 12 // heading, sentence, head, and the setup below
	height = min((in.H-around)/a.Parts(), (in.W-matrixLeft-3-besideMost)/a.Parts()/2, 3)
	if height < 2 {
		return blockWidth, 1
	}
	return min(2*height+1, (in.W-matrixLeft-3-besideMost)/a.Parts()), height
}

// heading names the example: its CP, its tokens, the split and the step.
func (v *attention) heading(in *screen.Context, a *ring.Attention) string {
	detail := fmt.Sprintf("CP %d", a.Ranks)
	if in.Setup.CP != a.Ranks {
		detail += fmt.Sprintf(" (setup: %d)", in.Setup.CP)
	}
	detail += fmt.Sprintf(", %d %s %d tokens", a.Parts(), in.Glyphs.Times, a.Tokens/a.Parts())
	split := "zig-zag [contiguous]"
	if a.ZigZag {
		split = "[zig-zag] contiguous"
	}
	return in.HeadingIn(themes.Current, in.W, "RING ATTENTION", detail,
		fmt.Sprintf("%s, step %d of %d", split, v.steps.at+1, a.Ranks))
}

// picture draws the blocks of queries and keys with the GPU that computes each, and next to
// them who has which keys and values.
func (v *attention) picture(in *screen.Context, a *ring.Attention) []string {
	step := v.steps.at
	wide, tall := v.scale(in, a)
	left := matrixLeft + wide*a.Parts()
	rows := 1 + tall*a.Parts()
	right := v.table(in, a, in.W-left-3)
	if round := v.circle(in, a, in.W-left-3); len(right)+len(round)+1 <= rows {
		right = append(append(round, widget.Blank(in.W-left-3)), right...)
	}
	lines := make([]string, 0, rows)
	head := widget.NewLine(in.W).To(matrixLeft)
	for k := range a.Parts() {
		paint := themes.Muted
		if k == v.k {
			paint = themes.Accent
		}
		head.To(matrixLeft+wide*k).Put(in.Paint(paint), middle(label("k", k), wide))
	}
	lines = append(lines, head.To(left+3).Raw(right[0], in.W-left-3).String())
	for q := range a.Parts() {
		for part := range tall {
			l := widget.NewLine(in.W)
			named := part == (tall-1)/2
			if named {
				paint := themes.Muted
				if q == v.q {
					paint = themes.Accent
				}
				l.Put(in.Paint(paint), "q"+strconv.Itoa(q))
			}
			l.To(matrixLeft)
			for k := range a.Parts() {
				v.block(in, l, a, q, k, step, wide, named)
			}
			l.To(left + 3)
			if len(lines) < len(right) {
				l.Raw(right[len(lines)], in.W-left-3)
			}
			lines = append(lines, l.String())
		}
	}
	return lines
}

// middle writes a text into w cells, left of the middle where it has none.
func middle(text string, w int) string {
	before := (w - widget.Width(text) + 1) / 2
	return widget.Blank(before) + text + widget.Blank(w-before-widget.Width(text))
}

// circle draws the ring with the keys and values that each GPU holds: to the right above, back below.
func (v *attention) circle(in *screen.Context, a *ring.Attention, w int) []string {
	half := (a.Ranks + 1) / 2
	cell := (w - 4) / half
	muted := in.Paint(themes.Muted)
	right, left, turn, back, down := "─▸ ", "◂─ ", "───╮", "◂──╯", "│"
	open, end := "╭▸", "╰─"
	if !in.Glyphs.Unicode {
		right, left, turn, back, down, open, end = "-> ", "<- ", "---+", "<--+", "|", "+>", "+-"
	}
	if cell < len(" 0 k10 k11")+3 {
		return nil
	}
	gpu := func(l *widget.Line, rank int) {
		held := a.Own(a.From(rank, v.steps.at))
		l.Put(in.Theme.Area(hue(in.Theme, rank)), " "+strconv.Itoa(rank)+" ").Put(in.Paint(themes.Text),
			fmt.Sprintf(" k%d k%d", held[0], held[1]))
	}
	top, bottom := widget.NewLine(w).Put(muted, open), widget.NewLine(w).Put(muted, end)
	for i := range half {
		gpu(top.To(2+i*cell), i)
		if i+1 < half {
			top.To(2+(i+1)*cell-3).Put(muted, right)
		}
		rank := a.Ranks - 1 - i
		if rank < half {
			continue
		}
		gpu(bottom.To(2+i*cell), rank)
		if rank > half {
			bottom.To(2+(i+1)*cell-3).Put(muted, left)
		}
	}
	top.To(2+half*cell-3).Put(muted, turn)
	bottom.To(2+half*cell-3).Put(muted, back)
	between := widget.NewLine(w).Put(muted, down).To(2+half*cell).Put(muted, down)
	return []string{top.String(), between.String(), bottom.String()}
}

// label names a part, by its number alone where it has two digits.
func label(of string, part int) string {
	if part > 9 {
		of = ""
	}
	return of + strconv.Itoa(part)
}

// block draws a line of the GPU that computes a block, wide cells: filled when it is done, in brackets while
// it is computed, and a dot where the mask leaves nothing. named: the line that has the GPU's number.
func (v *attention) block(in *screen.Context, l *widget.Line, a *ring.Attention, q, k, now, wide int,
	named bool,
) {
	step, some := a.Step(q, k)
	open, end := " ", " "
	if q == v.q && k == v.k && named {
		open = in.Glyphs.Pointer
	}
	inside := func(sign string) string {
		if !named {
			sign = ""
		}
		before := max((wide-2-widget.Width(sign))/2, 0)
		return widget.Blank(before) + sign + widget.Blank(wide-2-before-widget.Width(sign))
	}
	if !some {
		l.Put(in.Paint(map[bool]themes.Role{true: themes.Accent, false: themes.Faint}[open != " "]),
			open+inside(masked(in))+" ")
		return
	}
	owner := a.Owner(q)
	if q == k && named { // half of it is masked
		end = map[bool]string{true: "◣", false: "\\"}[in.Glyphs.Unicode]
	}
	paint := in.Theme.Line(hue(in.Theme, owner)) // still to come
	switch {
	case step == now:
		paint, end = in.Paint(themes.Current), "]"
		if open == " " {
			open = "["
		}
	case step < now:
		if paint = in.Theme.Area(hue(in.Theme, owner)); !in.Theme.Colours && named {
			end = "+"
		}
	}
	l.Put(paint, open+inside(strconv.Itoa(owner))+end)
}

// table says for each GPU of the example which queries it has, whose keys and values it holds in this
// step, and its work so far; below, the work of both splits.
func (v *attention) table(in *screen.Context, a *ring.Attention, w int) []string {
	muted, text := in.Paint(themes.Muted), in.Paint(themes.Text)
	step := v.steps.at
	l := widget.NewLine(w)
	l.Put(muted, "GPU has").To(heldAt).Put(muted, "K/V").To(fromAt).Put(muted, "of").RightAligned(muted,
		"pairs", pairsEnd)
	lines := []string{l.Right(muted, "done", 0).String()}
	_, most, _ := a.Busiest()
	for rank := range a.Ranks {
		own, from := a.Own(rank), a.From(rank, step)
		held := a.Own(from)
		l := widget.NewLine(w).Put(in.Theme.Area(hue(in.Theme, rank)), " "+strconv.Itoa(rank)+" ").Gap(1)
		l.Put(text, fmt.Sprintf("q%d q%d", own[0], own[1])).To(heldAt).Put(text,
			fmt.Sprintf("k%d k%d", held[0], held[1])).To(fromAt)
		l.Put(text, strconv.Itoa(from))
		if step+1 < a.Ranks {
			l.Put(muted, fmt.Sprintf("%s%d", in.Glyphs.Arrow, (rank+1)%a.Ranks))
		}
		if concealed(in) {
			lines = append(lines, l.RightAligned(muted, "?", pairsEnd).Right(muted, "? of ?", 0).String())
			continue
		}
		if work := a.Work(rank, step); work > 0 {
			l.RightAligned(text, "+"+strconv.Itoa(work), pairsEnd)
		} else {
			l.RightAligned(in.Paint(themes.Bad), "idle", pairsEnd)
		}
		done := fmt.Sprintf("%d of %d", a.Done(rank, step+1), a.Total(rank))
		bar := widget.Stack{
			Scale: float64(most), Plain: true,
			Segments: []widget.Segment{{Fill: hue(in.Theme, rank), Value: float64(a.Done(rank, step+1))}},
		}
		l.Gap(1)
		if room := l.Left() - len(" 00 of 00"); room > 3 {
			l.Raw(bar.Render(in.Theme, in.Glyphs, room), room)
		}
		lines = append(lines, l.Right(text, done, 0).String())
	}
	lines = append(lines, widget.Blank(w))
	for _, words := range v.verdict(a) {
		if concealed(in) {
			break
		}
		lines = append(lines, widget.NewLine(w).Put(muted, in.Cut(words, w)).String())
	}
	return append(lines, widget.NewLine(w).Put(muted, in.Cut(legend(in), w)).String())
}

// Columns of the table.
const (
	heldAt   = 12
	fromAt   = 20
	pairsEnd = 29
)

// verdict compares the two splits of the example.
func (v *attention) verdict(a *ring.Attention) []string {
	zig, straight := *a, *a
	zig.ZigZag, straight.ZigZag = true, false
	last, most, _ := straight.Busiest()
	return []string{
		fmt.Sprintf("zig-zag     %d pairs on every GPU", zig.Total(0)),
		fmt.Sprintf("contiguous  %d to %d: all wait for GPU %d", straight.Total(0), most, last),
	}
}

// setup draws the ring of the setup: attention of a layer, and under it the send/recv that it
// hides.
func (v *attention) setup(in *screen.Context) []string {
	s, w := in.Setup, in.W
	muted := in.Paint(themes.Muted)
	say := func(text string) string { return widget.NewLine(w).Gap(2).Put(muted, in.Cut(text, w-2)).String() }
	detail := fmt.Sprintf("CP %d, %s tokens, %s on each GPU", s.CP, figure.Comma(s.Seq),
		figure.Comma(s.Seq/s.CP))
	lines := []string{in.Heading(w, "THIS SETUP", detail, "one layer, one micro-batch")}
	if s.CP < 2 {
		return append(lines, say("Each GPU has whole sequences: no ring, nothing is sent for attention. "+
			"Turn CP up to cut them."))
	}
	if s.SharesHeads() {
		return append(lines, say("Ranks exchange the sequence for heads before attention and after it (a2a, "+
			"Ulysses): no ring."))
	}
	if in.Hides("communication.", "time.", "attention.") {
		return append(lines, say("hidden until you answer"))
	}
	if f := v.facts.current(in); f == nil {
		lines = append(lines, say("evaluating"+in.Glyphs.Ellipsis))
	} else {
		scale := max(f.Forward.Attention, f.Forward.SendRecv, f.Backward.Attention, f.Backward.SendRecv)
		lines = append(lines, passLines(in, "forward", &f.Forward, float64(scale), themes.Forward,
			themes.ForwardAlt)...)
		lines = append(lines, passLines(in, "backward", &f.Backward, float64(scale), themes.Backward,
			themes.BackwardAlt)...)
	}
	if !concealed(in) {
		lines = append(lines, say(v.pairs(in)))
	}
	return append(lines, say(v.traffic(in)))
}

// passLines draws attention in the steps of the ring, and the messages that travel while it
// runs.
func passLines(in *screen.Context, name string, p *ring.Pass, scale float64, fill,
	other themes.Fill,
) []string {
	const barAt, sayWidth = 22, 30
	room := max(in.W-barAt-sayWidth, 4)
	row := func(label string, bar *widget.Stack, text string, role themes.Role) string {
		l := widget.NewLine(in.W).Gap(2).Put(in.Paint(themes.Muted), label).To(barAt)
		bar.Scale, bar.Plain, bar.NoTrack = scale, true, true
		return l.Raw(bar.Render(in.Theme, in.Glyphs, room), room).Gap(1).Put(in.Paint(role),
			in.Cut(text, l.Left())).String()
	}
	cp := in.Setup.CP
	work := &widget.Stack{}
	pieces := cp
	if 3*cp > room { // too narrow to tell them apart
		pieces = 1
	}
	for i := range pieces {
		work.Segments = append(work.Segments, widget.Segment{
			Fill:  [...]themes.Fill{fill, other}[i%2],
			Value: float64(p.Attention) / float64(pieces),
		})
	}
	sent := &widget.Stack{Segments: []widget.Segment{
		{Fill: themes.Gauge, Value: float64(p.SendRecv - p.Exposed)},
		{Fill: themes.Exposed, Value: float64(p.Exposed)},
	}}
	text, role := figure.Seconds(p.SendRecv)+", all overlapped", themes.Good
	if p.Exposed > 0 {
		text, role = figure.Seconds(p.SendRecv)+", exposed "+figure.Seconds(p.Exposed), themes.Bad
	}
	return []string{
		row(fmt.Sprintf("%-9s%s", name, "attention"), work,
			fmt.Sprintf("%s in %s", figure.Seconds(p.Attention), figure.Plural(cp, "step")), themes.Text),
		row(fmt.Sprintf("%d %s %s", cp-1, in.Glyphs.Times, figure.Traffic(p.Message)), sent, text, role),
	}
}

// pairs compares the splits of the setup's sequence.
func (v *attention) pairs(in *screen.Context) string {
	zig, straight := v.own(in, true), v.own(in, false)
	_, even, _ := zig.Busiest()
	_, most, mean := straight.Busiest()
	text := fmt.Sprintf("pairs a GPU: %s zig-zag, up to %s contiguous (%s %s)",
		figure.Comma(even), figure.Comma(most), figure.Three(float64(most)/mean), in.Glyphs.Times)
	if in.Setup.Seq%zig.Parts() != 0 {
		text += fmt.Sprintf("; %d parts do not divide the sequence: contiguous", zig.Parts())
	}
	return text
}

// traffic is what the report says of the ring, over the step.
func (v *attention) traffic(in *screen.Context) string {
	for i := range in.Report.Communication {
		if c := &in.Report.Communication[i]; c.Dimension == "cp" {
			return fmt.Sprintf("in the step each GPU sends %s in %s; exposed: %s, %s of the step",
				figure.Traffic(c.Bytes),
				figure.Seconds(c.Seconds), figure.Seconds(c.Exposed),
				figure.Percent(float64(c.Exposed/max(in.Report.Time.Step, units.Seconds(1e-12)))))
		}
	}
	return ""
}
