package memory

import (
	"strconv"

	"meshscope/engine/record"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
)

// peak finds the operation at which the rank needs most. With one chunk per
// rank and whole backwards no walk is needed: whatever runs at the largest
// number of live micro-batches runs both as a forward and as a backward.
func (e *Evaluator) peak(in *Input, note note, stages []StageMemory, r int, out *Rank) {
	inFlight := in.Order.PeakInFlight(r)
	out.InFlight = float64(inFlight) / float64(in.Layout.VPP)
	note.inFlight(in, out.InFlight, inFlight)
	if e.largest {
		stage := in.Order.StageOf(r, 0)
		mem := &stages[stage]
		out.Activations = units.Bytes(e.chunks[0].Activation * float64(inFlight))
		note.stage("activations", stage, inFlight, "activations")
		note.temporaries(mem, stage, mem.Forward == mem.Backward ||
			e.chunks[0].Forward > e.chunks[0].Backward, out)
		return
	}
	peak := in.Order.PeakBytes(r, e.chunks)
	note.recordTemporaries(in, r, peak.At)
	ops := in.Order.Rank(r)[peak.At:]
	out.Activations, out.WeightInputs = units.Bytes(peak.Bytes), units.Bytes(peak.WeightInputs)
	for k := 0; k == 0 || k == 1 && ops[0].Paired(); k++ {
		if kind := ops[k].Kind(); kind != schedule.WeightGradient {
			stage := in.Order.StageOf(r, ops[k].Chunk())
			note.temporaries(&stages[stage], stage, kind == schedule.Forward, out)
		}
	}
	out.Activations = max(0, out.Activations-out.Logits-out.Buffers)
}

// temporaries adds what a forward or backward of a stage needs in addition to activations.
func (n note) temporaries(mem *StageMemory, stage int, forward bool, out *Rank) {
	out.Logits += mem.Logits
	n.stage("logits", stage, 1, "logits")
	if forward {
		out.Buffers += mem.Forward
		n.stage("buffers", stage, 1, "forward-temporaries")
	} else {
		out.Buffers += mem.Backward
		n.stage("buffers", stage, 1, "backward-temporaries")
	}
}

// stage adds so many times a term of a stage to a sum of its rank.
func (n note) stage(sum string, stage, times int, term string) {
	if n.rec != nil && times != 0 { // short enough to be inlined where nobody asks
		n.ofStage(sum, stage, times, term)
	}
}

func (n note) ofStage(sum string, stage, times int, term string) {
	of := strconv.Itoa(stage)
	figure := record.Ref("stage." + of + "." + term)
	if times == 1 && sum != "activations" {
		n.term(sum, figure)
		return
	}
	name := "micro_batches_on_stage_" + of
	if sum != "activations" || term != "activations" {
		name = "weight_gradients_that_wait_on_stage_" + of
	}
	n.times(sum, times, name, figure)
}

// recordTemporaries notes what a rank holds at the operation at which it needs most.
func (n note) recordTemporaries(in *Input, r, at int) {
	if !n.rec.On() {
		return
	}
	inFlight, waiting := aliveAt(in, r, at)
	for c := range inFlight {
		stage := in.Order.StageOf(r, c)
		n.stage("activations", stage, inFlight[c], "activations")
		n.stage("activations", stage, waiting[c], "weight-inputs")
		n.stage("weight-inputs", stage, waiting[c], "weight-inputs")
	}
}

// offloadedLayers returns what the layers of a rank keep in host memory at most: of each micro-batch from its
// forward to its backward.
func (e *Evaluator) offloadedLayers(in *Input, note note, stages []StageMemory, r int) units.Bytes {
	e.chunks = e.chunks[:0]
	for c := range in.Order.Chunks() {
		mem := &stages[in.Order.StageOf(r, c)]
		e.chunks = append(e.chunks, schedule.ChunkBytes{Activation: float64(mem.Offloaded)})
	}
	peak := in.Order.PeakBytes(r, e.chunks)
	if note.rec.On() {
		inFlight, _ := aliveAt(in, r, peak.At)
		for c, n := range inFlight {
			if stage := strconv.Itoa(in.Order.StageOf(r, c)); e.chunks[c].Activation > 0 {
				note.times("offloaded", n, "micro_batches_in_host_memory_of_stage_"+stage,
					record.Ref("stage."+stage+".offloaded"))
			}
		}
	}
	return units.Bytes(peak.Bytes)
}

// aliveAt returns of how many micro-batches the chunks of a rank hold activations at an operation, and of how
// many only what their weight gradients wait for.
func aliveAt(in *Input, r, at int) (inFlight, waiting []int) {
	inFlight, waiting = make([]int, in.Order.Chunks()), make([]int, in.Order.Chunks())
	ops := in.Order.Rank(r)
	for _, op := range ops[:at] {
		switch c := op.Chunk(); op.Kind() {
		case schedule.Forward:
			inFlight[c]++
		case schedule.Backward:
			inFlight[c]--
		case schedule.InputGradient:
			inFlight[c]--
			waiting[c]++
		case schedule.WeightGradient:
			waiting[c]--
		}
	}
	for k := at; k == at || k == at+1 && ops[at].Paired(); k++ {
		if ops[k].Kind() == schedule.Forward {
			inFlight[ops[k].Chunk()]++
		}
	}
	return inFlight, waiting
}

// layers records a stage's layers.
func (n note) layers(in *Input, stage int) {
	if n.rec != nil {
		n.layersOf(stage, in.Stages[stage].Layers())
	}
}

func (n note) layersOf(stage, layers int) {
	name := "layers_of_stage_" + strconv.Itoa(stage)
	n.given(name, float64(layers))
	n.term("layers", name)
}
