package timeline

import (
	"math"

	"meshscope/engine/schedule"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// Columns that hold several operations, where colours cannot be mixed. With a few
// colours a cell is a small stack: one kind at the top, the others one after the other below
// it, each as high as its share of the time, and the empty part at the top is
// waiting. With none the columns take turns: of eight, each kind has as many
// letters as it has eighths of the time.

// few turns the shares into cells.
func (b *blend) few(p *painter, s interval) {
	cells, keys := p.cells[s.col:s.col+s.cols], b.keys[:s.cols]
	b.calm(keys, !p.stacks())
	for _, key := range keys {
		if key != 0 {
			b.seen[key]++
		}
	}
	if !p.stacks() {
		b.letters(p, cells, keys, s.col)
		return
	}
	b.stacks(p, cells, keys, s.col)
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

// stacks paints columns from one of the picture on: which kind stands below the top one
// goes by turns.
func (b *blend) stacks(p *painter, cells []cell, keys []uint32, column int) {
	var t turns
	resting := true // nothing stands below
	for i, key := range keys {
		s := stackOf(key)
		if key != 0 {
			t.ran(&b.shares[i])
			t.drew(s.top, 1-float32(s.height)/blendLevels)
		}
		if s.rest == 0 {
			if resting = true; key != 0 {
				cells[i] = b.stackLook(p, key, s, s.top)
			}
			continue
		}
		if resting {
			t.begin(s.below, b.means[i], column+i)
			resting = false
		}
		shares := fewShares(&b.shares[i])
		for part, n := range s.below {
			if n == 0 {
				shares[part] = 0
			}
		}
		part := t.late(t.next(s.below, b.means[i]), shares)
		t.drew(part, float32(s.height)/blendLevels)
		cells[i] = b.stackLook(p, key, s, part)
	}
}

// letters writes columns from one of the picture on: the parts of a mix take turns.
func (b *blend) letters(p *painter, cells []cell, keys []uint32, column int) {
	var t turns
	for i, key := range keys {
		parts := fewParts(key)
		t.ran(&b.shares[i])
		if key == 0 {
			part := t.late(fewIdle, fewShares(&b.shares[i]))
			t.drew(part, 1)
			if part != fewIdle {
				cells[i] = letterCell(p, part)
			}
			continue
		}
		if i == 0 || keys[i-1] == 0 {
			t.begin(parts, b.means[i], column+i)
		}
		part := t.late(t.next(parts, b.means[i]), fewShares(&b.shares[i]))
		t.drew(part, 1)
		cells[i] = letterCell(p, part)
	}
}

// turns is who comes next where several kinds share columns. What a column cannot show
// of its mix is owed to the next ones.
type turns struct {
	owed   [fewIdle + 1]float32 // by the mixes so far, since the stretch began
	behind [fewIdle + 1]float32 // columns that a kind has run for and nothing shows
}

// begin forgets what is owed where a stretch begins in a column of the picture, such
// that ranks with one mix have the same letters in a column.
func (t *turns) begin(parts [fewIdle + 1]int, mean [4]float32, column int) {
	const cycle = 120 // a whole number of turns of two to six and of eight
	t.owed = [fewIdle + 1]float32{}
	for range column % cycle {
		t.next(parts, mean)
	}
}

// next returns whose turn it is among the parts of a column, by their means.
func (t *turns) next(parts [fewIdle + 1]int, mean [4]float32) int {
	shares, total := fewShares(&mean), float32(0)
	for part, n := range parts {
		if n == 0 {
			shares[part] = 0
		} else if shares[part] == 0 {
			shares[part] = float32(n) / blendLevels // the end of a stretch, made whole
		}
		total += shares[part]
	}
	due := -1
	for part, n := range parts {
		if t.owed[part] += shares[part] / total; n > 0 && (due < 0 || t.owed[part] > t.owed[due]) {
			due = part
		}
	}
	t.owed[due]--
	return due
}

// late returns who takes a turn instead: a part of the column that is behind the one whose
// turn it is by more than turnsLate. The ends of stretches are rounded to columns, which
// adds up over a row.
func (t *turns) late(part int, shares [fewIdle + 1]float32) int {
	instead := part
	for other, share := range shares {
		if share >= 1.0/blendLevels && t.behind[other] > t.behind[instead] {
			instead = other
		}
	}
	if t.behind[instead] > t.behind[part]+turnsLate {
		return instead
	}
	return part
}

// turnsLate is how many columns a kind may fall behind another before the order in which
// they take turns is broken for it: with less the steady state of a long step loses its
// rhythm.
const turnsLate = 2.5

// ran counts what a column holds, drew what is drawn of it.
func (t *turns) ran(shares *[4]float32) {
	for part, share := range fewShares(shares) {
		t.behind[part] += share
	}
}

func (t *turns) drew(part int, columns float32) { t.behind[part] -= columns }

// letterCell returns one part of a mix.
func letterCell(p *painter, part int) cell {
	if part == fewIdle {
		return cell{paint: p.inside, sign: p.idleSign}
	}
	return cell{paint: p.theme.Area(kindFill(part)), sign: schedule.OpKind(part).String()}
}

// stackLook returns the cell of a stack with a kind below, made once for each.
func (b *blend) stackLook(p *painter, key uint32, s stack, kind int) cell {
	known := key | uint32(kind+1)<<16
	cell, ok := b.looks[known]
	if !ok {
		cell = s.cell(p, kind)
		b.looks[known] = cell
	}
	return cell
}

// fewLook returns the cell of a mix in a column of the picture, for the legend.
func (b *blend) fewLook(p *painter, key uint32, column int) cell {
	s, parts := stackOf(key), fewParts(key)
	if !p.stacks() {
		return letterCell(p, turn(parts[:], column%blendLevels))
	}
	if s.rest == 0 {
		return b.stackLook(p, key, s, s.top)
	}
	return b.stackLook(p, key, s, turn(s.below[:], column%s.rest))
}

// fewIdle is the place of waiting in the parts of a column, after the kinds.
const fewIdle = int(schedule.WeightGradient) + 1

// fewParts returns what a column consists of: eighths of each kind, and what is left is
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

// fewShares returns what a column consists of, as it is: each kind, and idle time.
func fewShares(shares *[4]float32) (parts [fewIdle + 1]float32) {
	parts[fewIdle] = 1
	for kind, s := range shares {
		parts[kind] = max(0, s)
		parts[fewIdle] -= parts[kind]
	}
	parts[fewIdle] = max(0, parts[fewIdle])
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
			if due := float64(n*(i+1))/float64(max(total, 1)) - float64(given[part]); n > 0 &&
				due > most+1e-9 {
				best, most = part, due
			}
		}
		given[best]++
	}
	return best
}

// kindFill returns the colour of a kind.
func kindFill(kind int) themes.Fill {
	return [fewIdle]themes.Fill{themes.Forward, themes.Backward, themes.InputGrad, themes.WeightGrad}[kind]
}

// stacks reports whether a column of several kinds is a stack of colours: there are
// some, and blocks to draw it with.
func (p *painter) stacks() bool { return p.theme.Colours && p.glyphs.Unicode }

// stack is a column as a stack of two: waiting above all kinds, or else the first kind
// above the others. A single eighth of waiting gives way to that.
type stack struct {
	top    int
	height int              // eighths that are not the top's, 0 if it is alone
	below  [fewIdle + 1]int // eighths of those that take turns below it
	rest   int              // their sum
}

func stackOf(key uint32) stack {
	parts := fewParts(key)
	if parts[fewIdle] == 1 {
		parts[fewIdle] = 0
	}
	total, first := 0, fewIdle
	for part, n := range parts {
		total += n
		if n > 0 {
			first = min(first, part)
		}
	}
	s := stack{top: first, below: parts}
	if parts[fewIdle] > 0 {
		s.top = fewIdle
	}
	s.below[s.top] = 0
	s.rest = total - parts[s.top]
	if s.rest > 0 {
		s.height = min(7, max(1, (s.rest*blendLevels+total/2)/total))
	}
	return s
}

// cell returns the stack with a kind below.
func (s stack) cell(p *painter, kind int) cell {
	if s.rest == 0 {
		return cell{paint: p.theme.Area(kindFill(s.top)), sign: " "}
	}
	paint := p.theme.Line(kindFill(kind))
	if s.top != fewIdle {
		paint = p.theme.Edge(kindFill(kind), kindFill(s.top))
	}
	return cell{paint: paint, sign: lowerEighth(s.height)}
}

// lowerEighth returns the block that fills n eighths of a cell from below, 1 to 7.
func lowerEighth(n int) string {
	return [8]string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇"}[n&7]
}

// stackHeight returns how many eighths the block of a stack fills; 0: the sign is none.
func stackHeight(sign string) int {
	for n := 1; n < blendLevels; n++ {
		if sign == lowerEighth(n) {
			return n
		}
	}
	return 0
}

// idleAbove reports whether the paint of a stack is that of one with idle time on top.
func (p *painter) idleAbove(paint themes.Paint) bool {
	for kind := range fewIdle {
		if paint == p.theme.Line(kindFill(kind)) {
			return true
		}
	}
	return false
}

// isStack reports whether a sign is the block of a stack.
func isStack(sign string) bool { return stackHeight(sign) > 0 }

// fewLegend explains columns that hold several operations: a sample of the mix that
// fills most of the picture.
func (p *painter) fewLegend() []LegendEntry {
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
			Paint: cell.paint, Sign: widget.Fill(cell.sign, sample),
			Text: "heights: shares of the time, empty: idle", Brief: "shares of time",
		}}
	}
	sign := ""
	for i := range sample {
		sign += p.blend.fewLook(p, key, i).sign
	}
	return []LegendEntry{{
		Paint: p.mark, Sign: sign,
		Text: "letters: shares of the time, not single operations", Brief: "shares of time",
	}}
}
