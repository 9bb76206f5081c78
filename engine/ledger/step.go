package ledger

import (
	"cmp"
	"errors"

	"meshscope/engine/model"
)

// Phases are bytes allocated at the boundaries of the phases of a step and at most in each; with several
// micro-batches those of the last one.
type Phases struct {
	Start, AfterForward, PeakForward, AfterBackward, PeakBackward, AfterOptimizer, PeakOptimizer int64
}

// Peak returns the largest of them.
func (p *Phases) Peak() int64 {
	return max(p.Start, p.AfterForward, p.PeakForward, p.AfterBackward, p.PeakBackward, p.AfterOptimizer,
		p.PeakOptimizer)
}

// Result is what a step holds and takes.
type Result struct {
	First, Later             Phases
	FirstMoment, LaterMoment Moment
	Alive                    Alive // at the later steps' peak
	Reserved                 int64
	Parameters, Trainable    int64
	Divided                  int64   // of Trainable: in matrices that twice the ranks divide
	WeightBytes              int64   // of all ranks, as operations read them
	Host                     int64   // in host memory, of this rank
	Forward, Backward        float64 // seconds
	Optimizer, Step          float64
	Recomputed               float64 // contained in Backward
	// Copies are contained in Forward, Backward and Recomputed.
	Copies [3]Copies
	// UpdateCopies are contained in Optimizer.
	UpdateCopies Copies
	Matrices     int // that the update gathers, and their bytes
	MatrixBytes  int64
}

// training is a model that trains in one way.
type training struct {
	*run
	model            *model.Model
	hidden           int64 // width of the stream
	headWidth        int64
	layers           []binding
	before           binding // embedding
	norm, head       binding
	loss             binding
	peakAt           Moment
	peakAlive        Alive
	groups           []*group
	trained          []*trainable
	frozen, elements int64 // of weights: frozen, trained
	divided          int64 // of trained matrices that twice the ranks divide
	bytes            int64 // of weights, as operations read them
	largest          int64 // elements of a weight, frozen or trained
	host             int64 // bytes in host memory
	fixed            []tensor
	states           []tensor
}

// trainable is what the optimizer updates: parameters, or FSDP's shards of them.
type trainable struct {
	n, e  int64
	name  string
	shape shape  // of all ranks together
	param *param // nil: the gradient is a group's
	group *group // under FSDP
	ready bool   // has its states
}

// Steps simulates some steps. A way or a layer that it has no rules for is an error.
func Steps(p *model.Program, w *Way, rates *Rates) (res Result, err error) {
	if err := Check(p, w); err != nil {
		return res, err
	}
	t := newTraining(p, w, rates)
	if len(t.trained) == 0 {
		return res, errors.New("nothing is trained: no product has adapters")
	}
	for step := range cmp.Or(w.Steps, 3) {
		t.at = Moment{Step: step}
		t.recomputed, t.copiedAgain = 0, Copies{}
		phases, times, copies := t.step()
		res.UpdateCopies = copies[2]
		if step == 0 {
			res.First, res.FirstMoment = phases, t.peakAt
		}
		res.Later, res.LaterMoment, res.Alive = phases, t.peakAt, t.peakAlive
		res.Forward, res.Backward, res.Optimizer, res.Step = times[0], times[1], times[2], times[3]
		res.Recomputed, res.Copies = t.recomputed, [...]Copies{copies[0], copies[1], t.copiedAgain}
	}
	res.Reserved = t.pool.reserved
	res.Divided = t.divided
	res.Trainable, res.Host = t.elements, t.host+t.mostOnHost
	res.Matrices, res.MatrixBytes = t.gathers()
	res.Parameters, res.WeightBytes = res.Trainable+t.frozen, t.bytes
	return res, nil
}

// step runs one.
func (t *training) step() (m Phases, times [4]float64, copies [3]Copies) {
	t.pool.peak = t.pool.now
	t.roseAt, t.roseAlive = t.at, t.alive
	m.Start = t.pool.now
	t.clock = clock{rates: t.rates}
	var largest int64
	peak := func() int64 {
		n := t.pool.peak
		if n > largest {
			largest = n
			t.peakAt, t.peakAlive = t.roseAt, t.roseAlive
		}
		t.pool.peak = t.pool.now
		return n
	}
	micros := t.way.simulated()
	for micro := range micros {
		t.begin(Forward, micro)
		t.kind = Activations
		for _, g := range t.groups {
			g.sync = micro == micros-1 || !t.way.Unreduced
		}
		if t.zero != nil {
			t.zero.last = micro == micros-1
		}
		begin, again, copiedAgain := t.clock.begin(), t.recomputed, t.copiedAgain
		copied := t.clock.copies
		loss := t.forward()
		m.AfterForward, m.PeakForward = t.pool.now, peak()
		middle, forward := t.clock.end()
		t.clock.begin()
		others := int64(0)
		if micro == 1 { // the others are like the second one
			others = t.way.MicroBatches - micros
		}
		repeats := float64(1 + others)
		times[0] += middle - begin
		copies[0] = copies[0].Plus(t.clock.copies, repeats).Plus(copied, -repeats)
		copied = t.clock.copies
		t.begin(Backward, micro)
		t.clock.backward, t.at.Part, t.kind = true, t.loss.name, Temporaries
		t.drop(&loss)
		t.backward(loss)
		for _, g := range t.groups { // the root's, and those of blocks whose input wants no gradient
			t.at.Part = "what FSDP reduces last"
			t.postBackward(g)
			g.inBackward = false
		}
		if t.zero != nil {
			t.zero.finish(t.run)
		}
		t.drop(&t.staged)
		t.drop(&t.gathered)
		end, backward := t.clock.end()
		more := t.clock.repeat(&forward, &backward, others)
		times[0], times[1] = times[0]+more[0], times[1]+end-middle+more[1]
		copies[1] = copies[1].Plus(t.clock.copies, repeats).Plus(copied, -repeats)
		if again = t.recomputed - again; again > 0 {
			t.recomputed += more[1] / (end - middle) * again
		}
		t.copiedAgain = t.copiedAgain.Plus(t.copiedAgain, repeats-1).Plus(copiedAgain, 1-repeats)
		t.clock.backward = false
	}
	m.AfterBackward, m.PeakBackward = t.pool.now, peak()
	t.begin(Update, 0)
	begin, copied := t.clock.begin(), t.clock.copies
	t.update()
	m.AfterOptimizer, m.PeakOptimizer = t.pool.now, peak()
	times[2] = t.clock.gpu() - begin
	copies[2] = t.clock.copies.Plus(copied, -1)
	times[3] = times[0] + times[1] + times[2]
	return m, times, copies
}

// forward runs the model and its loss.
func (t *training) forward() tensor {
	if t.way.HostSaved {
		t.packers = append(t.packers, nil)
	}
	logits, normed := t.logits()
	loss := logits
	if t.loss.program != nil {
		t.at.Part, t.kind = t.loss.name, Logits
		loss = t.execute(&t.loss, logits, nil)
		t.drop(&logits)
	}
	t.drop(&normed)
	if t.way.HostSaved {
		t.packers = t.packers[:len(t.packers)-1]
	}
	t.clearCasts()
	return loss
}

// logits runs the model up to its head, whose input transformers has until the loss is there.
func (t *training) logits() (logits, normed tensor) {
	root := t.root()
	if root != nil {
		x := t.preForward(root, tensor{})
		t.drop(&x)
	}
	var y tensor
	var locals, shared []tensor
	if t.way.Slice {
		y = t.fixed[len(t.fixed)-1].hold()
	} else {
		y = t.call(&t.before, tensor{}, nil)
		locals = append(locals, t.before.extra...)
	}
	if t.way.Code.Transformers {
		if t.way.Frozen() && t.way.Checkpoint == Full && !y.wants { // enable_input_require_grads
			y.node, y.wants = &node{
				op: hook(), in: []size{y.size}, wants: []bool{false},
				edges: make([]edge, 1), grads: make([]tensor, 1),
			}, true
			t.graph = append(t.graph, y.node)
		}
		locals = append(locals, y.hold())
		shared = t.tables(y.e)
		locals = append(locals, shared...)
	}
	for i := range t.layers {
		l := &t.layers[i]
		if len(shared) > 0 {
			l.shared = shared[1:]
		}
		next := t.module(l, y, i)
		t.drop(&y)
		y = next
	}
	if t.way.Slice {
		return y, normed
	}
	t.kind = Logits
	normed = t.call(&t.norm, y, nil)
	locals = append(locals, y)
	leave := func() {
		for i := range locals {
			t.drop(&locals[i])
		}
	}
	if t.way.Code.Transformers { // the head is a module of its own
		leave()
	}
	logits = t.call(&t.head, normed, nil)
	leave()
	if !t.way.Code.Transformers {
		t.drop(&normed)
	}
	if root != nil {
		t.postForward(root, logits)
	}
	return logits, normed
}

func (t *training) root() *group {
	if len(t.groups) > 0 && t.groups[0].root {
		return t.groups[0]
	}
	return nil
}

// tables are positions and what rotary positions need of them.
func (t *training) tables(e int64) []tensor {
	list := []tensor{t.alloc(size{t.way.part(), 8}, "positions", computing)}
	if t.model.Position != "learned" {
		table := size{t.way.part() * t.headWidth, e}
		list = append(list, t.alloc(table, "cos", computing), t.alloc(table, "sin", computing))
	}
	return list
}
