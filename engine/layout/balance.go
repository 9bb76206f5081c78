package layout

import "meshscope/engine/model"

// PartitionByCost says which layers stand on which stage where a launcher
// balances work instead of counting layers, as nanotron does (build_model in
// src/nanotron/models/base.py at 01de8d9): blocks are distributed in order, and a
// stage is full once the work so far reaches its share. A layer costs its
// matrices with four attention projections of full width, the head its own, the
// embedding nothing. The head always stands on the last stage, and where stages
// before it would stay empty, layers move down to them. A split that was said
// is kept. It appends to into[:0].
func (l *Layout) PartitionByCost(p *model.Program, into []Stage) ([]Stage, error) {
	n, m := l.Stages(), p.Model()
	if l.Split != "" || n < 2 {
		return l.Partition(p, into)
	}
	total := float64(m.Vocab) * float64(m.Hidden)
	work := layerWork(p)
	for i := range m.Layers {
		total += work[p.At(i)]
	}
	stages := append(into[:0], Stage{}) // layers are counted as the first kind
	done := 0.0
	for i := range m.Layers {
		stages[len(stages)-1].Of[0]++
		done += work[p.At(i)]
		// A share reached but for rounding counts as reached.
		const rounding = 1e-9
		share := total * float64(len(stages)) / float64(n)
		if len(stages) < n && done >= share*(1-rounding) {
			stages = append(stages, Stage{})
		}
	}
	for len(stages) < n {
		stages = spread(stages, n)
	}
	fillGaps(stages[:n-1])
	place(p, stages)
	return stages, nil
}

// fillGaps gives a stage without layers one of the nearest earlier stage that has
// two. Only the last stage, with the head, may have none.
func fillGaps(stages []Stage) {
	for i := range stages {
		for j := i - 1; j >= 0 && stages[i].Of[0] == 0; j-- {
			if stages[j].Of[0] > 1 {
				stages[j].Of[0]--
				stages[i].Of[0]++
			}
		}
	}
}

// spread opens one more of n stages: the last one for the head alone, others
// with a layer of the last stage that has two.
func spread(stages []Stage, n int) []Stage {
	if len(stages) == n-1 {
		return append(stages, Stage{})
	}
	for i := len(stages) - 1; i >= 0; i-- {
		if stages[i].Of[0] > 1 {
			stages[i].Of[0]--
			return append(stages, Stage{Of: Counts{1}})
		}
	}
	return append(stages, Stage{}) // fewer layers than stages, which is illegal
}

// layerWork returns the work of each kind of layer: four times the output projection of attention, and
// three times what comes down from the inner width, of the experts that a token goes to.
func layerWork(p *model.Program) (work [model.MaxKinds]float64) {
	for k := range p.Layers {
		l := &p.Layers[k]
		for i := range l.Ops {
			switch o := &l.Ops[i]; {
			case !o.IsProduct() || o.Part == model.PartExtra || !l.SplitIn(o) || l.SplitOut(o):
			case o.Part == model.PartAttention:
				work[k] += 2 * l.FLOPs(o).V
			default:
				work[k] += 1.5 * l.FLOPs(o).V
			}
		}
	}
	return work
}
