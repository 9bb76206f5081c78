package explain

import (
	"fmt"
	"strconv"
	"strings"

	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

const gpuSource = "the GPU's datasheet and what its driver reports, see presets gpus"

func (b *Book) memoryFigure(rest string) *Explanation {
	m := b.r.Memory
	id := "memory." + rest
	switch rest {
	case "peak":
		return b.explain(id, about{
			name: "Memory of the fullest pipeline rank", symbol: "peak", unit: Memory, source: "the largest total of all ranks",
			omits: "fragmentation beyond the allocator's slack",
		}, func() *Expr {
			var all []*Expr
			for r := range m.Ranks {
				all = append(all, b.rankTerm(r, "total"))
			}
			return maxOf(all...)
		})
	case "usable", "capacity":
		name, value := "Memory that the framework can allocate", m.Usable
		if rest == "capacity" {
			name, value = "Memory that the GPU is sold with", m.Capacity
		}
		return b.explain(id, about{name: name, symbol: rest, unit: Memory, source: gpuSource}, func() *Expr { return num(rest, float64(value), Memory) })
	}
	_, rest, _ = strings.Cut(rest, ".")
	number, term, _ := strings.Cut(rest, ".")
	r, err := strconv.Atoi(number)
	if err != nil || r < 0 || r >= len(m.Ranks) {
		return nil
	}
	return b.rank(r, term)
}

func (b *Book) rankTerm(r int, term string) *Expr { return ref(b.rank(r, term)) }

// rankName is the name, symbol and source of a term of a rank's memory.
func (b *Book) rankName(r int, term string) about {
	outside := from(b.w.Memory.Fitted.From)
	a := about{symbol: strings.ReplaceAll(term, "-", " "), unit: Memory, source: "the sum of its parts"}
	switch term {
	case "total":
		a.name, a.symbol = "Memory", fmt.Sprintf("total of rank %d", r)
	case "allocated":
		a.name = "Allocated memory at the peak"
	case "weights", "gradients", "optimizer":
		a.name, a.source = "Memory of "+term, "ZeRO (arXiv 1910.02054) section 3.1: bytes per parameter times parameters"
		if term == "optimizer" {
			a.name = "Memory of the optimizer's state"
		}
	case "activations":
		a.name, a.source = "Activations kept at the peak", "micro-batches in flight (schedule) times what a stage keeps of one"
	case "weight-inputs":
		a.name, a.source = "Part of the activations that only waiting weight gradients need", "zero bubble (arXiv 2401.10241)"
	case "logits":
		a.name, a.source = "Logits of the head and the loss, while they are alive", "counted tensor by tensor for the stack"
	case "buffers":
		a.name, a.source = "Buffers and temporaries of the stack", "counted tensor by tensor for the stack"
		a.omits = "what libraries allocate outside the framework"
	case "overhead":
		a.name = "Memory beyond allocated tensors"
	case "overhead.allocator-slack":
		a.name, a.source = "Slack of the allocator", outside
	case "overhead.driver-context":
		a.name, a.source = "Driver context", outside
	case "overhead.communicators":
		a.name, a.source = "Communicators and libraries", outside
	case "offloaded":
		a.name, a.source = "Optimizer state kept in host memory", "bytes per parameter times parameters"
	case "in-flight":
		a.name, a.unit, a.source, a.simulated = "Micro-batches in flight at the peak", Count, "counted over the order of the schedule "+string(b.w.Setup.Schedule), true
	case "parameters":
		a.name, a.unit, a.source = "Parameters on one GPU", Count, sourceCut
	case "embedding-parameters":
		a.name, a.unit, a.source = "Parameters of embedding and head on one GPU", Count, sourceCut
	case "layers":
		a.name, a.unit, a.source = "Transformer layers", Count, "how layers are laid on stages (--split)"
	}
	a.name += fmt.Sprintf(", pipeline rank %d", r)
	return a
}

func (b *Book) rank(r int, term string) *Explanation {
	a := b.rankName(r, term)
	return b.explain(fmt.Sprintf("memory.ranks.%d.%s", r, term), a, func() *Expr { return b.rankFormula(r, term) })
}

func (b *Book) rankFormula(r int, term string) *Expr {
	sum := func(terms ...string) *Expr {
		var list []*Expr
		for _, t := range terms {
			list = append(list, b.rankTerm(r, t))
		}
		return add(list...)
	}
	m := &b.r.Memory.Ranks[r]
	offload := b.w.Setup.Offload == recipe.OffloadOptimizer
	switch term {
	case "total":
		return sum("allocated", "overhead")
	case "allocated":
		return sum("weights", "gradients", "optimizer", "activations", "logits", "buffers")
	case "weights", "gradients":
		return b.static(r, term)
	case "optimizer":
		if offload {
			return lit(0)
		}
		return b.static(r, term)
	case "offloaded":
		if !offload {
			return lit(0)
		}
		return b.static(r, "optimizer")
	case "overhead":
		return sum("overhead.allocator-slack", "overhead.driver-context", "overhead.communicators")
	case "in-flight":
		return b.inFlight(r)
	case "parameters":
		if b.w.Parameters[r].Expert > 0 {
			return add(b.rankParameters(r, false), b.rankParameters(r, true))
		}
		return b.rankParameters(r, false)
	case "embedding-parameters":
		return b.embeddingParameters(r)
	case "layers":
		o := b.w.Memory.Order
		var list []*Expr
		for c := range o.Chunks() {
			stage := o.StageOf(r, c)
			list = append(list, count(fmt.Sprintf("layers of stage %d", stage), b.w.Stages[stage].Layers()))
		}
		return add(list...)
	case "overhead.allocator-slack", "overhead.driver-context", "overhead.communicators":
		return b.overhead(r, term)
	case "activations", "weight-inputs", "logits", "buffers":
		return b.alive(r, term)
	}
	return num(term, float64(m.Total), Memory)
}

func (b *Book) overhead(r int, term string) *Expr {
	allocated := func(share float64) *Expr { return mul(num("share", share, Share), b.rankTerm(r, "allocated")) }
	f := &b.w.Memory.Fitted
	switch term {
	case "overhead.allocator-slack":
		return allocated(f.Slack)
	case "overhead.driver-context":
		return num("fixed", float64(f.Context), Memory)
	}
	fixed := num("fixed", float64(f.Communicators), Memory)
	if f.CommunicatorsShare > 0 {
		return add(fixed, allocated(f.CommunicatorsShare))
	}
	return fixed
}

// moment is what a rank holds at its peak, chunk by chunk.
type moment struct {
	live, waiting []int // micro-batches that hold activations, and weight inputs only
	running       []schedule.Op
}

// peak walks the rank's order to the operation at which it needs most.
func (b *Book) peak(r int) moment {
	o := b.w.Memory.Order
	per := make([]schedule.ChunkBytes, o.Chunks())
	for c := range per {
		per[c] = b.r.Memory.Stages[o.StageOf(r, c)].Chunk()
	}
	at := o.PeakBytes(r, per).At
	m := moment{live: make([]int, o.Chunks()), waiting: make([]int, o.Chunks())}
	ops := o.Rank(r)
	for _, op := range ops[:at] {
		switch c := op.Chunk(); op.Kind() {
		case schedule.Forward:
			m.live[c]++
		case schedule.Backward:
			m.live[c]--
		case schedule.InputGradient:
			m.live[c]--
			m.waiting[c]++
		case schedule.WeightGradient:
			m.waiting[c]--
		}
	}
	for k := at; k == at || k == at+1 && ops[at].Paired(); k++ {
		m.running = append(m.running, ops[k])
		if ops[k].Kind() == schedule.Forward {
			m.live[ops[k].Chunk()]++
		}
	}
	return m
}

func (b *Book) inFlight(r int) *Expr {
	o := b.w.Memory.Order
	chunks := count("most chunk activations alive", o.PeakInFlight(r))
	if b.w.Setup.VPP == 1 {
		return chunks
	}
	return div(chunks, count("v", b.w.Setup.VPP))
}

// alive are the terms that come and go with the micro-batches. Where the
// optimizer's update needs more than the passes, it is the peak.
func (b *Book) alive(r int, term string) *Expr {
	o := b.w.Memory.Order
	m := b.peak(r)
	var sum []*Expr
	onStage := func(n int, what string, c int) {
		if n > 0 {
			stage := o.StageOf(r, c)
			sum = append(sum, mul(count(fmt.Sprintf("micro-batches on stage %d", stage), n), b.stageBytes(stage, what)))
		}
	}
	if term != "weight-inputs" {
		if update, wins := b.update(r); wins {
			if term != "buffers" {
				return lit(0)
			}
			return add(update, b.persistent(r))
		}
	}
	for c := range m.live {
		switch term {
		case "activations":
			onStage(m.live[c], "activations", c)
			onStage(m.waiting[c], "weight-inputs", c)
		case "weight-inputs":
			onStage(m.waiting[c], "weight-inputs", c)
		}
	}
	if term == "logits" || term == "buffers" {
		for _, op := range m.running {
			stage := o.StageOf(r, op.Chunk())
			switch kind := op.Kind(); {
			case kind == schedule.WeightGradient:
			case term == "logits":
				sum = append(sum, b.stageBytes(stage, "logits"))
			case kind == schedule.Forward:
				sum = append(sum, b.stageBytes(stage, "forward-temporaries"))
			default:
				sum = append(sum, b.stageBytes(stage, "backward-temporaries"))
			}
		}
		if term == "buffers" {
			sum = append(sum, b.persistent(r))
		}
	}
	return add(sum...)
}

// update is what the optimizer's update makes, and whether that is the peak.
func (b *Book) update(r int) (*Expr, bool) {
	update := b.w.Stack.Update(b.w.Memory, b.w.Parameters[r])
	if update == 0 {
		return nil, false
	}
	m := &b.r.Memory.Ranks[r]
	if m.Activations != 0 || m.Logits != 0 || m.Buffers != update+b.w.Stack.Buffers(b.w.Memory, r, b.w.Parameters[r]) {
		return nil, false
	}
	params := b.rankParameters(r, false)
	if b.w.Parameters[r].Expert > 0 {
		params = add(params, b.rankParameters(r, true))
	}
	return mul(count("bytes of the update per parameter", b.w.Memory.Fitted.Kept.Update), params), true
}

func (b *Book) persistent(r int) *Expr {
	return b.term(fmt.Sprintf("memory.ranks.%d.buffers.persistent", r), about{
		name: fmt.Sprintf("Buffers that stay over the step, pipeline rank %d", r), symbol: "persistent buffers", unit: Memory,
		source: "what the stack " + string(b.w.Setup.Stack.Resolve()) + " keeps: gathered weights, gradient buckets, dummy gradients of distinct shapes",
		omits:  "what libraries allocate outside the framework",
	}, func() *Expr { return b.buffers(r) })
}
