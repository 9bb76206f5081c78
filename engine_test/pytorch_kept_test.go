package engine_test

import (
	"slices"
	"testing"

	"meshscope/engine/ledger"
	"meshscope/engine/model"
)

// keptShape is a block and the widths that a formula of what it keeps reads.
type keptShape struct{ h, a, kv, d, f, e, top, m, r, q, k int64 }

func (s keptShape) model(c *ledger.Code, layers int) model.Model {
	m := model.Model{
		Layers: layers, Hidden: int(s.h), Heads: int(s.a), KVHeads: int(s.kv), HeadDim: int(s.d),
		FFN: int(s.f), Vocab: 1024, MaxSeq: 1024, Gated: true, Norm: model.NormRMS, NormsPer: 2,
		AttnBias: model.BiasNone, QKNorm: model.QKNormNone,
		Experts: int(s.e), TopK: int(s.top), ExpertFFN: int(s.m), MoEFreq: 1,
	}
	c.Set(&m)
	return m
}

// TestPyTorchKeptPerBlock holds what one block keeps from forward to backward to the byte: the bytes per
// token that section 3 of pytorch.md gives, confirmed there by measured steps, with the block's input, and
// what it says beside them. The simulated steps of two models that differ in their layers have to give it,
// and the sum over a layer's operations.
func TestPyTorchKeptPerBlock(t *testing.T) {
	codes := ledger.Codes()
	code := func(name string) *ledger.Code {
		return &codes[slices.IndexFunc(codes, func(c ledger.Code) bool { return c.Name == name })]
	}
	// Tensors of so many tokens fill the allocator's blocks.
	const tokens, seeds = 16_384, 1024
	own, bf16 := ledger.Way{Code: code(""), Bytes: 2}, ledger.Way{Code: code("Llama"), Bytes: 2}
	way := func(w ledger.Way, change func(*ledger.Way)) ledger.Way {
		change(&w)
		return w
	}
	compiled := way(own, func(w *ledger.Way) { w.Compile = true })
	checkpointed := func(w ledger.Way, c ledger.Checkpoint) ledger.Way {
		return way(w, func(w *ledger.Way) { w.Checkpoint = c })
	}
	fsdp := func(w ledger.Way) ledger.Way {
		return way(w, func(w *ledger.Way) { w.Bytes, w.FSDP, w.Ranks = 4, true, 8 })
	}
	autocast := func(w ledger.Way) ledger.Way {
		return way(w, func(w *ledger.Way) { w.Bytes, w.Autocast = 4, true })
	}
	lora := func(targets ...string) ledger.Way {
		return way(bf16, func(w *ledger.Way) { w.Rank, w.Targets = 16, targets })
	}
	eager := func(s keptShape) int64 { return 6*s.h + 4*s.q + 4*s.q + 8*s.f + 4*s.a + 8 + 2*s.h }
	inductor := func(s keptShape) int64 { return 6*s.h + 4*s.q + 4*s.q + 6*s.f + 4*s.a + 8 + 2*s.h }
	input := func(s keptShape) int64 { return 2 * s.h }
	selective := func(s keptShape) int64 { return 2*s.h + 4*s.q + 2*s.k + 2*s.f + 4*s.a + 2*s.h }
	selectiveCompiled := func(s keptShape) int64 { return 4*s.q + 2*s.k + 2*s.f + 4*s.a + 8 + 2*s.h }
	mixture := func(s keptShape) int64 {
		return 6*s.h + 4*s.q + 4*s.q + 4*s.a + 8 + 2*s.h + 4*s.e + 26*s.top + 6*s.h*s.top + 8*s.m*s.top
	}
	small, large := keptShape{h: 2048, a: 32, kv: 8, d: 64, f: 8192},
		keptShape{h: 4096, a: 32, kv: 8, d: 128, f: 14_336}
	equal, tall := keptShape{h: 2048, a: 32, kv: 32, d: 64, f: 8192},
		keptShape{h: 8192, a: 64, kv: 8, d: 128, f: 28_672}
	qwen, mixtral := keptShape{h: 2048, a: 32, kv: 4, d: 128, e: 128, top: 8, m: 768},
		keptShape{h: 4096, a: 32, kv: 8, d: 128, e: 8, top: 2, m: 14_336}
	for _, c := range []struct {
		name   string
		shape  keptShape
		way    ledger.Way
		want   func(keptShape) int64
		stated int64                 // the figure that stands there for this shape
		beside func(keptShape) int64 // bytes of the block, not of a token
	}{
		{"eager, 1B", small, own, eager, 98_440, nil},
		{"eager, 8B, FSDP2", large, fsdp(own), eager, 180_360, nil},
		{"eager, 70B", tall, own, eager, 0, nil},
		{"eager, keys of all heads", equal, own, eager, 0, nil},
		{
			"eager, keys not repeated", large, way(own, func(w *ledger.Way) { w.NoRepeat = true }),
			func(s keptShape) int64 { return 6*s.h + 4*s.q + 4*s.k + 8*s.f + 4*s.a + 8 + 2*s.h }, 0, nil,
		},
		{
			"autocast", small, autocast(own),
			func(s keptShape) int64 { return 14*s.h + 4*s.q + 4*s.q + 8*s.f + 4*s.a + 8 + 4*s.h }, 0,
			keptShape.casts,
		},
		{"compiled, 1B", small, compiled, inductor, 82_056, nil},
		{"compiled, 8B, FSDP2", large, fsdp(compiled), inductor, 0, nil},
		{"compiled, 70B", tall, compiled, inductor, 0, nil},
		{"compiled, keys of all heads", equal, compiled, inductor, 0, nil},
		{"full", large, checkpointed(own, ledger.Full), input, 0, nil},
		{"full, compiled", large, checkpointed(compiled, ledger.Full), input, 0, nil},
		{"full, autocast", small, checkpointed(autocast(own), ledger.Full), func(s keptShape) int64 {
			return 4 * s.h
		}, 0, nil},
		{"selective, 8B", large, checkpointed(own, ledger.Selective), selective, 63_616, nil},
		{
			"selective, compiled, 1B", small, checkpointed(compiled, ledger.Selective), selectiveCompiled,
			29_832, nil,
		},
		{
			"selective, compiled, 8B, FSDP2", large, fsdp(checkpointed(compiled, ledger.Selective)),
			selectiveCompiled, 0, nil,
		},
		{"mixture of 128", qwen, own, mixture, 0, keptShape.offsets},
		{"mixture of 8, FSDP2", mixtral, fsdp(own), mixture, 0, keptShape.offsets},
		{"mixture, full", qwen, checkpointed(own, ledger.Full), input, 0, nil},
		{
			"transformers, 1B", small, bf16,
			func(s keptShape) int64 { return 16*s.h + 4*s.q + 4*s.k + 8*s.f + 4*s.a + 8 }, 108_680, nil,
		},
		{
			"transformers, autocast", small, autocast(bf16),
			func(s keptShape) int64 { return 22*s.h + 4*s.q + 4*s.k + 8*s.f + 4*s.a + 8 + 4*s.h }, 0,
			keptShape.casts,
		},
		{
			"LoRA on all, 8B", large, lora("q", "k", "v", "o", "gate", "up", "down"),
			func(s keptShape) int64 {
				return 28*s.h + 8*s.q + 4*s.k + 10*s.f + 28*s.r + 4*s.a + 8
			}, 295_496, nil,
		},
		{
			"LoRA on q and v", large, lora("q", "v"),
			func(s keptShape) int64 { return 16*s.h + 4*s.q + 4*s.k + 6*s.f + 8*s.r + 4*s.a + 8 }, 0, nil,
		},
		{
			"LoRA on the MLP", large, lora("gate", "up", "down"), // less 2h, 2h, 2f, 4h; 8h, 4f of adapters
			func(s keptShape) int64 { return 16*s.h + 4*s.q + 4*s.k + 10*s.f + 12*s.r + 4*s.a + 8 }, 0, nil,
		},
		{
			"GPT-2, autocast", equal, autocast(ledger.Way{Code: code("GPT2")}),
			func(s keptShape) int64 { return 18*s.h + 16*s.f + 4*s.a + 16 + 4*s.h }, 0,
			func(s keptShape) int64 { return 2 * (4*s.h*s.h + 2*s.h*s.f) },
		},
	} {
		s := c.shape
		s.q, s.k, s.r = s.a*s.d, s.kv*s.d, 16
		w := &c.way
		w.Seq, w.MicroBatch, w.MicroBatches, w.Steps = tokens/4, 4, 1, 2
		each := c.want(s)
		if c.stated > 0 && each != c.stated {
			t.Errorf("%s: the formula gives %d bytes per token, %d are stated", c.name, each, c.stated)
		}
		want := tokens * each
		if w.Checkpoint != ledger.Full {
			want += seeds
		}
		if c.beside != nil {
			want += c.beside(s)
		}
		var after [2]int64
		for i := range after {
			m := s.model(w.Code, 3+i)
			p := model.Lay(&m, nil)
			res, err := ledger.Steps(p, w, new(ledger.Rates))
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			after[i] = res.Later.AfterForward - res.Later.Start
			if i > 0 || w.Checkpoint == ledger.Full { // whose operations say what is made again
				continue
			}
			kept := int64(0)
			for _, bytes := range ledger.Saved(p, &p.Layers[0], w) {
				kept += bytes
			}
			if kept != want {
				t.Errorf("%s: operations keep %d bytes, want %d: %+d", c.name, kept, want, kept-want)
			}
		}
		if got := after[1] - after[0]; got != want {
			t.Errorf("%s: a block of a step keeps %d bytes, want %d: %+d", c.name, got, want, got-want)
		}
	}
}

// casts are 16-bit copies of a dense block's matrices.
func (s keptShape) casts() int64 { return 2 * (2*s.h*s.q + 2*s.h*s.k + 3*s.h*s.f) }

// offsets say where the rows of each expert begin, in a block of the allocator.
func (s keptShape) offsets() int64 { return (4*s.e + 511) / 512 * 512 }
