package search

import "slices"

// Tried lists the values that a search of the problem goes through, in ascending
// order: what a Space with them in place of its empty lists would list.
func Tried(p Problem) Space {
	c := p.choices()
	out := Space{
		SP: c.sp, Recompute: c.recompute, ZeRO: c.zero, MBS: c.mbs, Others: p.Space.Others,
		Splits: p.Space.Splits, Refused: p.Space.Refused,
	}
	for _, k := range c.kinds {
		out.Schedules = append(out.Schedules, k.Kind)
	}
	seen := map[plane]bool{}
	for _, one := range p.planes(0) {
		for _, field := range [...]struct {
			list  *[]int
			value int
			key   plane
		}{
			{&out.GPUs, one.gpus, plane{gpus: one.gpus}},
			{&out.GBS, one.gbs, plane{gbs: one.gbs}},
			{&out.Seq, one.seq, plane{seq: one.seq}},
			{&out.TP, one.tp, plane{tp: one.tp}},
			{&out.PP, one.pp, plane{pp: one.pp}},
			{&out.CP, one.cp, plane{cp: one.cp}},
			{&out.EP, one.ep, plane{ep: one.ep}},
			{&out.ETP, one.etp, plane{etp: one.etp}},
		} {
			if !seen[field.key] {
				seen[field.key] = true
				*field.list = append(*field.list, field.value)
			}
		}
	}
	for _, pp := range out.PP {
		for i := range c.kinds {
			for _, v := range p.chunks(&c.kinds[i], pp) {
				if !slices.Contains(out.VPP, v) {
					out.VPP = append(out.VPP, v)
				}
			}
		}
	}
	for _, list := range []*[]int{
		&out.GPUs, &out.GBS, &out.Seq, &out.TP, &out.PP, &out.VPP, &out.CP, &out.EP,
		&out.ETP, &out.ZeRO, &out.MBS,
	} {
		*list = slices.Sorted(slices.Values(*list))
	}
	return out
}
