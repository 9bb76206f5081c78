package model

import (
	"cmp"
	"strings"

	"meshscope/engine/record"
)

// sliding is attention to the last LocalWindow tokens: in every layer, or in the first ones of each
// period that LocalRatio names ("5:1": five of six).
func sliding(b *builder, x Ref) Ref {
	s, m := &b.size, b.m
	own := func(name string, width int, others record.Num) record.Num {
		if width == 0 {
			return others
		}
		return b.named(name, width)
	}
	b.Window = m.LocalWindow
	s.a, s.kv = own("a_local", m.LocalHeads, s.a), own("kv_local", m.LocalKVHeads, s.kv)
	s.d, s.v = own("d_local", m.LocalHeadDim, s.d), own("v_local", m.LocalVHeadDim, s.v)
	if m.LocalHeadDim > 0 && m.LocalVHeadDim == 0 {
		s.v = s.d
	}
	return attention(b, x)
}

// local reports whether a layer attends to the last tokens alone: as its letter says where any does, else by
// LocalRatio.
func (m *Model) local(layer int) bool {
	if strings.IndexByte(m.Pattern, LetterWindow) >= 0 {
		return m.Letter(layer) == LetterWindow
	}
	return m.LocalWindow > 0 && m.first(layer)
}

// LocalAttention returns the heads, and those of keys and values, of layers with a window.
func (m *Model) LocalAttention() (heads, kv int) {
	return cmp.Or(m.LocalHeads, m.Heads), cmp.Or(m.LocalKVHeads, m.KVHeads)
}

// window checks the widths that attention of grouped queries has where layers with a window differ.
func (c *checker) window(m *Model) {
	c.between("local_heads", m.LocalHeads, 0, MaxHeads)
	c.between("local_kv_heads", m.LocalKVHeads, 0, MaxHeads)
	c.between("local_head_dim", m.LocalHeadDim, 0, MaxHeadDim)
	c.between("local_v_head_dim", m.LocalVHeadDim, 0, MaxHeadDim)
	if a, kv := m.LocalAttention(); m.LocalHeads|m.LocalKVHeads > 0 && kv > 0 && a%kv != 0 {
		c.add("local_kv_heads", kv,
			"a divisor of the %d heads of layers with a window", a)
	}
	if own := m.LocalSinks || m.LocalHeads|m.LocalKVHeads|m.LocalHeadDim|m.LocalVHeadDim != 0; own &&
		m.LocalWindow == 0 ||
		strings.IndexByte(m.Pattern, LetterWindow) >= 0 && m.LocalWindow == 0 {
		c.add("local_window", "0", "the tokens of a window, at least 1, where layers with one have letters "+
			"or widths of their own")
	}
}
