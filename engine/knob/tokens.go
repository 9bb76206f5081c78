package knob

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxBatchTokens bounds a global batch in tokens, far beyond any that is trained with.
const maxBatchTokens = 1 << 50

// BatchTokens reads a global batch in tokens: 4Mtok, 512ktok, 4194304tok, where k is 2^10 and
// M 2^20. It is false for everything else.
func BatchTokens(text string) (int, bool) {
	clean := strings.TrimSpace(text)
	number, ok := strings.CutSuffix(strings.TrimSuffix(clean, "ens"), "tok")
	if number = strings.TrimSpace(number); !ok || number == "" {
		return 0, false
	}
	n, err := strconv.Atoi(number)
	if part, suffixed := suffixed(number); suffixed {
		n, err = int(math.Round(part)), nil
	}
	return n, err == nil && n > 0 && n <= maxBatchTokens
}

// MixedBatches returns the *ValueError of a list of global batches of which some are in tokens and
// some in sequences; nil for any other text.
func MixedBatches(text string) error {
	items := strings.Split(text, ",")
	tokens := 0
	for _, item := range items {
		if _, ok := BatchTokens(item); ok {
			tokens++
		}
	}
	if tokens == 0 || tokens == len(items) {
		return nil
	}
	return &ValueError{Field: string(GBS), Given: text, Allowed: "a list of tokens with the unit on each, such as 4Mtok,8Mtok, or of sequences, such as 512,1024"}
}

// bareMillions returns the *ValueError of a global batch such as 4M, which may be tokens or
// sequences, and of tokens that are no batch, such as 4Btok; nil for any other text.
func bareMillions(text string) error {
	clean := strings.TrimSpace(text)
	if number, tokens := strings.CutSuffix(strings.TrimSuffix(clean, "ens"), "tok"); tokens {
		if _, ok := BatchTokens(clean); ok {
			return nil
		}
		return &ValueError{Field: string(GBS), Given: text, Allowed: "tokens such as 4194304tok, 512ktok or 4Mtok (k is 1,024 and M 1,048,576), at least 1tok", Nearest: nearestTokens(strings.TrimSpace(number))}
	}
	if n, ok := suffixed(clean); ok && n > 0 && strings.ContainsAny(clean[len(clean)-1:], "mM") {
		return &ValueError{
			Field: string(GBS), Given: text,
			Allowed: fmt.Sprintf("%stok, which is tokens, or %s, which is sequences", clean, strconv.FormatFloat(n, 'f', -1, 64)), Nearest: clean + "tok",
		}
	}
	return nil
}

// nearestTokens writes the batch in tokens nearest to a number that is none: 4096Mtok for 4B.
func nearestTokens(number string) string {
	size := 1.0
	if n := len(number); n > 1 && strings.ContainsAny(number[n-1:], "gGbB") {
		number, size = number[:n-1], 1<<30
	}
	v, ok := suffixed(number)
	if !ok {
		var err error
		if v, err = strconv.ParseFloat(number, 64); err != nil || math.IsNaN(v) {
			return ""
		}
	}
	tokens := int(min(max(math.Round(v*size), 1), maxBatchTokens))
	if tokens%(1<<20) == 0 {
		return strconv.Itoa(tokens>>20) + "Mtok"
	}
	return strconv.Itoa(tokens) + "tok"
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
