package knob

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// noFigure is how a figure is written that was left out.
const noFigure = "none"

// largeUnits returns the suffixes of counts of tokens, in powers of ten.
func largeUnits() []struct {
	letter byte
	size   float64
} {
	return []struct {
		letter byte
		size   float64
	}{{'T', 1e12}, {'B', 1e9}, {'M', 1e6}, {'k', 1e3}}
}

// ParseFigure reads a decimal number within the parameter's bounds, or "none" for one that is left out, which is 0.
// A count of tokens may end in k, M, B or T, powers of ten: 15T is 15,000,000,000,000.
func (k *Knob) ParseFigure(text string) (float64, error) {
	trimmed := strings.TrimSpace(text)
	if trimmed == noFigure {
		return 0, nil
	}
	digits, size := trimmed, 1.0
	if n := len(trimmed); k.Large && n > 1 {
		for _, unit := range largeUnits() {
			if last := trimmed[n-1]; last == unit.letter || last|0x20 == unit.letter|0x20 {
				digits, size = trimmed[:n-1], unit.size
			}
		}
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || strings.Trim(digits, "+-.eE0123456789") != "" {
		return 0, &ValueError{Field: string(k.ID), Given: text, Allowed: k.Allowed()}
	}
	v *= size
	if v < k.Low || v > k.High {
		nearest := figureText(min(max(v, k.Low), k.High), k.Large)
		return 0, &ValueError{Field: string(k.ID), Given: text, Allowed: k.Allowed(), Nearest: nearest}
	}
	if k.Large {
		v = math.Round(v) // there is no half token
	}
	return v, nil
}

// clamp returns the nearest value that is allowed; none for what is no number.
func (k *Knob) clamp(v float64) float64 {
	if math.IsNaN(v) || v <= 0 {
		return 0
	}
	return min(max(v, k.Low), k.High)
}

// allows reports whether a figure is left out or within its bounds.
func (k *Knob) allows(v float64) bool { return v == 0 || v >= k.Low && v <= k.High }

// ladderValue returns a figure of a ladder; 0 for none.
func (k *Knob) ladderValue(text string) float64 {
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
			if back, err := strconv.ParseFloat(short, 64); err == nil && back*unit.size == v && !strings.Contains(short, "e") {
				return short + string(unit.letter)
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
	return fmt.Sprintf("a number from %s to %s%s, or none", figureText(k.Low, k.Large), figureText(k.High, k.Large), suffix)
}
