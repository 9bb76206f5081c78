package layout

import "meshscope/engine/model"

// PartitionByCost says which layers stand on which stage where a launcher
// balances work instead of counting layers, as nanotron does (build_model in
// src/nanotron/models/base.py at 01de8d9): blocks are dealt out in order, and a
// stage is full once the work so far reaches its share. A layer costs its
// matrices with four attention projections of full width, the head its own, the
// embedding nothing. Where that leaves a stage without anything, or the head
// off the last one, the balanced partition is taken. It appends to into[:0].
func (l *Layout) PartitionByCost(m *model.Model, into []Stage) ([]Stage, error) {
	n := l.Stages()
	if l.Split != "" || n < 2 {
		return l.Partition(m, into)
	}
	head := float64(m.Vocab) * float64(m.Hidden)
	total := head
	for i := range m.Layers {
		total += layerWork(m, i)
	}
	stages := append(into[:0], Stage{Embedding: true})
	done := 0.0
	for i := range m.Layers {
		last := &stages[len(stages)-1]
		if m.MoELayer(i) {
			last.MoE++
		} else {
			last.Dense++
		}
		done += layerWork(m, i)
		// A share reached but for rounding counts as reached.
		const rounding = 1e-9
		if share := total * float64(len(stages)) / float64(n); len(stages) < n && done >= share*(1-rounding) {
			stages = append(stages, Stage{})
		}
	}
	last := &stages[len(stages)-1]
	if last.Head = true; len(stages) < n {
		return l.Partition(m, stages)
	}
	return stages, nil
}

func layerWork(m *model.Model, i int) float64 {
	width := float64(m.FFN)
	if m.MoELayer(i) {
		width = float64(m.SharedFFN + m.TopK*m.ExpertFFN)
	}
	return float64(m.Hidden) * (4*float64(m.Heads)*float64(m.HeadDim) + 3*width)
}
