package engine

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// noFigure is how a figure is written that was left out.
const noFigure = "none"

// figureParam makes a parameter of a decimal number; 0 leaves it out.
func figureParam(p Param, low, high float64, field func(*Setup) *float64, draft func(*Draft) **float64) Param {
	p.Kind, p.Low, p.High, p.figure = FigureParam, low, high, field
	p.read = func(s *Setup) string { return figureText(*field(s), p.Large) }
	p.draftGiven = func(d *Draft) bool { return *draft(d) != nil }
	large := p.Large
	p.draftTake = func(d *Draft) string {
		text := figureText(**draft(d), large)
		*draft(d) = nil
		return text
	}
	check := p // the closures must not keep a copy of themselves
	p.write = func(s *Setup, text string) error {
		v, err := check.ParseFigure(text)
		if err == nil {
			*field(s) = v
		}
		return err
	}
	p.draftWrite = func(d *Draft, text string) error {
		v, err := check.ParseFigure(text)
		if err == nil {
			*draft(d) = &v
		}
		return err
	}
	return p
}

// largeUnits are the suffixes of counts of tokens, in powers of ten.
func largeUnits() []struct {
	letter byte
	size   float64
} {
	return []struct {
		letter byte
		size   float64
	}{{'T', 1e12}, {'B', 1e9}, {'M', 1e6}, {'k', 1e3}}
}

// ParseFigure reads a decimal number within the parameter's bounds, "none" or 0
// for one that is left out. A count of tokens may end in k, M, B or T, powers of
// ten: 15T is 15,000,000,000,000.
func (p *Param) ParseFigure(text string) (float64, error) {
	trimmed := strings.TrimSpace(text)
	if trimmed == noFigure {
		return 0, nil
	}
	digits, size := trimmed, 1.0
	if n := len(trimmed); p.Large && n > 1 {
		for _, unit := range largeUnits() {
			if last := trimmed[n-1]; last == unit.letter || last|0x20 == unit.letter|0x20 {
				digits, size = trimmed[:n-1], unit.size
			}
		}
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || strings.Trim(digits, "+-.eE0123456789") != "" {
		return 0, &ValueError{Field: string(p.ID), Given: text, Allowed: p.Allowed()}
	}
	v *= size
	if v == 0 && !isZero(digits) || v != 0 && (v < p.Low || v > p.High) {
		nearest := figureText(min(max(v, p.Low), p.High), p.Large)
		return 0, &ValueError{Field: string(p.ID), Given: text, Allowed: p.Allowed(), Nearest: nearest}
	}
	if p.Large {
		v = math.Round(v) // there is no half token
	}
	return v, nil
}

// isZero says whether a decimal number is zero, and not just too small for a float.
func isZero(digits string) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(digits), "e")
	return strings.Trim(mantissa, "+-.0") == ""
}

// clamp is the nearest value that is allowed; none for what is no number.
func (p *Param) clamp(v float64) float64 {
	if math.IsNaN(v) || v <= 0 {
		return 0
	}
	return min(max(v, p.Low), p.High)
}

// allows says whether a figure is left out or within its bounds.
func (p *Param) allows(v float64) bool { return v == 0 || v >= p.Low && v <= p.High }

// value is a figure of a ladder; 0 for none.
func (p *Param) value(text string) float64 {
	v, _ := p.ParseFigure(text)
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
func (p *Param) figureAllowed() string {
	suffix := ""
	if p.Large {
		suffix = " (k, M, B and T are powers of ten)"
	}
	return fmt.Sprintf("a number from %s to %s%s, or none", figureText(p.Low, p.Large), figureText(p.High, p.Large), suffix)
}

// runParams are what a whole training run takes beside the setup.
func runParams() []Param {
	return []Param{
		figureParam(Param{
			ID: "tokens", Label: "train on", Unit: "tokens", Large: true,
			Help:    "Tokens of the whole training run, such as 15T: gives its days, GPU-hours, cost and energy; none asks for no run.",
			Choices: []string{noFigure, "100B", "300B", "1T", "2T", "5T", "10T", "15T", "20T", "40T"},
		}, MinTokens, MaxTokens, func(s *Setup) *float64 { return &s.Budget }, func(d *Draft) **float64 { return &d.Budget }),
		figureParam(Param{
			ID: "price", Label: "price", Unit: "$ per GPU-hour",
			Help:    "Dollars per GPU and hour: multiplies the GPU-hours of the whole run into its cost; none takes the GPU's preset where there is one.",
			Choices: []string{noFigure, "0.5", "1", "1.5", "2", "2.5", "3", "4", "5", "6", "8", "10"},
		}, MinPrice, MaxPrice, func(s *Setup) *float64 { return &s.Price }, func(d *Draft) **float64 { return &d.Price }),
		figureParam(Param{
			ID: "power", Label: "power", Unit: "W per GPU",
			Help:    "Watts that a GPU draws while it trains: multiplies the GPU-hours of the whole run into its energy; none takes the GPU's TDP, which is an upper bound.",
			Choices: []string{noFigure, "300", "400", "500", "600", "700", "800", "1000", "1200", "1400"},
		}, MinPower, MaxPower, func(s *Setup) *float64 { return &s.Power }, func(d *Draft) **float64 { return &d.Power }),
		figureParam(Param{
			ID: "pue", Label: "PUE",
			Help:    "Power of everything over that of the GPUs (host, network, storage, cooling): multiplies the energy of the whole run; none counts the GPUs alone.",
			Choices: []string{noFigure, "1", "1.1", "1.2", "1.3", "1.5", "2"},
		}, MinPUE, MaxPUE, func(s *Setup) *float64 { return &s.PUE }, func(d *Draft) **float64 { return &d.PUE }),
		figureParam(Param{
			ID: "goodput", Label: "goodput", Unit: "%",
			Help:    "Share of the time in percent in which steps advance the run: failures, restarts, checkpoints and evaluation take the rest; none loses nothing.",
			Choices: []string{noFigure, "80", "85", "90", "95", "99", "100"},
		}, MinGoodput, MaxGoodput, func(s *Setup) *float64 { return &s.Goodput }, func(d *Draft) **float64 { return &d.Goodput }),
	}
}
