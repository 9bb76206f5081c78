package widget

import (
	"math"
	"strings"

	"meshscope/engine/schedule"
	"meshscope/themes"
)

// Columns that hold several operations, where colours cannot be mixed. With a few
// colours a cell is a small stack: one kind at the top, the others in turn below
// it, each as high as its share of the time, and what is empty at the top is
// waiting. With none the columns take turns: of eight, each kind has as many
// letters as it has eighths of the time.

// fewReach is how many columns to each side are averaged where colours are few:
// there is no tint between two others, so that shares that change from column to
// column would be all that one sees.
const fewReach = 3

// few turns the shares into cells.
func (b *ganttBlend) few(p *ganttPainter, s ganttSpan) {
	cells, keys := p.cells[s.col:s.col+s.cols], b.keys[:s.cols]
	b.calm(keys, !p.stacks())
	for _, key := range keys {
		if key != 0 {
			b.seen[key]++
		}
	}
	if !p.stacks() {
		letters(p, cells, keys, s.col)
		return
	}
	for i, key := range keys {
		if key != 0 {
			cells[i] = b.fewLook(p, key, s.col+i)
		}
	}
	for i := 0; i < len(keys); {
		j := i
		for j < len(keys) && keys[j] == keys[i] {
			j++
		}
		if name := blendName(keys[i]); j-i >= pureLeast && len(name) == 1 && cells[i].sign == " " {
			cells[i+1].sign = name // what one kind fills has room for its letter
		}
		i = j
	}
}

// letters writes columns from one of the picture on. What a column cannot show of its
// mix is owed to the next ones, so that the letters of a row add up to what its rank
// runs; where ranks have the same mix they have the same letters in a column.
func letters(p *ganttPainter, cells []ganttCell, keys []uint32, column int) {
	var owed [fewIdle + 1]int
	next := func(key uint32) int {
		due, total := 0, 0
		for part, n := range fewParts(key) {
			total += n
			if owed[part] += n; owed[part] > owed[due] {
				due = part
			}
		}
		owed[due] -= total
		return due
	}
	for i, key := range keys {
		if key == 0 {
			continue
		}
		if i == 0 || keys[i-1] == 0 {
			owed = [fewIdle + 1]int{}
			for range (column + i) % blendLevels {
				next(key)
			}
		}
		cells[i] = letterCell(p, next(key))
	}
}

// Letters writes the ranks of a whole step in some columns, for text: what the picture
// without colours has where operations are narrower than a column.
func Letters(line *schedule.Timeline, columns int) func(rank int) string {
	gantt := Gantt{Timeline: line, Plain: true}
	if columns <= 0 || !drawable(line) {
		return func(int) string { return "" }
	}
	p := gantt.newPainter(&themes.Theme{}, NewGlyphs(false), columns, gantt.Rows(1))
	p.spans, p.perOp = []ganttSpan{{to: line.Makespan, cols: columns}}, 0
	p.blend = newGanttBlend(columns)
	return func(rank int) string {
		p.row(rank)
		var b strings.Builder
		for i := range p.cells {
			b.WriteString(p.cells[i].sign)
		}
		return b.String()
	}
}

// letterCell is one part of a mix.
func letterCell(p *ganttPainter, part int) ganttCell {
	if part == fewIdle {
		return ganttCell{paint: p.inside, sign: p.idleSign}
	}
	return ganttCell{paint: p.theme.Area(kindFill(part)), sign: schedule.OpKind(part).String()}
}

// calm rounds the shares of each column, averaged over its neighbours in the same
// stretch. With snap set, columns at the end of a stretch that are partly idle become
// the one or the other.
func (b *ganttBlend) calm(keys []uint32, snap bool) {
	shares := b.shares[:len(keys)]
	clear(keys)
	for from := 0; from < len(keys); {
		to := stretch(shares, from)
		if to == from {
			from++
			continue
		}
		calmStretch(keys[from:to], shares[from:to])
		for _, end := range []int{from, to - 1} {
			if snap && partly(&shares[end]) {
				edge(keys, end)
			}
		}
		from = to
	}
}

// edge makes the column where work begins or ends after idle time a whole one, or
// none if little of it is worked.
func edge(keys []uint32, i int) {
	beside := i > 0 && keys[i-1] != 0 || i+1 < len(keys) && keys[i+1] != 0
	parts := fewParts(keys[i])
	if parts[fewIdle] == 0 || i > 0 && keys[i-1] != 0 && i+1 < len(keys) && keys[i+1] != 0 {
		return
	}
	if 2*parts[fewIdle] > blendLevels && beside {
		keys[i] = 0
		return
	}
	most := 0
	for kind := range fewIdle {
		if parts[kind] > parts[most] {
			most = kind
		}
	}
	keys[i] = blendLevels << (4 * most)
}

// pureLeast is how many columns of one kind are a stretch of their own, which is not
// averaged with what is beside it: forwards before the first backward, not one of two
// kinds in turn that happens to fill a column.
const pureLeast = 3

// Looks of a column besides the one kind in it.
const (
	lookIdle  = -1
	lookMixed = -2
)

// looksLike is the only kind in a column, or that it is idle or has several.
func looksLike(shares *[4]float32) int {
	const trace = 1.0 / (2 * blendLevels)
	look := lookIdle
	for kind, s := range shares {
		switch {
		case s <= trace:
		case look == lookIdle:
			look = kind
		default:
			return lookMixed
		}
	}
	return look
}

// stretch is the end of what is averaged together from a column on: columns of one
// kind if they are many, else everything up to those or to idle time. A single idle
// column belongs to the work around it. An idle column begins nothing.
func stretch(shares [][4]float32, from int) int {
	first, n := pureRun(shares, from)
	if first == lookIdle {
		return from
	}
	if n >= pureLeast {
		return from + n
	}
	i := from
	for i < len(shares) {
		look, n := pureRun(shares, i)
		if look == lookIdle && (n > 1 || i+1 >= len(shares)) || look >= 0 && n >= pureLeast {
			break
		}
		i += n
	}
	return i
}

// pureRun is the look of a column and how many from it on share it. Single idle
// columns count with what is on both sides of them.
func pureRun(shares [][4]float32, from int) (look, n int) {
	look = looksLike(&shares[from])
	i := from + 1
	for i < len(shares) {
		here := looksLike(&shares[i])
		if here == lookIdle && look >= 0 && i+1 < len(shares) && looksLike(&shares[i+1]) == look {
			i += 2
			continue
		}
		if here != look {
			break
		}
		i++
	}
	return look, i - from
}

// partly tells whether a column is idle for a part of its time.
func partly(s *[4]float32) bool { return s[0]+s[1]+s[2]+s[3] < 1-1.0/(2*blendLevels) }

// calmStretch averages and rounds. Columns that are partly idle because the stretch
// begins or ends in them stand for themselves.
func calmStretch(keys []uint32, shares [][4]float32) {
	inner := [2]int{0, len(keys)}
	if partly(&shares[0]) {
		inner[0]++
	}
	if inner[1] > inner[0] && partly(&shares[len(keys)-1]) {
		inner[1]--
	}
	var last [4]int
	for i := range keys {
		from, to := max(inner[0], i-fewReach), min(inner[1], i+fewReach+1)
		if i < inner[0] || i >= inner[1] {
			from, to = i, i+1
		}
		var mean [4]float32
		for _, s := range shares[from:to] {
			for kind := range mean {
				mean[kind] += s[kind] / float32(to-from)
			}
		}
		if i == inner[0] || i == inner[1] {
			last = [4]int{}
		}
		last = steady(&mean, last)
		for kind, level := range last {
			keys[i] |= uint32(level) << (4 * kind)
		}
	}
}

// steady rounds shares to eighths that add up to the whole with the waiting, and
// stays with the last ones where they are nearly as good: a share half-way between
// two would otherwise go to and fro.
func steady(shares *[4]float32, last [4]int) [4]int {
	const near = 0.6 // of an eighth
	var exact [fewIdle + 1]float64
	level, left, idle := [fewIdle + 1]int{}, blendLevels, float64(blendLevels)
	for kind, s := range shares {
		exact[kind] = float64(max(0, s)) * blendLevels
		idle -= exact[kind]
		left -= last[kind]
	}
	exact[fewIdle] = max(0, idle)
	same := left < blendLevels && math.Abs(exact[fewIdle]-float64(left)) <= near
	for kind, n := range last {
		same = same && math.Abs(exact[kind]-float64(n)) <= near && (n > 0) == (exact[kind] >= 0.5)
	}
	if same {
		return last
	}
	left = blendLevels
	for part, e := range exact {
		level[part] = min(left, int(e))
		left -= level[part]
	}
	for ; left > 0; left-- {
		due := 0
		for part, e := range exact {
			if e-float64(level[part]) > exact[due]-float64(level[due]) {
				due = part
			}
		}
		level[due]++
	}
	return [4]int(level[:fewIdle])
}

// fewLook is the cell of a mix in a column of the picture.
func (b *ganttBlend) fewLook(p *ganttPainter, key uint32, column int) ganttCell {
	parts := fewParts(key)
	at := 0
	for _, level := range parts {
		at += level
	}
	at = column % at
	known := key | uint32(at+1)<<16
	cell, ok := b.looks[known]
	if !ok {
		cell = fewCell(p, parts, at)
		b.looks[known] = cell
	}
	return cell
}

// fewIdle is the place of waiting in the parts of a column, after the kinds.
const fewIdle = int(schedule.WeightGradient) + 1

// fewParts is what a column consists of: eighths of each kind, and what is left is
// waiting.
func fewParts(key uint32) (parts [fewIdle + 1]int) {
	left := blendLevels
	for kind := range fewIdle {
		parts[kind] = blendLevel(key, schedule.OpKind(kind))
		left -= parts[kind]
	}
	parts[fewIdle] = max(0, left)
	return parts
}

// turn says whose turn it is at a place of a sequence in which every part comes as
// often as it has units, as evenly as can be.
func turn(parts []int, at int) int {
	total, best := 0, 0
	for _, n := range parts {
		total += n
	}
	given := make([]int, len(parts))
	for i := range at + 1 {
		best = 0
		most := math.Inf(-1)
		for part, n := range parts {
			if due := float64(n*(i+1))/float64(max(total, 1)) - float64(given[part]); n > 0 && due > most+1e-9 {
				best, most = part, due
			}
		}
		given[best]++
	}
	return best
}

// kindFill is the colour of a kind.
func kindFill(kind int) themes.Fill {
	return [fewIdle]themes.Fill{themes.Forward, themes.Backward, themes.InputGrad, themes.WeightGrad}[kind]
}

// fewCell is a column of some parts, at a place of their sequence.
func fewCell(p *ganttPainter, parts [fewIdle + 1]int, at int) ganttCell {
	if p.stacks() {
		return stackedCell(p, parts, at)
	}
	return letterCell(p, turn(parts[:], at))
}

// stacks tells whether a column of several kinds is a stack of colours: there are
// some, and blocks to draw it with.
func (p *ganttPainter) stacks() bool { return p.theme.Colours && p.glyphs.Unicode }

// stackedCell is a column as a stack of two: waiting above all kinds, or else the
// first kind above the others. A single eighth of waiting gives way to that.
func stackedCell(p *ganttPainter, parts [fewIdle + 1]int, at int) ganttCell {
	if parts[fewIdle] == 1 {
		parts[fewIdle] = 0
	}
	total, first := 0, -1
	for part, n := range parts {
		total += n
		if n > 0 && first < 0 {
			first = part
		}
	}
	below := parts
	top := fewIdle
	if parts[fewIdle] == 0 {
		top = first
	}
	below[top] = 0
	rest := total - parts[top]
	if rest == 0 {
		return ganttCell{paint: p.theme.Area(kindFill(top)), sign: " "}
	}
	height := min(7, max(1, (rest*blendLevels+total/2)/total))
	kind := turn(below[:], at%rest)
	paint := p.theme.Line(kindFill(kind))
	if top != fewIdle {
		paint = p.theme.Edge(kindFill(kind), kindFill(top))
	}
	return ganttCell{paint: paint, sign: lowerEighth(height)}
}

// lowerEighth is the block that fills n eighths of a cell from below, 1 to 7.
func lowerEighth(n int) string {
	return [8]string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇"}[n&7]
}

// fewLegend explains columns that hold several operations: a sample of the mix that
// fills most of the picture.
func (p *ganttPainter) fewLegend() []LegendEntry {
	var most, key uint32
	for k, n := range p.blend.seen {
		if n := uint32(n); len(blendName(k)) > 1 && (n > most || n == most && k < key) {
			most, key = n, k
		}
	}
	if key == 0 {
		return nil
	}
	const sample = 3
	if p.stacks() {
		cell := p.blend.fewLook(p, key, 0)
		return []LegendEntry{{
			Paint: cell.paint, Sign: Fill(cell.sign, sample),
			Text: "heights: shares of the time, empty above: waiting", Brief: "shares of time",
		}}
	}
	sign := ""
	for i := range sample {
		sign += p.blend.fewLook(p, key, i).sign
	}
	return []LegendEntry{{Paint: p.mark, Sign: sign, Text: "letters: shares of the time, not single operations", Brief: "shares of time"}}
}
