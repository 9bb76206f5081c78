package knob

import (
	"slices"

	"meshscope/engine/recipe"
)

// contextKnob returns the knob of how context parallelism communicates.
func contextKnob() Knob {
	return optionalChoice(Knob{
		ID: CPComm, Label: "CP exchange", Short: "cpcomm", place: -1,
		Help: "How CP ranks attend to all of a sequence: p2p sends keys and values around a ring, next to " +
			"attention; a2a (Ulysses) exchanges the sequence for heads, which must divide, before and " +
			"after it, exposed (auto: a ring, on PyTorch's stacks a2a).",
		Off: func(s *Setup) (why, word string) {
			return offWhere(s.CP <= 1 && s.CPComm == "", "needs CP > 1", "CP = 1")
		},
		fixes: becomes(func(t *Setup) { t.CPComm = "" }),
	}, recipe.CPComms(), func(s *Setup) *string { return (*string)(&s.CPComm) })
}

// Exchanges returns how ranks of CP communicate, which its stack decides where nothing is given.
func (s *Setup) Exchanges() recipe.CPComm {
	switch {
	case s.CPComm != "" && s.CPComm != recipe.CPCommAuto:
		return s.CPComm
	case s.Stack.Traits().Ledger:
		return recipe.Ulysses
	}
	return recipe.Ring
}

// SharesHeads reports whether ranks of CP exchange the sequence for heads (Ulysses).
func (s *Setup) SharesHeads() bool { return s.CP > 1 && s.Exchanges() == recipe.Ulysses }

// exchange checks the word of CP's exchange, which not every stack has.
func (s *Setup) exchange(bad func(code string, field ID, format string, args ...any)) {
	if s.CPComm == "" || s.CPComm == recipe.CPCommAuto {
		return
	}
	if !slices.Contains(recipe.CPComms(), s.CPComm) {
		bad("unknown-word", CPComm, "unknown %s %q: allowed is %s", CPComm, s.CPComm, find(CPComm).Allowed())
		return
	}
	if has := s.Stack.CPComms(); !slices.Contains(has, s.CPComm) {
		bad("stack-lacks", CPComm, "%s has no %s %s here; it has %s", s.StackName(), CPComm, s.CPComm,
			wordsOf(has))
	}
}

// sharedHeads checks that each rank of CP that exchanges the sequence for heads gets whole ones. Fewer heads
// of keys and values than ranks are copied (deepspeed/runtime/sequence_parallel/ulysses_sp.py); Transformer
// Engine copies none (context_parallel.py).
func (s *Setup) sharedHeads(fail func(code string, field ID, format string, args ...any)) {
	m, ranks, product := &s.Model, s.TP*s.CP, "cp"
	if s.TP > 1 {
		product = "tp x cp ="
	}
	if kinds := m.Beyond("*WGMKLC-E"); kinds != "" {
		fail("cp-heads-kind", CPComm, "cp-comm a2a: no all-to-alls are known around layers of the kind %s",
			kinds)
		return
	}
	local, localKV := m.LocalAttention()
	for _, of := range [...]struct {
		whose     string
		heads, kv int
	}{{"the model's", m.Heads, m.KVHeads}, {"its windowed layers'", local, localKV}} {
		copied := ranks%max(of.kv, 1) == 0 && s.Stack.Traits().Ledger
		switch {
		case of.heads%ranks != 0:
			fail("cp-heads", CP, "%s %d does not divide %s %d attention heads: all-to-alls (a2a, Ulysses) "+
				"give each rank whole ones", product, ranks, of.whose, of.heads)
			return
		case !m.IsMLA() && of.kv%ranks != 0 && !copied:
			fail("cp-kv-heads", CP, "%s %d does not divide %s %d kv heads%s: all-to-alls (a2a, Ulysses) "+
				"give each rank whole ones", product, ranks, of.whose, of.kv, s.copiesHeads())
			return
		}
	}
}

// copiesHeads says what else the stack takes.
func (s *Setup) copiesHeads() string {
	if s.Stack.Traits().Ledger {
		return " nor is a multiple of them"
	}
	return ""
}
