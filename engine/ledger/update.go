package ledger

import "meshscope/engine/recipe"

// update runs the optimizer: its states appear in the first step.
func (t *training) update() {
	var elements int64
	for _, p := range t.trained {
		elements += p.n
	}
	t.optimizerTime(elements)
	if t.way.InBackward { // done
		return
	}
	if t.zero != nil {
		t.zero.update(t)
		t.dropSeconds()
		return
	}
	if !t.way.Offload {
		t.createStates()
	}
	t.foreach()
	t.adafactor()
	t.muon()
	for _, p := range t.trained {
		if p.param != nil {
			t.drop(&p.param.grad)
		}
	}
	for _, g := range t.groups {
		t.drop(&g.grad)
	}
}

// foreach makes the temporaries of an update over lists of tensors.
func (t *training) foreach() {
	if t.way.Optimizer != recipe.AdamForeach {
		return
	}
	temps := make([]tensor, len(t.trained))
	for i, p := range t.trained {
		temps[i] = t.squareRoots(p)
	}
	for i := range temps {
		t.drop(&temps[i])
	}
}

func (t *training) squareRoots(p *trainable) tensor {
	return t.alloc(size{p.n, p.e}, "square roots of all second moments", computing)
}

// updateNow updates a parameter, or those of a group, in the backward: its optimizer is called when the
// gradient has been accumulated (torch's register_post_accumulate_grad_hook, which FSDP2 calls after its
// reduction; torchtune's optimizer_in_bwd), and the gradient is freed.
func (t *training) updateNow(at *param, g *group) {
	for _, p := range t.trained {
		if p.param != at || p.group != g {
			continue
		}
		t.createStatesOf(p)
		if t.way.Optimizer == recipe.AdamForeach {
			roots := t.squareRoots(p)
			t.drop(&roots)
		}
	}
	if g != nil {
		t.drop(&g.grad)
	} else if !t.way.FSDP {
		t.drop(&at.grad)
	}
}

// createStates allocates the optimizer's in the first step.
func (t *training) createStates() {
	for _, p := range t.trained {
		t.createStatesOf(p)
	}
}

func (t *training) createStatesOf(p *trainable) {
	if p.ready {
		return
	}
	p.ready = true
	for _, s := range t.moments(p) {
		t.states = append(t.states, t.alloc(s, "state of the optimizer", computing))
		t.count(t.states[len(t.states)-1].st, States)
	}
}

// moments returns what the optimizer keeps of a tensor on the GPU. Of PyTorch's Adam a counter is one too.
func (t *training) moments(p *trainable) (list []size) {
	states := t.way.Optimizer.States()
	each, maxima := size{p.n, p.e}, size{}
	switch {
	case states.Factored:
		return t.factors(p)
	case states.Matrices && !t.orthogonal(p): // AdamW's
		return []size{{1, 4}, each, each}
	case states.BitsAndBytes && t.narrow(p):
		each, maxima = size{p.n, 1}, size{(p.n + recipe.NarrowBlock - 1) / recipe.NarrowBlock, 4}
	case states.BitsAndBytes:
		each.e = 4
	case states.Moments == 2:
		list = append(list, size{1, 4})
	}
	for range states.Moments {
		if !t.paged(p) {
			list = append(list, each)
		}
	}
	for range states.Moments {
		if maxima.n > 0 {
			list = append(list, maxima)
		}
	}
	return list
}

// paged reports whether a tensor's moments are in unified memory.
func (t *training) paged(p *trainable) bool {
	return t.way.Optimizer.States().Paged && p.n >= recipe.PagedFrom
}

// momentBytes returns the bytes of a tensor's moments without maxima, wherever they are.
func (t *training) momentBytes(p *trainable) int64 {
	states, each := t.way.Optimizer.States(), p.e
	switch {
	case states.BitsAndBytes && t.narrow(p):
		each = 1
	case states.BitsAndBytes:
		each = 4
	}
	return int64(states.Moments) * p.n * each
}

// narrow reports whether bitsandbytes keeps a tensor's moments in 8 bits: transformers' Trainer leaves those
// of embeddings in 32 (trainer.py: register_module_override), which DeepSpeed's flat tensors no longer are.
func (t *training) narrow(p *trainable) bool {
	embedding := t.way.Code.Transformers && t.zero == nil && (p.name == "embedding" || p.name == "positions")
	return t.way.Optimizer.States().Narrow && p.n >= recipe.NarrowFrom && !embedding
}

// optimizerTime adds clipping and the update, which memory limits: weights and moments are read and written,
// gradients read. Moments in unified memory are assumed to come from the host and to go back: those of one
// tensor after the other are fetched, updated and waited for (Optimizer8bit.step of
// bitsandbytes-foundation/bitsandbytes@51294d90, bitsandbytes/optim/optimizer.py), while those of tensors
// before it make room.
func (t *training) optimizerTime(elements int64) {
	r, n, P := t.rates, float64(len(t.trained)), float64(elements)
	e := t.trained[0].e
	if t.way.Offload || t.zero != nil && t.zero.Host { // and the clip
		t.clock.launch(P * r.HostAdam)
		t.clock.device(P * r.HostAdam)
		return
	}
	each := 10e-6
	if t.way.FSDP {
		each = 40e-6
	}
	t.clock.launch(n * each)
	if !t.way.InBackward { // which has no norm of all gradients to clip by
		t.clock.device(P*float64(e)/r.ClipRead + P*2*float64(e)/r.ClipScale + 50e-6 + n*.5e-6)
	}
	states := t.way.Optimizer.States()
	moved, paged := P*3*float64(e), 0.
	for _, p := range t.trained {
		bytes := t.momentBytes(p)
		if moved += 2 * float64(bytes); t.paged(p) {
			paged += 2 * float64(bytes)
		}
	}
	update := moved / r.Adam[e/4]
	launches := 0
	switch t.way.Optimizer {
	case recipe.AdamForeach:
		update = P * r.Foreach
	case recipe.Adafactor:
		update, launches = t.adafactorTime()
	case recipe.Muon:
		update, launches = t.muonTime()
	default:
	}
	t.clock.launch(float64(launches) * r.HostForward)
	if paged > 0 {
		update += t.hostCopy(int64(paged))
	}
	if states.BitsAndBytes { // a kernel a tensor
		t.clock.launch(n * r.HostForward)
	}
	t.clock.launch(1e-3)
	t.clock.device(update + n*.3e-6)
}

// countHost counts what is kept in host memory: moments in unified memory, which leave the GPU but in the
// update (optimizerTime); of an offload under FSDP2 weights, gradients and moments as they are, under
// DeepSpeed fp32 copies, fp32 gradients and moments, and the 16-bit weights of offload_param; of what is on
// drives the buffers.
func (t *training) countHost() {
	for _, p := range t.trained {
		if t.paged(p) {
			t.host += t.momentBytes(p)
		}
	}
	z := t.way.ZeRO
	if !t.way.Offload && (z == nil || !z.Host) {
		return
	}
	if z != nil && z.NVMe {
		t.host += t.zero.swapBytes(t.largest)
		return
	}
	for _, p := range t.trained {
		t.host += 2 * p.n * p.e
		for _, s := range t.moments(p) {
			t.host += s.bytes()
		}
		if z != nil && z.Weights {
			t.host += 2 * p.n
		}
	}
}
