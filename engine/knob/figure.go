package knob

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// noFigure is how a figure is written that was left out.
const noFigure = "none"

// largeUnit is a suffix of counts of tokens, with other words for it.
type largeUnit struct {
	letter string
	size   float64
	words  []string
}

// largeUnits returns the suffixes of counts of tokens, in powers of ten.
func largeUnits() []largeUnit {
	return []largeUnit{
		{"T", 1e12, []string{"tn", "trillion"}},
		{"B", 1e9, []string{"bn", "mrd", "billion"}},
		{"M", 1e6, []string{"mio", "million"}},
		{"k", 1e3, []string{"thousand"}},
	}
}

// ParseFigure reads a decimal number within the parameter's bounds, as people write it, or "none" for one
// that is left out, which is 0. A count of tokens may end in k, M, B or T, powers of ten: 15T is
// 15,000,000,000,000.
func (k *Knob) ParseFigure(text string) (float64, error) {
	if strings.TrimSpace(text) == noFigure {
		return 0, nil
	}
	number := text
	if strings.HasPrefix(k.Unit, "$") {
		number = strings.TrimPrefix(strings.TrimSpace(text), "$")
	}
	w, ok := readWritten(number)
	size, known := k.unit(w.unit)
	if !ok || !known {
		return 0, &ValueError{Field: string(k.ID), Given: text, Allowed: k.Allowed()}
	}
	if listOf(text) == aList {
		return 0, k.noScalar(text)
	}
	meant := w.meant(k.Large && size == 1)
	inBounds := slices.DeleteFunc(slices.Clone(meant), func(reading string) bool {
		v := w.number(reading) * size
		return v < k.Low && !(k.Large && v >= 1) || v > k.High // 15.000 tokens may be 15T
	})
	switch len(inBounds) {
	case 0:
		return 0, k.outside(text, w.number(meant[0])*size)
	case 1:
	default:
		return 0, w.twoReadings(string(k.ID), text, false)
	}
	v := w.number(inBounds[0]) * size
	if v < k.Low {
		return 0, k.outside(text, v)
	}
	if k.whole && v != math.Trunc(v) {
		return 0, &ValueError{
			Field: string(k.ID), Given: text, Allowed: k.Allowed(), Nearest: figureText(math.Round(v), false),
		}
	}
	if k.Large {
		v = math.Round(v) // there is no half token
	}
	return v, nil
}

// outside returns the error of a figure out of bounds.
func (k *Knob) outside(text string, v float64) error {
	allowed := k.Allowed()
	if k.Unit == "%" {
		allowed += ", in percent"
	}
	likely := k.meantAs(v)
	if k.Large && likely != v { // short, for a pop-up shows it while 2T is typed
		allowed = figureText(k.Low, true) + " or more"
	}
	nearest := figureText(min(max(likely, k.Low), k.High), k.Large)
	return &ValueError{Field: string(k.ID), Given: text, Allowed: allowed, Nearest: nearest}
}

// meantAs returns what a figure that is too low is meant as: tokens without their T, a share for a percent.
func (k *Knob) meantAs(v float64) float64 {
	switch {
	case k.Large && v >= 0.1 && v < k.Low:
		return math.Round(v * 1e12)
	case k.Unit == "%" && v >= k.Low/100 && v < k.Low:
		return math.Round(v*1e8) / 1e6
	}
	return v
}

// unit returns what the unit behind a figure multiplies by: of a count k, M, B or T, and the words that
// people use for them, before tok or tokens.
func (k *Knob) unit(unit string) (float64, bool) {
	if !k.Large {
		return 1, unit == "" || unit == k.Unit
	}
	unit = strings.ToLower(unit)
	for _, word := range []string{"tokens", "token", "tok"} {
		unit = strings.TrimSpace(strings.TrimSuffix(unit, word))
	}
	for _, u := range largeUnits() {
		if slices.Contains(u.words, unit) || unit == strings.ToLower(u.letter) {
			return u.size, true
		}
	}
	return 1, unit == ""
}

// clamp returns the nearest value that is allowed; none for what is no number.
func (k *Knob) clamp(v float64) float64 {
	if math.IsNaN(v) || v <= 0 {
		return 0
	}
	return min(max(v, k.Low), k.High)
}

// allows reports whether a figure is left out or within its bounds.
func (k *Knob) allows(v float64) bool {
	return v == 0 || v >= k.Low && v <= k.High && (!k.whole || v == math.Trunc(v))
}

// ladderValue returns a figure of a ladder; 0 for none.
func (k *Knob) ladderValue(text string) float64 {
	if k.Kind == Rate {
		v, _ := ParseRate("", text)
		return v
	}
	v, _ := k.ParseFigure(text)
	return v
}

// figureText writes a figure so that it reads back as itself: 2.5, 15T, none.
func figureText(v float64, large bool) string {
	if v == 0 {
		return noFigure
	}
	if large {
		for _, unit := range largeUnits() {
			if v < unit.size {
				continue
			}
			short := strconv.FormatFloat(v/unit.size, 'g', 6, 64)
			if back, err := strconv.ParseFloat(short, 64); err == nil && back*unit.size == v &&
				!strings.Contains(short, "e") {
				return short + unit.letter
			}
		}
	}
	if v >= 1e-6 && v < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// figureAllowed says which values a figure takes.
func (k *Knob) figureAllowed() string {
	suffix := ""
	if k.Large {
		suffix = " (k, M, B and T are powers of ten)"
	}
	kind := "a number"
	if k.whole {
		kind = "a whole number"
	}
	return fmt.Sprintf("%s from %s to %s%s, or none", kind, figureText(k.Low, k.Large),
		figureText(k.High, k.Large), suffix)
}
