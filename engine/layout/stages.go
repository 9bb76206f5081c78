package layout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/model"
)

// Stage is what one model stage (a position in the model, 0 to PP*VPP-1) holds.
type Stage struct {
	Of        Counts // transformer layers
	Start     int16  // of several kinds: where in the period of the model's kinds the first one stands
	Embedding bool   // the first stage
	Head      bool   // the last stage: final norm, head, loss, and MTP modules
}

// Counts are layers by kind: by their index in model.Program.Layers.
type Counts [model.MaxKinds]int16

// Layers returns the number of transformer layers of the stage.
func (s *Stage) Layers() int {
	n := 0
	for _, of := range &s.Of {
		n += int(of)
	}
	return n
}

// Take returns the first so many layers of a stage.
func (s *Stage) Take(p *model.Program, n int) (part Counts) {
	if n == 0 { // nearly always
		return part
	}
	all := s.Layers()
	if n >= all {
		return s.Of
	}
	for i, of := range &s.Of {
		if int(of) == all {
			part[i] = int16(n)
			return part
		}
	}
	for i := range n {
		part[p.At(int(s.Start)+i)]++
	}
	return part
}

// Partition says which layers stand on which stage, in the order of the model. It
// appends to into[:0], so that a caller can reuse memory. An empty Split is the
// balanced one: every stage gets layers/stages, and what is left over goes to
// the stages in the middle first, because the first and the last also carry
// the embedding and the head (Llama 3 405B takes one layer off each for the
// same reason, arXiv 2407.21783 section 3.3). Where a pattern gives layers of
// several kinds it balances what they cost instead.
func (l *Layout) Partition(p *model.Program, into []Stage) ([]Stage, error) {
	n, m := l.Stages(), p.Model()
	if n < 1 {
		return into[:0], fmt.Errorf("pp x vpp must be at least 1, is %d", n)
	}
	stages := into[:0]
	var given []int
	if l.Split != "" {
		var err error
		if given, err = ParseSplit(l.Split, n, m.Layers); err != nil {
			return stages, err
		}
	}
	if given == nil && SplitsByCost(m) {
		if starts := stageStarts(m); n <= len(starts) {
			given = l.cheapest(p, n, starts)
		}
	}
	for i := range n {
		count := balanced(m.Layers, n, i)
		if given != nil {
			count = given[i]
		}
		stages = append(stages, Stage{Of: Counts{int16(count)}})
	}
	place(p, stages)
	return stages, nil
}

// place makes stages that have counted so many layers as the first kind the stages of a model.
func place(p *model.Program, stages []Stage) {
	next := 0
	for i := range stages {
		all := stages[i].Of
		count := int(all[0])
		stages[i] = Stage{Embedding: i == 0, Head: i == len(stages)-1}
		if p.Period() == 1 { // layers are all alike
			stages[i].Of = all
			continue
		}
		for range count {
			stages[i].Of[p.At(next)]++
			next++
		}
		if count > 1 && int(stages[i].Of[p.At(next-1)]) < count {
			stages[i].Start = int16((next - count) % p.Period())
		}
	}
}

// balanced returns the number of layers of stage i when layers are spread over n
// stages: the remainder (always below n) goes to stages 1..n-2, then to 0.
func balanced(layers, n, i int) int {
	base, rest := layers/n, layers%n
	middle := max(n-2, 0)
	switch {
	case i == 0 && rest > middle, i > 0 && i < n-1 && i <= rest:
		return base + 1
	default:
		return base
	}
}

// ParseSplit reads "15,16,16,14": the layers of each of the given number of
// stages, which must add up to the model's layers.
func ParseSplit(text string, stages, layers int) ([]int, error) {
	words := strings.Split(text, ",")
	if len(words) != stages {
		return nil, fmt.Errorf("split %s names %d stages, pp x vpp is %d", escape.Quote(text), len(words),
			stages)
	}
	out := make([]int, 0, stages)
	sum := 0
	for _, w := range words {
		n, err := strconv.Atoi(strings.TrimSpace(w))
		if err != nil || n < 0 || n > layers {
			return nil, fmt.Errorf("split %s: %s is not a number of layers from 0 to %d", escape.Quote(text),
				escape.Quote(strings.TrimSpace(w)), layers)
		}
		out = append(out, n)
		sum += n
	}
	if sum != layers {
		return nil, fmt.Errorf("split %s adds up to %d layers, the model has %d", escape.Quote(text), sum,
			layers)
	}
	return out, nil
}

// stageStarts lists the layers that a stage may begin with. A layer that attends to the tokens that an
// earlier one chose, or to its keys, is none: no launcher sends them between stages
// (megatron/core/transformer/experimental_attention_variant/dsa.py).
func stageStarts(m *model.Model) (layers []int) {
	begins := m.Begins()
	for i := range max(m.Layers, 0) {
		if begins(i) {
			layers = append(layers, i)
		}
	}
	return layers
}

// reusing returns the first stage of a split, from 0, that begins with a layer which no stage may begin with,
// and that layer; -1 where none does.
func reusing(m *model.Model, split []int) (stage, layer int) {
	begins := m.Begins()
	for i, n := range split {
		if n > 0 && layer < m.Layers && !begins(layer) {
			return i, layer
		}
		layer += n
	}
	return -1, 0
}

// NearestSplit writes the split whose stages begin nearest to those of a split, at layers that a stage may
// begin with; to those of the balanced one where it is no split of so many stages.
func NearestSplit(m *model.Model, text string, stages int) string {
	starts, balancedText := stageStarts(m), BalancedSplit(m.Layers, stages)
	split, err := ParseSplit(text, stages, m.Layers)
	if err != nil {
		split, err = ParseSplit(balancedText, stages, m.Layers)
	}
	if err != nil || len(starts) < stages {
		return balancedText
	}
	words := make([]string, stages)
	end, begin := 0, 0 // of the stage as it is given, and which of starts it begins with
	for i := range stages - 1 {
		end += split[i]
		next := begin + 1 // the others have a layer each
		for next < len(starts)-(stages-1-i) && max(starts[next]-end, end-starts[next]) >
			max(starts[next+1]-end, end-starts[next+1]) {
			next++
		}
		words[i], begin = strconv.Itoa(starts[next]-starts[begin]), next
	}
	words[stages-1] = strconv.Itoa(m.Layers - starts[begin])
	return strings.Join(words, ",")
}

// BalancedSplit writes the balanced split as the word of --split.
func BalancedSplit(layers, stages int) string {
	var b strings.Builder
	for i := range stages {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(balanced(layers, stages, i)))
	}
	return b.String()
}

// SplitOf writes the layers of stages as the word of --split.
func SplitOf(stages []Stage) string {
	words := make([]string, len(stages))
	for i := range stages {
		words[i] = strconv.Itoa(stages[i].Layers())
	}
	return strings.Join(words, ",")
}

// MostWritten is of how many stages a person would write down the layers.
const MostWritten = 16

// LighterEnds lists splits whose last stage, or first and last, has one or two layers less than the
// others, as the head and the embedding take the time of layers; none of fewer than two stages, nor of more
// than MostWritten, nor the balanced one.
func LighterEnds(layers, stages int) []string {
	if stages < 2 || stages > MostWritten {
		return nil
	}
	out := []string{BalancedSplit(layers, stages)}
	for less := 1; less <= 2; less++ {
		for _, first := range []int{0, less} {
			parts, least := make([]string, stages), layers
			for i := range parts {
				n := balanced(layers+first+less, stages, i)
				if i == 0 {
					n -= first
				}
				if i == stages-1 {
					n -= less
				}
				parts[i], least = strconv.Itoa(n), min(least, n)
			}
			if split := strings.Join(parts, ","); least >= 0 && !slices.Contains(out, split) {
				out = append(out, split)
			}
		}
	}
	return out[1:]
}

// RecomputedLayers returns how many layers of a stage run again when full
// recomputation is requested perRank layers of each rank (0: all). The stages
// of a rank share them evenly.
func (l *Layout) RecomputedLayers(perRank, stage int, st *Stage) int {
	if perRank == 0 {
		return st.Layers()
	}
	if each := perRank / l.VPP; each*l.VPP == perRank {
		return min(each, st.Layers())
	}
	chunk := stage / l.PP
	return min(perRank*(chunk+1)/l.VPP-perRank*chunk/l.VPP, st.Layers())
}
