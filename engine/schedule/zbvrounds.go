package schedule

// run plans the whole step; ok is false where the greedy rules ask for
// something that is not ready or does not fit.
func (z *zbvSearch) run(stop func() bool) (ok, stopped bool) {
	if !z.warmUp() {
		return false, false
	}
	for range 2 * z.m {
		if stop != nil && stop() {
			return false, true
		}
		if !z.inputs() || !z.forwards() {
			return false, false
		}
	}
	for j := range z.p {
		for len(z.waiting[j]) > 0 {
			if !z.weight(j) {
				return false, false
			}
		}
		if len(z.lists[j]) != 6*z.m {
			return false, false
		}
	}
	return true, false
}

// warmUp runs the forwards before the first input gradient: first as many on
// the first chunk as fit before the micro-batch comes back, then both chunks in
// turn until every rank has as many as the one before.
func (z *zbvSearch) warmUp() bool {
	for j := range z.p {
		if !z.put(zbF, 0, j) {
			return false
		}
	}
	for j := z.p - 1; j >= 0; j-- {
		for j < z.p-1 && z.done[zbF][0][j] < z.m &&
			z.held[j]+float64(1+j)*(z.needs(zbF, 0, j)+z.needs(zbF, 1, j)) <= z.limit[j] &&
			z.now[j]+z.cost(zbF, 0, j) <= z.end[zbF][1][(j+1)*z.m]+z.t.latency {
			for k := range j + 1 {
				if !z.put(zbF, 0, k) {
					return false
				}
			}
		}
		if !z.put(zbF, 1, j) {
			return false
		}
	}
	ch := 0
	forwards := z.done[zbF]
	for j := 1; j < z.p; j++ {
		for forwards[0][j]+forwards[1][j] < forwards[0][j-1]+forwards[1][j-1] ||
			forwards[1][j] <= forwards[1][j-1] && forwards[1][j-1] < z.m {
			for k := z.p - 1; k >= j; k-- {
				if forwards[ch][k] < z.m && !z.put(zbF, ch, k) {
					return false
				}
			}
			ch = 1 - ch
		}
	}
	return true
}

// inputs runs one input gradient on every rank: ch 1 where it is ready, from
// the last rank up, then ch 0 from the first rank down.
func (z *zbvSearch) inputs() bool {
	z.first, z.second = z.first[:0], z.second[:0]
	for j := range z.p {
		i0, i1 := z.done[zbI][0][j], z.done[zbI][1][j]
		if i1 < i0 && (j == z.p-1 || i0 >= z.m || z.end[zbI][1][(j+1)*z.m+i1] >= 0) {
			z.first = append(z.first, j)
		} else {
			z.second = append(z.second, j)
		}
	}
	for k := len(z.first) - 1; k >= 0; k-- {
		z.fill(zbI, 1, z.first[k], true)
		if !z.put(zbI, 1, z.first[k]) {
			return false
		}
	}
	for _, j := range z.second {
		if z.done[zbI][0][j] >= z.m {
			return false
		}
		z.fill(zbI, 0, j, z.fillI)
		if !z.put(zbI, 0, j) {
			return false
		}
	}
	return true
}

// forwards runs one forward on every rank that has one ready.
func (z *zbvSearch) forwards() bool {
	for j := range z.p {
		f0, f1 := z.done[zbF][0][j], z.done[zbF][1][j]
		if f1 >= z.m {
			continue
		}
		ch := 0
		switch {
		case f1 >= f0:
		case j == z.p-1 || z.end[zbF][1][(j+1)*z.m+f1] >= 0:
			ch = 1
		case f0 < z.m && (j == 0 || z.end[zbF][0][(j-1)*z.m+f0] >= 0):
		default:
			continue
		}
		for z.held[j]+z.needs(zbF, ch, j) > z.limit[j] {
			if !z.weight(j) {
				return false
			}
		}
		z.fill(zbF, ch, j, z.fillF)
		if !z.put(zbF, ch, j) {
			return false
		}
	}
	return true
}
