package knob

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/recipe"
)

// ParseInt reads a whole number within the parameter's bounds. A suffix k or M
// counts in powers of two, as sequences and batches do: 8k is 8192.
func (k *Knob) ParseInt(text string) (int, error) {
	if k.ID == GBS {
		if err := bareMillions(text); err != nil {
			return 0, err
		}
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if m, ok := binarySuffix(text); ok {
		n, err = m, nil
	}
	if err != nil {
		// A number beyond 64 bits is out of range, anything else is no number.
		nearest, allowed := "", k.Allowed()
		if n != 0 {
			nearest = strconv.Itoa(min(max(n, k.Min), k.Max))
		} else if v, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && !math.IsNaN(v) { // 1.5, 1e3
			nearest = strconv.Itoa(int(min(max(math.Round(v), float64(k.Min)), float64(k.Max))))
		}
		if part, ok := suffixed(text); ok { // 9.2k: no whole number of them
			nearest = strconv.Itoa(min(max(int(math.Round(part)), k.Min), k.Max))
			allowed += fmt.Sprintf(" (k is 1,024 and M 1,048,576, so this is %s)", strconv.FormatFloat(part, 'f', -1, 64))
		}
		return 0, &ValueError{Field: string(k.ID), Given: text, Allowed: allowed, Nearest: nearest}
	}
	if n < k.Min || n > k.Max {
		return 0, k.outOfRange(text, min(max(n, k.Min), k.Max))
	}
	return n, nil
}

// binarySuffix reads 8k, 1.5k, 2M; false for anything else and where the result
// is not whole.
func binarySuffix(text string) (int, bool) {
	value, ok := suffixed(text)
	if !ok || value != math.Trunc(value) {
		return 0, false
	}
	return int(value), true
}

// suffixed returns a number before k or M, whole or not; false for anything else and
// where it is beyond all bounds.
func suffixed(text string) (float64, bool) {
	trimmed := strings.TrimSpace(text)
	if len(trimmed) < 2 {
		return 0, false
	}
	unit := 0.0
	switch trimmed[len(trimmed)-1] {
	case 'k', 'K':
		unit = 1 << 10
	case 'm', 'M':
		unit = 1 << 20
	default:
		return 0, false
	}
	digits := trimmed[:len(trimmed)-1]
	if strings.Trim(digits, "-0123456789.") != "" {
		return 0, false // no exponents, no hexadecimal
	}
	x, err := strconv.ParseFloat(digits, 64)
	value := x * unit
	if err != nil || math.Abs(value) > 1<<53 {
		return 0, false
	}
	return value, true
}

func (k *Knob) outOfRange(given string, nearest int) *ValueError {
	return &ValueError{Field: string(k.ID), Given: given, Allowed: k.Allowed(), Nearest: strconv.Itoa(nearest)}
}

func (k *Knob) parseToggle(text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "on", "true", "1", "yes":
		return true, nil
	case "off", "false", "0", "no":
		return false, nil
	}
	return false, &ValueError{Field: string(k.ID), Given: text, Allowed: k.Allowed()}
}

// parseWord reads one of the choices, or the split of the layers.
func (k *Knob) parseWord(text string) (string, error) {
	if k.Kind == List {
		return k.parseSplit(text)
	}
	word := strings.TrimSpace(text)
	if slices.Contains(k.Choices, word) {
		return word, nil
	}
	return "", &ValueError{Field: string(k.ID), Given: text, Allowed: k.Allowed(), Nearest: closestWord(word, k.Choices)}
}

// parseSplit reads layers per stage; nothing for a balanced split.
func (k *Knob) parseSplit(text string) (string, error) {
	clean := strings.ReplaceAll(strings.TrimSpace(text), " ", "")
	if clean == "" || clean == "balanced" {
		return "", nil
	}
	bad := &ValueError{Field: string(k.ID), Given: text, Allowed: k.Allowed()}
	if len(clean) > maxSplitLen {
		bad.Given = clean[:16] + "..."
		return "", bad
	}
	for part := range strings.SplitSeq(clean, ",") {
		if n, err := strconv.Atoi(part); err != nil || n < 0 || n > MaxDegree || strings.HasPrefix(part, "+") {
			return "", bad
		}
	}
	return clean, nil
}

// parseRecompute reads a mode of recomputation, with a number of layers or modules.
func (k *Knob) parseRecompute(text string) (recipe.Recompute, error) {
	var r recipe.Recompute
	if r.UnmarshalText([]byte(strings.TrimSpace(text))) != nil {
		return r, &ValueError{Field: string(k.ID), Given: text, Allowed: k.Allowed(), Nearest: nearestRecompute(text, k.Choices)}
	}
	return r, nil
}

// nearestRecompute returns a number of layers within bounds for full:N, else the word that
// is most like it.
func nearestRecompute(text string, words []string) string {
	if mode, layers, ok := strings.Cut(strings.TrimSpace(text), ":"); ok && mode == string(recipe.RecomputeFull) {
		if n, err := strconv.ParseFloat(layers, 64); err == nil && !math.IsNaN(n) {
			return fmt.Sprintf("%s:%d", mode, int(min(max(math.Round(n), 1), recipe.MaxRecomputeLayers)))
		}
	}
	return closestWord(text, words)
}

// closestWord returns the choice that shares the longest beginning, else end, with what was
// typed, hyphens aside; none that shares less than a third of it.
func closestWord(typed string, choices []string) string {
	best, length := "", 0
	typed = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(typed), "-", ""))
	for _, c := range choices {
		n, plain := 0, strings.ReplaceAll(c, "-", "")
		shorter := min(len(plain), len(typed))
		for n < shorter && plain[n] == typed[n] {
			n++
		}
		if n == 0 {
			for n < shorter && plain[len(plain)-1-n] == typed[len(typed)-1-n] {
				n++
			}
		}
		if n > length && 3*n >= len(typed) {
			best, length = c, n
		}
	}
	return best
}
