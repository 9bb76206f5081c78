package knob

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxBatchTokens bounds a global batch in tokens, far beyond any that is trained with.
const maxBatchTokens = 1 << 50

// BatchTokens reads a global batch in tokens: 4Mtok, 512ktok, 4,194,304 tok, where k is 2^10 and
// M 2^20. It is false for everything else, also for what can mean two batches.
func BatchTokens(text string) (int, bool) {
	tokens, isBatch, err := batchTokens(text)
	return tokens, isBatch && err == nil
}

// batchTokens reads a global batch in tokens; isBatch is false for what has no such unit.
func batchTokens(text string) (tokens int, isBatch bool, err error) {
	w, ok := readWritten(text)
	unit, inTokens := strings.CutSuffix(strings.TrimSuffix(w.unit, "ens"), "tok")
	if !ok || !inTokens {
		return 0, false, nil
	}
	size, known := binaryUnit(strings.TrimSpace(unit))
	refused := &ValueError{
		Field: string(GBS), Given: text, Nearest: w.nearestTokens(strings.TrimSpace(unit)),
		Allowed: "tokens such as 4194304tok, 512ktok or 4Mtok (k is 1,024 and M 1,048,576), at least 1tok",
	}
	meant := w.meant(unit == "")
	if len(meant) > 1 {
		return 0, true, w.twoReadings(string(GBS), text, false)
	}
	v := w.number(meant[0]) * size
	if !known || w.exponent != "" || v < 1 || v > maxBatchTokens || size == 1 && v != math.Trunc(v) {
		return 0, true, refused
	}
	return int(math.Round(v)), true, nil
}

// bareMillions returns the *ValueError of a global batch such as 4M, which may be tokens or
// sequences, and of tokens that are no batch, such as 4Btok; nil for any other text.
func bareMillions(text string) error {
	if _, inTokens, err := batchTokens(text); inTokens {
		return err
	}
	w, ok := readWritten(text)
	if !ok || w.exponent != "" || !slices.Contains([]string{"m", "M", "Mio", "mio"}, w.unit) ||
		w.number(w.readings[0]) <= 0 {
		return nil
	}
	meant := w.meant(false)
	if len(meant) > 1 {
		return w.twoReadings(string(GBS), text, false)
	}
	tokens := w.sign + meant[0] + w.unit[:1] + "tok"
	return &ValueError{
		Field: string(GBS), Given: text, Nearest: tokens, Open: true,
		Allowed: fmt.Sprintf("%s, which is tokens, or %s, which is sequences", tokens,
			strconv.FormatFloat(w.number(meant[0])*(1<<20), 'f', -1, 64)),
	}
}

// nearestTokens writes the batch in tokens nearest to a number that is none: 4096Mtok for 4B.
func (w *written) nearestTokens(unit string) string {
	size, known := binaryUnit(unit)
	if slices.Contains([]string{"g", "G", "b", "B"}, unit) {
		size, known = 1<<30, true
	}
	if !known {
		return ""
	}
	tokens := int(min(max(math.Round(w.number(w.meant(false)[0])*size), 1), maxBatchTokens))
	if tokens%(1<<20) == 0 {
		return strconv.Itoa(tokens>>20) + "Mtok"
	}
	return strconv.Itoa(tokens) + "tok"
}

// BatchesInTokens reads a list of global batches in tokens, such as 4Mtok,8Mtok; none where all are
// in sequences. A list of both is a *ValueError.
func BatchesInTokens(text string) (out []int, err error) {
	k := find(GBS)
	items, err := k.Items(text)
	for _, item := range items {
		if tokens, ok := BatchTokens(item); ok {
			out = append(out, tokens)
		}
	}
	if err == nil && len(out) > 0 && len(out) < len(items) {
		err = &ValueError{Field: string(GBS), Given: text, Allowed: "a list of tokens with the unit on " +
			"each, such as 4Mtok,8Mtok, or of sequences, such as 512,1024"}
	}
	return out, err
}

// BatchOf returns the global batch of a setup nearest to so many tokens, in sequences: a multiple
// of the micro-batch and the replicas.
func (s *Setup) BatchOf(tokens int) int {
	return nearestMultiple(float64(tokens)/float64(max(s.Seq, 1)), product(s.MBS, s.DP))
}

// nearestMultiple returns the multiple of a unit nearest to x, at least the unit.
func nearestMultiple(x float64, unit int) int {
	unit = max(unit, 1)
	return max(1, int(math.Round(min(x/float64(unit), MaxBatch)))) * unit
}

// followSeq keeps the tokens of a batch when the sequence turns.
func followSeq(s, old *Setup, l Locks) {
	if l.Tokens {
		s.GBS = s.BatchOf(product(old.GBS, old.Seq))
		s.MicroBatches = microBatchesOf(s)
	}
}
