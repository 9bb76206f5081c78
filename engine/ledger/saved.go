package ledger

import "meshscope/engine/model"

// Adapters returns the parameters of all adapters.
func Adapters(p *model.Program, w *Way) (sum int64) {
	for i := range p.Layers {
		l := &p.Layers[i]
		block := lowerBlock(l, p.Model(), w, new(Rates), w.weight())
		for j, r := range block.bound {
			if x := &block.external[j]; x.param && !x.frozen {
				sum += block.regs[r].n * int64(l.Count)
			}
		}
	}
	return sum
}

// Saved returns the bytes that each operation of a layer keeps from its forward to its backward; of what
// several keep the first has it. What full checkpointing drops is in it. Of a compiled block it is what eager
// code keeps, less what inductor does not.
func Saved(p *model.Program, l *model.Layer, w *Way) []int64 {
	m, rates, e := p.Model(), new(Rates), w.weight()
	block := lowerBlock(l, m, w, rates, e)
	if other := block.regs[block.results[0]].e; other != e { // the first layer alone differs
		block = lowerBlock(l, m, w, rates, other)
	}
	by := make([]int64, len(l.Ops))
	// of the storage that it views
	holder, wants := make([]reg, len(block.regs)), make([]bool, len(block.regs))
	counted := make([]bool, len(block.regs))
	for r := range holder {
		holder[r] = reg(r)
	}
	for i, r := range block.bound {
		x := block.external[i]
		wants[r], counted[r] = i == 0 || x.param && !x.frozen, i > 0 // weights and tables are no activations
	}
	keep := func(o *op, r reg) {
		if r = holder[r]; !counted[r] {
			counted[r] = true
			by[o.of] += (block.regs[r].bytes() + blockBytes - 1) / blockBytes * blockBytes
		}
	}
	if w.Checkpoint == Selective {
		keep(&block.ops[0], block.bound[0])
	}
	last := -1 // product: compiled code keeps its output under no kind of checkpointing
	for i := range block.ops {
		if w.Compile && block.ops[i].kept {
			last = i
		}
	}
	for i := range block.ops {
		o := &block.ops[i]
		wanted := false
		for _, r := range o.in {
			wanted = wanted || wants[r]
		}
		for _, r := range o.out {
			if wants[r] = wanted; o.view {
				holder[r] = holder[o.in[0]]
			}
			if o.kept && i != last && w.Checkpoint == Selective {
				keep(o, r)
			}
			counted[r] = counted[r] || w.Compile && o.name == "silu" // again in the backward's kernel
		}
		if w.Compile && w.Checkpoint == Selective && o.name == "norm" {
			keep(o, o.out[1]) // a number for each row
		}
		if !wanted || w.Checkpoint == Selective {
			continue
		}
		for _, s := range o.saves {
			if s.when < 0 || wants[o.in[s.when]] {
				keep(o, o.in[s.in])
			}
		}
		for _, k := range o.keeps {
			keep(o, o.out[k])
		}
	}
	return by
}
