package timeline

import (
	"meshscope/engine/schedule"
	"meshscope/themes"
)

// blend draws operations narrower than a column: each column has the mix
// of the kinds in it, and of idle time.
type blend struct {
	shares [][4]float32 // by column and kind
	parts  [][4]float32 // the same, divided by the columns that a mean is of
	means  [][4]float32 // by column, with few colours: averaged over its neighbours
	full   []bool       // by column: no idle time
	keys   []uint32     // the looks of the columns
	looks  map[uint32]cell
	seen   map[uint32]int // how many columns look like it, of all that were drawn
}

const (
	// blendLevels is how finely shares are told apart.
	blendLevels = 8
	// blendReach is how many columns to each side are averaged where there is
	// no idle time: columns and operations do not line up, and without it the
	// steady state flickers between neighbouring tints.
	blendReach = 2
)

func newBlend(w int) blend {
	return blend{
		shares: make([][4]float32, w), parts: make([][4]float32, w), means: make([][4]float32, w),
		full: make([]bool, w), keys: make([]uint32, w), looks: map[uint32]cell{}, seen: map[uint32]int{},
	}
}

// span draws operations from the given one on. Most lie inside one column.
func (b *blend) span(p *painter, s interval, k, end int) {
	shares := b.shares[:s.cols]
	clear(shares)
	scale := float64(s.cols) / (s.to - s.from)
	ops, begins, ends := p.line.Order.Ops[:end], p.line.Begin[:end], p.line.End[:end]
	paired := k > 0 && k < end && ops[k-1].Paired()
	column, from, to := &[4]float32{}, 0.0, 0.0 // none yet
	for ; k < len(ops) && begins[k] < s.to; k++ {
		op := ops[k]
		x, y := (begins[k]-s.from)*scale, (ends[k]-s.from)*scale
		half := paired || op.Paired() // one of two operations at the same time
		paired = op.Paired()
		if x >= from && y < to && !half {
			column[op.Kind()] += float32(y - x)
			continue
		}
		last := b.spread(shares, op.Kind(), max(0, x), min(float64(s.cols), y), half)
		if last < len(shares) {
			column, from, to = &shares[last], float64(last), float64(last+1)
		}
	}
	b.paint(p, s)
}

// spread adds an operation to the columns that it is in, from x to y, and returns the last.
func (b *blend) spread(shares [][4]float32, kind schedule.OpKind, x, y float64, half bool) int {
	weight := float32(1)
	if half {
		weight = 0.5
	}
	i, last := int(x), int(y)
	if i == last && i < len(shares) {
		shares[i][kind] += weight * float32(y-x)
		return last
	}
	for ; i <= last && i < len(shares); i++ {
		shares[i][kind] += weight * float32(min(y, float64(i+1))-max(x, float64(i)))
	}
	return last
}

// paint turns the shares into cells and names the stretches that are long enough.
func (b *blend) paint(p *painter, s interval) {
	if !p.mixes() {
		b.few(p, s)
		return
	}
	cells, keys := p.cells[s.col:s.col+s.cols], b.keys[:s.cols]
	b.round(keys)
	for i := 0; i < len(keys); {
		j, key := i, keys[i]
		for j < len(keys) && keys[j] == key {
			j++
		}
		if key != 0 {
			b.seen[key] += j - i
			cell := b.look(p, key, 0)
			for k := i; k < j; k++ {
				cells[k] = cell
			}
		}
		i = j
	}
	for i := 0; i < len(cells); {
		j, name := i, blendName(keys[i])
		for j < len(cells) && blendName(keys[j]) == name {
			j++
		}
		if name != "" && j-i >= len(name)+2 {
			for n := range len(name) {
				cells[i+n].sign = name[n : n+1]
			}
		}
		i = j
	}
}

// round rounds the shares of each column, averaged over its neighbours as long
// as none of them is idle.
func (b *blend) round(keys []uint32) {
	const window = 2*blendReach + 1
	shares, parts, full := b.shares[:len(keys)], b.parts[:len(keys)], b.full[:len(keys)]
	for i := range shares {
		s := &shares[i]
		full[i] = s[0]+s[1]+s[2]+s[3] > 1-1.0/(2*blendLevels)
		parts[i] = [4]float32{s[0] / window, s[1] / window, s[2] / window, s[3] / window}
	}
	for i := range keys {
		if !full[i] {
			keys[i] = blendKey(&shares[i])
			continue
		}
		from, to := i, i+1
		for from > 0 && i-from < blendReach && full[from-1] {
			from--
		}
		for to < len(shares) && to-i <= blendReach && full[to] {
			to++
		}
		var mean [4]float32
		if to-from == window {
			for k := from; k < to; k++ {
				s := &parts[k]
				mean[0], mean[1], mean[2], mean[3] = mean[0]+s[0], mean[1]+s[1], mean[2]+s[2], mean[3]+s[3]
			}
		} else {
			of := float32(to - from)
			for k := from; k < to; k++ {
				s := &shares[k]
				mean[0], mean[1], mean[2], mean[3] = mean[0]+s[0]/of, mean[1]+s[1]/of, mean[2]+s[2]/of,
					mean[3]+s[3]/of
			}
		}
		keys[i] = blendKey(&mean)
	}
}

// blendKey packs the rounded shares, four bits each; 0 is idle.
func blendKey(shares *[4]float32) uint32 {
	key := uint32(0)
	for kind, s := range shares {
		level := min(blendLevels, uint32(max(0, s)*blendLevels+0.5))
		key |= level << (4 * kind)
	}
	return key
}

// blendLevel returns one share of a key.
func blendLevel(key uint32, kind schedule.OpKind) int { return int(key>>(4*kind)) & 15 }

// blendName returns the letters of the kinds that matter in a column: those with a
// quarter of its work or more.
func blendName(key uint32) string {
	work := 0
	for kind := range schedule.WeightGradient + 1 {
		work += blendLevel(key, kind)
	}
	kinds := 0
	for kind := range schedule.WeightGradient + 1 {
		if level := blendLevel(key, kind); level > 0 && 4*level >= work {
			kinds |= 1 << kind
		}
	}
	return [16]string{
		"", "F", "B", "FB", "I", "FI", "BI", "FBI",
		"W", "FW", "BW", "FBW", "IW", "FIW", "BIW", "FBIW",
	}[kinds]
}

// look returns the cell of a mix in a column of the picture, made once for each.
func (b *blend) look(p *painter, key uint32, column int) cell {
	if !p.mixes() {
		return b.fewLook(p, key, column)
	}
	cell, ok := b.looks[key]
	if !ok {
		cell = mixedCell(p, key)
		b.looks[key] = cell
	}
	return cell
}

// mixedCell returns the kinds' colours and the ground's, mixed in the shares of tint: it names the
// kinds of a column, not how much each has.
func mixedCell(p *painter, key uint32) cell {
	shares := make([]themes.Share, 0, fewIdle+1)
	work := float64(0)
	for kind, share := range tint(key) {
		work += share
		shares = append(shares, themes.Share{Fill: kindFill(kind), Share: share})
	}
	shares = append(shares, themes.Share{Fill: themes.Idle, Share: max(0, blendLevels-work)})
	return cell{paint: p.theme.Blend(shares...), sign: " "}
}

// tint returns the shares that a column is painted with, in eighths. What is not in its name
// does not count, where the kinds that are have alike shares they count as equal, and a
// single eighth of waiting gives way: the table of 256 colours turns an eighth more or less
// into another hue, so that one mix would be a patchwork and have no colour of its own in
// the legend.
func tint(key uint32) [fewIdle]float64 {
	const alike = 3 // eighths
	var shares [fewIdle]float64
	work, sum, named, low, high := 0, 0, 0, blendLevels, 0
	for kind := range schedule.WeightGradient + 1 {
		work += blendLevel(key, kind)
	}
	for kind := range schedule.WeightGradient + 1 {
		if level := blendLevel(key, kind); level > 0 && 4*level >= work {
			shares[kind] = float64(level)
			sum, named, low, high = sum+level, named+1, min(low, level), max(high, level)
		}
	}
	if work == blendLevels-1 {
		work = blendLevels
	}
	for kind, share := range shares {
		switch {
		case share == 0:
		case high-low <= alike:
			shares[kind] = float64(work) / float64(named)
		default:
			shares[kind] = share * float64(work) / float64(sum)
		}
	}
	return shares
}
