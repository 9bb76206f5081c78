package schedule

// vPlan makes V-Half and V-Min: the same building block for every micro-batch,
// six slots apart, then moved together where the pipeline fills and drains. All
// operations take one slot. The order of a rank is that of its slots.
//
// Types 0 to 3 are F of chunk 0, F of chunk 1, I of chunk 1, I of chunk 0, in
// the order in which a micro-batch meets them; type 4 is W of either chunk.
type vPlan struct {
	p, m  int
	slots [][5][]int // by rank and type: the slot of each micro-batch, ascending
	grid  [][]int32  // by rank: what is in each slot, 1+type+8*micro-batch; 0: nothing
	limit int        // peak of chunk activations over all ranks
}

// Types of operations of a vPlan.
const (
	vF0 = iota
	vF1
	vI1
	vI0
	vW
)

// newVPlan lays the blocks, first is the slots of micro-batch 0 on a rank, and
// moves them together: once with weight gradients in their own slots, once with
// those in whatever slot is left over.
func newVPlan(o *Order, first func(rank int) [4]int) *vPlan {
	v := &vPlan{p: o.Spec.Ranks, m: o.Spec.MicroBatches}
	v.slots, v.grid = make([][5][]int, v.p), make([][]int32, v.p)
	for j := range v.p {
		for t, at := range first(j) {
			list := make([]int, v.m, 2*v.m)
			for mb := range list {
				list[mb] = at + 6*mb
			}
			v.slots[j][t] = list
		}
		v.slots[j][vW] = make([]int, 0, 2*v.m)
	}
	v.placeWeights()
	v.compact(true)
	v.squeeze()
	v.dropWeights()
	v.compact(false)
	v.placeWeights()
	v.squeeze()
	v.dropWeights()
	return v
}

// code returns the content of a slot.
func code(t, mb int) int32 { return int32(1 + t + 8*mb) }

// draw fills the grid from the slots.
func (v *vPlan) draw() {
	for j := range v.p {
		last := 0
		for t := range v.slots[j] {
			if list := v.slots[j][t]; len(list) > 0 {
				last = max(last, list[len(list)-1])
			}
		}
		v.grid[j] = cleared(v.grid[j], last+1)
		for t := range v.slots[j] {
			for mb, at := range v.slots[j][t] {
				v.grid[j][at] = code(t, mb)
			}
		}
	}
}

// placeWeights puts weight gradients into the idle slots, the rest at the end.
func (v *vPlan) placeWeights() {
	v.draw()
	for j := range v.p {
		waiting := 0
		row := v.grid[j]
		list := v.slots[j][vW]
		for at, c := range row {
			switch t := int(c-1) & 7; {
			case c == 0 && waiting > 0:
				list = append(list, at)
				waiting--
			case c != 0 && (t == vI1 || t == vI0):
				waiting++
			}
		}
		for at := len(row); waiting > 0; at++ {
			list = append(list, at)
			waiting--
		}
		v.slots[j][vW] = list
	}
}

func (v *vPlan) dropWeights() {
	for j := range v.p {
		v.slots[j][vW] = v.slots[j][vW][:0]
	}
}

// inTurn calls visit for every operation by slot, then rank, with the slot that
// it has at the start.
func (v *vPlan) inTurn(visit func(slot, rank, t, mb int)) {
	v.draw()
	rows := make([][]int32, v.p)
	longest := 0
	for j := range v.p {
		rows[j] = append([]int32(nil), v.grid[j]...)
		longest = max(longest, len(rows[j]))
	}
	for slot := range longest {
		for j, row := range rows {
			if slot < len(row) && row[slot] != 0 {
				c := int(row[slot] - 1)
				visit(slot, j, c&7, c>>3)
			}
		}
	}
}

// squeeze starts everything as early as the order of each rank and the inputs
// allow.
func (v *vPlan) squeeze() {
	now := make([]int, v.p)
	v.inTurn(func(_, j, t, mb int) {
		start := now[j]
		if from, remote := v.from(j, t); remote {
			start = max(start, v.slots[from][t][mb]+1)
		}
		v.slots[j][t][mb] = start
		now[j] = start + 1
	})
}

// from returns the rank that an operation's input comes from; false for none.
func (v *vPlan) from(j, t int) (int, bool) {
	switch t {
	case vF0, vI1:
		return j - 1, j > 0
	case vF1, vI0:
		return j + 1, j < v.p-1
	}
	return 0, false
}

// ready returns the first slot after everything that an operation needs.
func (v *vPlan) ready(j, t, mb int) int {
	after := -1
	if from, remote := v.from(j, t); remote {
		after = max(after, v.slots[from][t][mb])
	}
	if t == vW {
		after = max(after, nth(v.slots[j][vI1], v.slots[j][vI0], mb))
	} else if t > vF0 {
		after = max(after, v.slots[j][t-1][mb])
	}
	if mb > 0 {
		after = max(after, v.slots[j][t][mb-1])
	}
	return after + 1
}

// nth is element n of two ascending lists merged.
func nth(a, b []int, n int) int {
	lo, hi := max(0, n+1-len(b)), min(n+1, len(a)) // how many of the first n+1 are from a
	for lo < hi {
		if mid := (lo + hi) / 2; a[mid] < b[n-mid] {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	switch k := n + 1 - lo; {
	case lo == 0:
		return b[k-1]
	case k == 0:
		return a[lo-1]
	default:
		return max(a[lo-1], b[k-1])
	}
}

// write appends the lists of all ranks, with the weight gradients told apart by
// chunk: in an idle slot one of chunk 1 goes first.
func (v *vPlan) write(o *Order) {
	v.draw()
	kinds := [...]OpKind{Forward, Forward, InputGradient, InputGradient}
	chunks := [...]int{0, 1, 1, 0}
	for j := range v.p {
		var waiting, next [2]int // by chunk
		weight := func() bool {
			for c := 1; c >= 0; c-- {
				if waiting[c] > 0 {
					waiting[c]--
					o.add(WeightGradient, c, next[c])
					next[c]++
					return true
				}
			}
			return false
		}
		for _, c := range v.grid[j] {
			if c == 0 {
				weight()
				continue
			}
			t, mb := int(c-1)&7, int(c-1)>>3
			o.add(kinds[t], chunks[t], mb)
			if t == vI1 || t == vI0 {
				waiting[chunks[t]]++
			}
		}
		for weight() {
			continue
		}
		o.endRank()
	}
}
