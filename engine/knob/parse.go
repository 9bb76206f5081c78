package knob

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/recipe"
)

// ParseInt reads a whole number within the parameter's bounds, as people write it. A suffix k or M
// counts in powers of two, as sequences and batches do: 8k is 8192.
func (k *Knob) ParseInt(text string) (int, error) {
	if n, err := strconv.Atoi(text); err == nil && n >= k.Min && n <= k.Max {
		return n, nil
	}
	if k.ID == GBS {
		if err := bareMillions(text); err != nil {
			return 0, err
		}
	}
	w, ok := readWritten(text)
	size, known := binaryUnit(w.unit)
	if !ok || !known {
		return 0, k.noWhole(text)
	}
	var fit []string // the readings that are whole numbers
	meant := w.meant(w.unit == "")
	for _, reading := range meant {
		if v := w.number(reading) * size; v == math.Trunc(v) && !strings.Contains(w.exponent, "-") &&
			(w.unit != "" || !decimalComma(text, reading)) {
			fit = append(fit, reading)
		}
	}
	switch {
	case len(fit) > 1, len(fit) == 1 && len(meant) > 1 && w.unit == "":
		if v := w.number(w.readings[0]) * size; v <= float64(k.Max) {
			return 0, w.twoReadings(string(k.ID), text, len(fit) == 1)
		}
		return k.within(text, w.number(w.readings[1])*size) // 1.000 of what has no thousands
	case len(fit) == 1 && listOf(text) == aList:
		wrong := k.noScalar(text)
		if v := w.number(fit[0]) * size; v <= float64(k.Max) { // what it is where no list is meant
			wrong.Allowed = fmt.Sprintf("one number (%.0f without commas)", v)
		}
		return 0, wrong
	case len(fit) == 1:
		return k.within(text, w.number(fit[0])*size)
	}
	wrong, v := k.noWhole(text), w.number(meant[0])*size
	if wrong.List { // 12,8 is not meant as 13
		return 0, wrong
	}
	if w.unit != "" {
		wrong.Allowed += fmt.Sprintf(" (k is 1,024 and M 1,048,576, so this is %s)",
			strconv.FormatFloat(v, 'f', -1, 64))
	}
	wrong.Nearest = strconv.Itoa(int(min(max(math.Round(v), float64(k.Min)), float64(k.Max))))
	return 0, wrong
}

// noWhole is the *ValueError of what is no whole number; of a list it says what takes lists.
func (k *Knob) noWhole(text string) *ValueError {
	wrong := &ValueError{Field: string(k.ID), Given: text, Allowed: k.Allowed()}
	first, cut := strings.CutSuffix(strings.TrimSpace(text), ",")
	if cut && !strings.HasSuffix(strings.TrimSpace(first), ",") { // 512, is no list
		if n, err := k.ParseInt(first); err == nil {
			wrong.Nearest = strconv.Itoa(n)
			return wrong
		}
	}
	items, err := k.Items(text)
	wrong.Nearest, _ = k.MeantValue(text)
	wrong.List = k.searched && (strings.Contains(text, "..") || err == nil && len(items) > 1)
	return wrong
}

// within returns a whole number that a text means, unless it is out of bounds.
func (k *Knob) within(text string, v float64) (int, error) {
	if v < float64(k.Min) || v > float64(k.Max) {
		return 0, k.outOfRange(text, int(min(max(v, float64(k.Min)), float64(k.Max))))
	}
	return int(v), nil
}

// binaryUnit returns what k or M behind a whole number multiplies by.
func binaryUnit(unit string) (float64, bool) {
	switch unit {
	case "":
		return 1, true
	case "k", "K":
		return 1 << 10, true
	case "m", "M":
		return 1 << 20, true
	}
	return 0, false
}

func (k *Knob) outOfRange(given string, nearest int) *ValueError {
	return &ValueError{
		Field: string(k.ID), Given: given, Allowed: k.Allowed(),
		Nearest: strconv.Itoa(nearest),
	}
}

func (k *Knob) parseToggle(text string) (bool, error) {
	on, ok := Switched(text)
	if !ok {
		return false, &ValueError{Field: string(k.ID), Given: text, Allowed: k.Allowed()}
	}
	return on, nil
}

// Switched reads a word of a switch; ok is false for another.
func Switched(text string) (on, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "on", "true", "1", "yes":
		return true, true
	case "off", "false", "0", "no":
		return false, true
	}
	return false, false
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
	if of, same := k.MeantValue(word); same {
		return of, nil
	}
	if of, ok := Spelled(word, k.Choices); ok {
		return of, nil
	}
	if list, ok := recipe.ParseTargets(word); ok && k.parts != nil {
		return list, nil
	}
	return "", &ValueError{
		Field: string(k.ID), Given: text, Allowed: k.Allowed(),
		Nearest: k.closest(word),
	}
}

// balancedWord is the split that is none of its own.
const balancedWord = "balanced"

// parseSplit reads layers per stage; nothing for a balanced split.
func (k *Knob) parseSplit(text string) (string, error) {
	clean := strings.ReplaceAll(strings.TrimSpace(text), " ", "")
	if clean == "" || clean == balancedWord {
		return "", nil
	}
	bad := &ValueError{Field: string(k.ID), Given: text, Allowed: k.Allowed()}
	if len(clean) > maxSplitLen {
		bad.Given = clean[:16] + "..."
		return "", bad
	}
	for part := range strings.SplitSeq(clean, ",") {
		if n, err := strconv.Atoi(part); err != nil || n < 0 || n > MaxDegree ||
			strings.HasPrefix(part, "+") {
			return "", bad
		}
	}
	return clean, nil
}

// parseRecompute reads a mode of recomputation, with a number of layers or modules.
func (k *Knob) parseRecompute(text string) (recipe.Recompute, error) {
	var r recipe.Recompute
	word := strings.TrimSpace(text)
	if r.UnmarshalText([]byte(word)) == nil {
		return r, nil
	}
	of, same := k.MeantValue(word)
	if !same || r.UnmarshalText([]byte(of)) != nil {
		return r, &ValueError{
			Field: string(k.ID), Given: text, Allowed: k.Allowed(),
			Nearest: k.nearestRecompute(text),
		}
	}
	return r, nil
}

// nearestRecompute returns a number of layers within bounds for full:N, else the word that
// is most like it.
func (k *Knob) nearestRecompute(text string) string {
	if mode, layers, ok := strings.Cut(strings.TrimSpace(text), ":"); ok &&
		mode == string(recipe.RecomputeFull) {
		if n, err := strconv.ParseFloat(layers, 64); err == nil && !math.IsNaN(n) {
			return fmt.Sprintf("%s:%d", mode, int(min(max(math.Round(n), 1), recipe.MaxRecomputeLayers)))
		}
	}
	return k.closest(text)
}

// closest returns the value that another word for it stands for, else the choice that is spelled most like
// it; empty where none is.
func (k *Knob) closest(typed string) string {
	if value, _ := k.MeantValue(typed); value != "" {
		return value
	}
	return closestWord(typed, k.Choices)
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
