package model

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/record"
)

// MaxKinds is the number of distinct layers that a model can have.
const MaxKinds = 16

// sublayer is a kind of mixer, or of feed-forward part: one file each, and its row below.
type sublayer struct {
	id, name string                         // of the layers that have it, where the model has others too
	has      func(m *Model, layer int) bool // whether a layer of the stack has it
	add      func(b *builder, x Ref) Ref    // lists its operations
	before   func(b *builder, x Ref) Ref    // what runs on the stream before its norm; nil: nothing
	saves    string                         // what it saves, by whose code; empty: see engine/notes.go
	inferred bool                           // what it saves or takes was read from no code that trains it
}

// What kinds save.
const (
	savesMegatron = "what Megatron-LM's code saves"
	savesRead     = "what their operations read, which is inferred"
	savesInferred = savesRead + ", as the backward of their scan is from its forward"
	savesKimi     = "what the layer of flash-linear-attention saves with its recomputation; the " +
		"backward of their scan is inferred from its forward"
	savesEach  = savesMegatron + ", each of the two"
	savesBlock = savesMegatron + " of Mamba-2, and of the block " + savesRead
)

// Letters of a pattern: what mixes the tokens of a layer, as in Megatron-LM's --hybrid-layer-pattern.
const (
	LetterAttention = '*' // softmax attention
	LetterWindow    = 'W' // the same to the last LocalWindow tokens; Megatron-LM has no letter for it
	LetterDelta     = 'G' // Gated DeltaNet
	LetterMamba     = 'M' // Mamba-2
	LetterBeside    = 'H' // attention and Mamba-2 side by side; no letter of Megatron-LM
	LetterMamba1    = 'S' // Mamba-1; no letter of Megatron-LM
	LetterKimi      = 'K' // Kimi Delta Attention
	LetterLightning = 'L' // lightning attention
	LetterConv      = 'C' // short convolution
	LetterSparse    = 'D' // DeepSeek sparse attention
	LetterShared    = 'R' // the same to the tokens that the last such layer chose
	LetterNear      = 'Q' // attention to a window and to chosen compressed keys; no letter of Megatron-LM
	LetterFar       = 'X' // the same to all of them, of more tokens each
	LetterBlock     = 'Z' // a block that such layers share, then Mamba-2; no letter of Megatron-LM
	LetterMLP       = '-' // no mixer: an MLP is all of the layer, and the others have none
	LetterExperts   = 'E' // the same with a mixture
)

// Letters lists them.
func Letters() string { return "*WGMHSKLCDRQXZ-E" }

// scanLetters are those of layers that carry a state from token to token.
const scanLetters = "GMSHKLZ"

// gatherLetters are those of them whose CP gathers the states of all ranks (ScanCost.Gathers).
const gatherLetters = "KL"

// Flat reports whether each layer is one sub-layer: a mixer or a feed-forward part.
func (m *Model) Flat() bool { return m.HasAny("-EZ") }

// Scans reports whether layers carry a state from token to token.
func (m *Model) Scans() bool { return m.HasAny(scanLetters) }

// GathersStates reports whether CP gives each rank a part of the sequence in layers that carry a state.
func (m *Model) GathersStates() bool { return m.HasAny(gatherLetters) }

// Mamba2 reports whether layers have Mamba-2, alone or beside attention.
func (m *Model) Mamba2() bool { return m.HasAny("MHZ") }

// Letter returns that of a layer.
func (m *Model) Letter(layer int) byte {
	if m.Pattern == "" {
		return LetterAttention
	}
	return m.Pattern[layer%len(m.Pattern)]
}

// Period returns the shortest beginning of the letters of all layers that gives them all again.
func Period(letters string) string {
	n := 1
	for n < len(letters) && letters[n:] != letters[:len(letters)-n] {
		n++
	}
	return letters[:min(n, len(letters))]
}

// lettered is a kind of mixer that a letter of the pattern stands for.
func lettered(letter byte) func(*Model, int) bool {
	return func(m *Model, layer int) bool { return m.Letter(layer) == letter }
}

// letters are those of the pattern that layers have.
func (m *Model) letters() string { return m.Pattern[:min(len(m.Pattern), max(m.Layers, 0))] }

// Has reports whether a layer of the model has a letter.
func (m *Model) Has(letter byte) bool {
	return strings.IndexByte(m.letters(), letter) >= 0
}

// HasAny reports whether a layer has one of some letters.
func (m *Model) HasAny(letters string) bool {
	return strings.ContainsAny(letters, m.letters())
}

// Only reports whether each layer that a letter stands for has one of some letters.
func (m *Model) Only(letters string) bool {
	return strings.Trim(m.letters(), letters) == ""
}

// Beyond names the kinds of mixers of layers that have none of those letters; empty where all have one.
func (m *Model) Beyond(letters string) string {
	var names []string
	for _, kind := range m.beyond(letters) {
		names = append(names, kind.plainName())
	}
	return strings.Join(names, ", ")
}

// beyond returns the kinds of those layers.
func (m *Model) beyond(letters string) (kinds []*sublayer) {
	if m.Only(letters) {
		return nil
	}
	rows := mixers()
	for i := range min(len(m.Pattern), m.Layers) {
		if strings.IndexByte(letters, m.Letter(i)) >= 0 {
			continue
		}
		n := slices.IndexFunc(rows, func(s sublayer) bool { return s.has(m, i) })
		if !slices.Contains(kinds, &rows[n]) {
			kinds = append(kinds, &rows[n])
		}
	}
	return kinds
}

// Saves says of each kind of mixer of the layers what it saves and whose code that is, where the kind tells.
func (m *Model) Saves() (notes []string) {
	for _, kind := range m.beyond("") {
		if kind.saves != "" {
			notes = append(notes, "layers of the kind "+kind.plainName()+" save "+kind.saves)
		}
	}
	return notes
}

// Inferred reports whether layers have a kind or a part of which what it saves or takes is inferred. Both
// bands are wider then than where it is read from code that trains it.
func (m *Model) Inferred() bool {
	return m.ResidualBlock+m.AltUpStreams+m.LayerInput > 0 ||
		slices.ContainsFunc(m.beyond(""), func(kind *sublayer) bool { return kind.inferred })
}

func (s *sublayer) plainName() string { return plain(s.name) }

// plain is a name of kinds.go for readers.
func plain(name string) string { return strings.ReplaceAll(name, "_", " ") }

// ScanHeads returns how many parts the layers that carry a state can be divided into, and what these are; 0
// without such layers.
func (m *Model) ScanHeads() (heads int, what string) {
	switch {
	case !m.Scans():
		return 0, ""
	case m.HasAny("MHSZ"):
		return m.LinearKeyHeads, "groups of heads of state-space layers"
	}
	return m.LinearKeyHeads, "heads of linear attention"
}

// UnevenScan returns the width on a TP rank of the input projection of Gated DeltaNet or Mamba-2 where that
// is no multiple of a number; 0 where it is, or there is none.
func (m *Model) UnevenScan(tp, by int) int {
	keys, values := m.LinearKeyHeads*m.LinearKeyDim, m.LinearValueHeads*m.LinearValueDim
	for _, kind := range [...]struct {
		has   bool
		steps int // of a value head
	}{{m.Has(LetterDelta), 2}, {m.Mamba2(), 1}} {
		if width := 2*(keys+values) + kind.steps*m.LinearValueHeads; kind.has && width%(tp*by) != 0 {
			return width / tp
		}
	}
	return 0
}

// ExchangesScan reports whether CP can give each of its ranks whole heads, in TP ranks that each have some
// groups: those of a state-space layer are copied where there are fewer
// (megatron/core/ssm/mamba_context_parallel.py).
func (m *Model) ExchangesScan(tp, cp int) bool {
	if m.GathersStates() {
		return true
	}
	groups := m.LinearKeyHeads / tp
	return m.LinearValueHeads%(tp*cp) == 0 && (groups%cp == 0 || !m.Has(LetterDelta) && cp%groups == 0)
}

// mixers lists the kinds of mixers; a layer has the first one that is its own.
func mixers() []sublayer {
	rows := []sublayer{
		{has: func(m *Model, i int) bool { return m.Letter(i) == LetterMLP || m.Letter(i) == LetterExperts }},
		{"delta", "Gated_DeltaNet", lettered(LetterDelta), gatedDelta, nil, savesMegatron, false},
		{"mamba2", "Mamba_2", lettered(LetterMamba), mamba2, nil, savesMegatron, false},
		{"beside", "attention_and_Mamba_2", lettered(LetterBeside), beside, nil, savesEach, false},
		{
			"block", "shared_block_and_Mamba_2", lettered(LetterBlock), secondMamba, sharedBlock, savesBlock,
			true,
		},
		{"mamba1", "Mamba_1", lettered(LetterMamba1), mamba1, nil, savesInferred, true},
		{"kimi", "Kimi_Delta", lettered(LetterKimi), kimiDelta, nil, savesKimi, true},
		{"lightning", "lightning", lettered(LetterLightning), lightning, nil, savesInferred, true},
		{"conv", "short_convolution", lettered(LetterConv), shortConvolution, nil, savesRead, true},
		{"sparse", "sparse", lettered(LetterSparse), sparse, nil, "", true},
		{"reselected", "sparse_shared", lettered(LetterShared), reselected, nil, "", true},
		{"near", "compressed_sparse", lettered(LetterNear), compressedSparse, nil, "", true},
		{"far", "heavily_compressed", lettered(LetterFar), heavilyCompressed, nil, "", true},
	}
	for _, kind := range keyed() {
		rows = append(rows, reusing(&kind))
	}
	return append(rows, keyed()...)
}

// keyed are those of them whose last layers may take keys and values of an earlier one of their kind.
func keyed() []sublayer {
	return []sublayer{
		{"sliding", "sliding", (*Model).local, sliding, nil, "", false},
		{"full", "full", func(*Model, int) bool { return true }, attention, nil, "", false},
	}
}

// attention is attention to all tokens, latent or of grouped queries.
func attention(b *builder, x Ref) Ref {
	switch {
	case b.m.IsMLA():
		return latent(b, x)
	case b.m.sharesKey():
		return sharedKey(b, x)
	}
	return groupedQuery(b, x)
}

// feedForwards is mixers for the part that follows.
func (m *Model) feedForwards() []sublayer {
	dense := func(m *Model, i int) bool { return !m.Flat() || m.Letter(i) == LetterMLP }
	rows := []sublayer{
		{"hash", "hash_MoE", func(m *Model, i int) bool {
			return i < m.HashLayers && m.MoELayer(i)
		}, hashed, nil, "", false},
		{"moe", "MoE", (*Model).MoELayer, experts, nil, "", false},
	}
	if m.FFNWidths != "" {
		words, of := strings.Split(m.FFNWidths, ","), map[int]string{}
		for i := range max(m.Layers, 0) {
			if !m.MoELayer(i) && dense(m, i) {
				of[i] = words[len(of)%len(words)]
			}
		}
		for _, width := range slices.Compact(slices.Sorted(slices.Values(words))) {
			rows = append(rows, sublayer{
				"dense" + width, "dense_" + width, func(_ *Model, i int) bool { return of[i] == width },
				func(b *builder, x Ref) Ref {
					n, _ := strconv.Atoi(width)
					b.size.f = record.Lit(float64(n))
					return denseMLP(b, x)
				}, nil, "", false,
			})
		}
	}
	return append(rows, sublayer{"dense", "dense", dense, denseMLP, nil, "", false},
		sublayer{has: func(*Model, int) bool { return true }})
}

// Undivided returns a width of dense MLPs that is no multiple of a number; 0 where there is none.
func (m *Model) Undivided(by int) int {
	if m.FFNWidths == "" {
		return m.FFN * min(m.FFN%by, 1)
	}
	for _, word := range strings.Split(m.FFNWidths, ",") {
		if n, _ := strconv.Atoi(word); n%by != 0 {
			return n
		}
	}
	return 0
}

// UnevenInputs reports whether a product of a dense layer reads a width that is no multiple of a number.
func (m *Model) UnevenInputs(by int) bool {
	return m.Hidden%by+m.FFN%by+m.Heads*m.HeadDim%by > 0
}

// pattern returns the distinct layers of a model, each as its mixer and its feed-forward part of two
// lists, in the order of their first layers, and which of them each layer of the stack is.
func (m *Model) pattern(lists ...[]sublayer) (kinds [][2]*sublayer, order []uint8) {
	for i := range max(m.Layers, 1) {
		var k [2]*sublayer
		for part, list := range lists {
			n := slices.IndexFunc(list, func(s sublayer) bool { return s.has(m, i) })
			k[part] = &list[n]
		}
		n := slices.Index(kinds, k)
		if n < 0 {
			n, kinds = len(kinds), append(kinds, k)
		}
		order = append(order, uint8(n))
	}
	return kinds, order[:max(m.Layers, 0)]
}

// ownModule returns which layer a prediction module has where it is not the last kind, and adds it where no
// layer of the stack is like it: that of a shared key sees a window alone, and its mixture is balanced; where
// layers are sub-layers it has attention and a mixture or MLP (mtp_hybrid_override_pattern of Nemotron 3).
func (m *Model) ownModule(kinds [][2]*sublayer, mixers, feedForwards []sublayer) ([][2]*sublayer, int) {
	of := func(list []sublayer, id string) *sublayer {
		return &list[slices.IndexFunc(list, func(s sublayer) bool { return s.id == id })]
	}
	mixer := "full"
	switch {
	case m.MTPLayers > 0 && m.sharesKey():
		mixer = "sliding"
	case m.MTPLayers == 0 || !m.Flat():
		return kinds, -1
	}
	own := [2]*sublayer{of(mixers, mixer), of(feedForwards, "dense")}
	if m.IsMoE() {
		own[1] = of(feedForwards, "moe")
	}
	if n := slices.Index(kinds, own); n >= 0 {
		return kinds, n
	}
	return append(kinds, own), len(kinds)
}

// stack lays the distinct layers of the model out.
func (p *Program) stack(rec *record.Recorder, mixers, feedForwards []sublayer) {
	kinds, order := p.of.pattern(mixers, feedForwards)
	kinds, own := p.of.ownModule(kinds, mixers, feedForwards)
	p.Layers, p.order, p.module = make([]Layer, len(kinds)), order, -1
	hybrid := false
	for _, k := range kinds {
		hybrid = hybrid || k[0] != kinds[0][0]
	}
	for i, k := range kinds {
		l := &p.Layers[i]
		*l = newLayer(&p.of, rec, k)
		l.Index, l.ID, l.Name, l.Mixer, l.hybrid = i, k[1].id, k[1].name, k[0].id, hybrid
		l.wide = p.of.FFNWidths != ""
		if hybrid {
			l.ID, l.Name = strings.Trim(k[0].id+"_"+k[1].id, "_"), strings.Trim(k[0].name+"_"+k[1].name, "_")
		}
		l.Words = plain(l.Name)
		if k[0].id != "reselected" && (l.MoE || p.module < 0 || !p.Layers[p.module].MoE) {
			p.module = i
		}
	}
	if own >= 0 {
		p.module = own
	}
	for _, n := range order {
		p.Layers[n].Count++
	}
	p.period = period(order)
}

// period is Program.Period of an order: its length less that of its longest border, the start of it
// that is its end too.
func period(order []uint8) int {
	borders, k := make([]int, len(order)+1), 0
	for i := 1; i < len(order); i++ {
		for k > 0 && order[i] != order[k] {
			k = borders[k]
		}
		if order[i] == order[k] {
			k++
		}
		borders[i+1] = k
	}
	return len(order) - k
}

// Scope returns the scope of the figures of a part of a layer: where layers differ in their mixers, those
// of attention are of one mixer.
func (l *Layer) Scope(part string) string {
	if l.hybrid && (part == "attention" || part == "cp-hop" || strings.HasPrefix(part, "cp-attention")) {
		part = cmp.Or(l.Mixer, "none") + "." + part
	}
	if part == "mlp" && l.wide {
		part = l.ID + "." + part
	}
	return "layer." + part
}

// figure returns the identifier of one of them.
func (l *Layer) figure(part, id string) string { return l.Scope(part) + "." + id }
