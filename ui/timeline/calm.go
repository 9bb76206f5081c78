package timeline

import "math"

// fewReach is how many columns to each side are averaged where colours are few:
// there is no tint between two others, so that shares that change from column to
// column would be all that one sees.
const fewReach = 3

// calm rounds the shares of each column, averaged over its neighbours in the same
// stretch. With snap set, columns at the end of a stretch that are partly idle become
// the one or the other.
func (b *blend) calm(keys []uint32, snap bool) {
	shares := b.shares[:len(keys)]
	clear(keys)
	for from := 0; from < len(keys); {
		to := stretch(shares, from)
		if to == from {
			from++
			continue
		}
		calmStretch(keys[from:to], shares[from:to], b.means[from:to])
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
// averaged with what is next to it: forwards before the first backward, not one of two
// alternating kinds that happens to fill a column.
const pureLeast = 3

// Looks of a column in addition to the one kind in it.
const (
	lookIdle  = -1
	lookMixed = -2
)

// looksLike returns the only kind in a column, or that it is idle or has several.
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

// stretch returns the end of what is averaged together from a column on: columns of one
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

// pureRun returns the look of a column and how many from it on share it. Single idle
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

// partly reports whether a column is idle for a part of its time.
func partly(s *[4]float32) bool { return s[0]+s[1]+s[2]+s[3] < 1-1.0/(2*blendLevels) }

// calmStretch averages and rounds. Columns that are partly idle because the stretch
// begins or ends in them represent themselves.
func calmStretch(keys []uint32, shares, means [][4]float32) {
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
		means[i] = mean
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
