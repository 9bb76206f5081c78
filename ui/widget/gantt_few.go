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
