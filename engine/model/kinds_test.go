package model

import (
	"strings"
	"testing"
)

// TestPatternOfKinds: a stack of three kinds of layers, two of whose mixers differ, has each kind
// once, names it by its mixer and counts it as often as it is there.
func TestPatternOfKinds(t *testing.T) {
	m := Model{
		Layers: 7, Hidden: 64, Heads: 4, KVHeads: 2, HeadDim: 16, FFN: 96, Vocab: 100, Norm: NormRMS,
		NormsPer: 2, Gated: true, AttnBias: BiasNone,
		KVLoraRank: 8, QKNopeDim: 16, QKRopeDim: 8, VHeadDim: 16, Experts: 8, TopK: 2, ExpertFFN: 32,
		FirstDense: 1, MoEFreq: 1, MTPLayers: 1,
	}
	plain := Lay(&m, nil)
	p := *plain
	p.stack(nil, []sublayer{ // two of grouped queries, one latent
		{"latent", "latent", func(_ *Model, layer int) bool { return layer%3 == 2 }, latent, nil, "", false},
		{"grouped", "grouped", func(*Model, int) bool { return true }, groupedQuery, nil, "", false},
	}, m.feedForwards())
	p.sums = p.count()

	var ids []string
	counted := 0
	for i := range p.Layers {
		l := &p.Layers[i]
		ids, counted = append(ids, l.ID), counted+l.Count
		if l.Index != i || l.Scope("attention") != "layer."+l.Mixer+".attention" {
			t.Errorf("%s has number %d and the scope %s", l.ID, l.Index, l.Scope("attention"))
		}
	}
	if want := []string{"grouped_dense", "grouped_moe", "latent_moe"}; len(ids) != 3 || ids[0] != want[0] ||
		ids[1] != want[1] || ids[2] != want[2] || counted != m.Layers {
		t.Fatalf("kinds %v of %d layers, want %v", ids, counted, want)
	}
	for i, want := range []int{0, 1, 2, 1, 1, 2, 1} {
		if p.At(i) != want {
			t.Errorf("layer %d is of kind %d, want %d", i, p.At(i), want)
		}
	}
	if p.Module() != &p.Layers[2] {
		t.Errorf("a prediction module has %s, want the last kind", p.Module().ID)
	}
	// Against a model of latent attention throughout: what five layers' attention differs by.
	of := func(l *Layer) float64 { return float64(l.params.AttnSharded + l.params.AttnReplicated) }
	if got, want := p.Total()-plain.Total(), 5*(of(&p.Layers[0])-of(&plain.Layers[0])); got != want {
		t.Errorf("%v parameters more than with latent attention alone, want %v", got, want)
	}
}

// TestTooManyKinds: more kinds of layers than are counted are refused by name, and letters that stand for
// none.
func TestTooManyKinds(t *testing.T) {
	m := Model{
		Layers: 36, Hidden: 64, Heads: 4, KVHeads: 2, HeadDim: 16, FFN: 96, Vocab: 100, MaxSeq: 9,
		Norm: NormRMS, NormsPer: 2, AttnBias: BiasNone, QKNorm: QKNormNone,
		Pattern: "GM*", LinearKeyHeads: 2, LinearKeyDim: 8, LinearValueHeads: 2, LinearValueDim: 8,
		ConvWidth: 4, LinearChunk: 8,
	}
	if err := m.Check().Err(); err != nil {
		t.Error(err)
	}
	for pattern, want := range map[string]string{
		"GX":                              `"GX"`,
		strings.Repeat("G", MaxPattern+1): "at most 1024 letters", "GE": "E where n_experts",
	} {
		m.Pattern = pattern
		if err := m.Check().Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.9s: %v, want %q", pattern, err, want)
		}
	}
}

// TestLettersHaveKinds: each letter that a pattern may have is that of a kind, and no other has one; Beyond
// names the kinds of those that are not in a list.
func TestLettersHaveKinds(t *testing.T) {
	rows := mixers()
	for letter := byte('!'); letter <= '~'; letter++ {
		m := Model{Layers: 1, Pattern: string(letter)}
		n := 0
		for !rows[n].has(&m, 0) {
			n++
		}
		listed := strings.IndexByte(Letters(), letter) >= 0
		if plain := rows[n].id == "full"; plain == (listed && letter != LetterAttention) {
			t.Errorf("%c: listed %t, kind %q", letter, listed, rows[n].id)
		}
	}
	for _, letter := range scanLetters { // whose sizes are those of any of them
		m := Model{
			Layers: 1, Hidden: 64, Heads: 4, KVHeads: 2, HeadDim: 16, FFN: 96, Vocab: 100,
			Norm: NormRMS, NormsPer: 2, Pattern: string(letter),
			LinearKeyHeads: 2, LinearKeyDim: 8, LinearValueHeads: 2, LinearValueDim: 8,
			ConvWidth: 4, LinearChunk: 8, LinearRank: 4, SharedBlocks: 1, AdapterRank: 4,
		}
		scan := Lay(&m, nil).Layers[0].Scanned()
		if scan == nil || scan.Scan.Gathers.V > 0 != m.GathersStates() {
			t.Errorf("%c: CP gathers states: %t, but its scan: %+v", letter, m.GathersStates(), scan)
		}
	}
	m := Model{Layers: 5, Pattern: "*SHHSL"} // whose sixth letter is of no layer
	if got, want := m.Beyond("*-E"), "Mamba 1, attention and Mamba 2"; got != want {
		t.Errorf("beyond attention %q, want %q", got, want)
	}
	if got := m.Beyond("*SH") + (&Model{Layers: 3}).Beyond(""); got != "" {
		t.Errorf("%q where all letters are known", got)
	}
}
