package model

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"meshscope/engine/escape"
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
	b.Window, b.sinks = m.LocalWindow, b.sinks || m.LocalSinks
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
	first, second, ok := m.ratio()
	return m.LocalWindow > 0 && (!ok || layer%(first+second) < first)
}

// ratio reads LocalRatio, "5:1" with remarks after a space; false without one: all layers have the window.
func (m *Model) ratio() (first, second int, ok bool) {
	word, _, _ := strings.Cut(m.LocalRatio, " ")
	left, right, found := strings.Cut(word, ":")
	if !found {
		return 0, 0, false
	}
	a, errA := strconv.Atoi(left)
	b, errB := strconv.Atoi(right)
	if errA != nil || errB != nil || a < 0 || b < 0 || a+b <= 0 || a > MaxLayers || b > MaxLayers {
		return 0, 0, false
	}
	return a, b, true
}

// LocalAttention returns the heads, and those of keys and values, of layers with a window.
func (m *Model) LocalAttention() (heads, kv int) {
	return cmp.Or(m.LocalHeads, m.Heads), cmp.Or(m.LocalKVHeads, m.KVHeads)
}

// window checks which layers have one, and the widths of those.
func (c *checker) window(m *Model) {
	c.between("local_window", m.LocalWindow, 0, MaxSequence)
	switch _, _, ok := m.ratio(); {
	case m.LocalRatio == "":
	case !ok:
		c.add("local_to_global_ratio", escape.Quote(m.LocalRatio),
			"local:global layers such as 5:1, or nothing")
	case m.LocalWindow == 0:
		c.add("local_window", 0, "at least 1 with local_to_global_ratio = %s, or no such ratio",
			escape.Quote(m.LocalRatio))
	}
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

// CheckOf refuses no window in a model whose preset has one in every layer, which would be another model in
// silence.
func (m *Model) CheckOf(preset *Model) Errors {
	if m.LocalWindow > 0 || preset.LocalWindow == 0 || m.LocalRatio != preset.LocalRatio ||
		m.Pattern != preset.Pattern {
		return nil
	}
	return Errors{{
		"local_window", "0", fmt.Sprintf("at least 1 in %s, whose layers all have a window, of %d; a "+
			"window as long as max_seq has the same effect as none", preset.Name, preset.LocalWindow),
		strconv.Itoa(m.MaxSeq),
	}}
}
