package engine

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// Named bounds of what may be asked for: those of what is evaluated at all.
const (
	MaxDegree       = layout.MaxDegree // any one degree of parallelism, and the micro-batch size
	MaxGPUs         = layout.MaxGPUs
	MaxMicroBatches = layout.MaxMicroBatches
	MaxBatch        = layout.MaxGBS // sequences
	MaxSeq          = layout.MaxSeq // tokens
	maxSplitLen     = 1 << 16       // characters of a stage split
)

// ParamID is the name of a parameter: that of its flag, without the dashes.
type ParamID string

// ParamKind is what the values of a parameter look like.
type ParamKind int

// Kinds of parameters.
const (
	IntParam    ParamKind = iota // a whole number from Min to Max
	ChoiceParam                  // one of Choices
	BoolParam                    // on or off
	TextParam                    // free text with its own rules (the stage split)
	FigureParam                  // a decimal number from Low to High, or none
)

// Param describes one thing the user can turn: what it is called, what it
// means, which values it takes and how it reads and writes a Setup.
type Param struct {
	ID      ParamID
	Label   string // short, for a column of knobs
	Unit    string // empty for plain numbers and words
	Help    string // one sentence: what it cuts and what it costs
	Kind    ParamKind
	Min     int
	Max     int
	Choices []string // of a FigureParam: values to step through

	Low, High float64 // of a FigureParam
	Large     bool    // a FigureParam that may end in k, M, B or T

	figure func(*Setup) *float64
	number func(*Setup) *int // IntParam; nil for nodes, which is derived
	toggle func(*Setup) *bool
	read   func(*Setup) string // ChoiceParam and TextParam
	write  func(*Setup, string) error

	draftNumber func(*Draft) **int
	draftToggle func(*Draft) **bool
	draftWrite  func(*Draft, string) error
	draftGiven  func(*Draft) bool
	draftTake   func(*Draft) string // ChoiceParam and TextParam: what was said, which is unsaid then
}

// ValueError says that a value cannot be taken at all: not a number, out of
// its named bounds, a word that is not one of the choices.
type ValueError struct {
	Field   string // the flag's name
	Given   string
	Allowed string
	Nearest string // closest value that is allowed; empty when none is closer than others
}

// Error gives field, value, what is allowed and the nearest allowed value.
func (e *ValueError) Error() string {
	text := fmt.Sprintf("%s: given %s, allowed is %s", escape.Line(e.Field), escape.Quote(e.Given), e.Allowed)
	if e.Nearest != "" {
		text += ", nearest " + e.Nearest
	}
	return text
}

// FindParam looks a parameter up by its flag's name.
func FindParam(id ParamID) (Param, bool) {
	params := registry()
	for i := range params {
		if params[i].ID == id {
			return params[i], true
		}
	}
	return Param{}, false
}

// Int is the value as a number: itself (a figure cut to a whole number), 0 or 1 of a switch, the position of a
// choice (-1 for a choice with a count, such as full:4).
func (p Param) Int(s Setup) int { return p.intOf(&s) }

func (p *Param) intOf(s *Setup) int {
	switch {
	case p.number != nil:
		return *p.number(s)
	case p.toggle != nil:
		if *p.toggle(s) {
			return 1
		}
		return 0
	case p.figure != nil:
		return int(min(*p.figure(s), 1<<53))
	case p.read != nil:
		return slices.Index(p.Choices, p.read(s))
	default:
		return s.Nodes()
	}
}

// Text is the value as it is written on the command line.
func (p Param) Text(s Setup) string { return p.textOf(&s) }

func (p *Param) textOf(s *Setup) string {
	switch {
	case p.read != nil:
		return p.read(s)
	case p.toggle != nil:
		return onOff(*p.toggle(s))
	default:
		return strconv.Itoa(p.intOf(s))
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Set returns the setup with just this parameter changed. The identities may be
// broken afterwards (Turn keeps them). A value that cannot be taken gives a
// *ValueError.
func (p Param) Set(s Setup, text string) (Setup, error) {
	err := p.setTo(&s, text)
	return s, err
}

func (p *Param) setTo(s *Setup, text string) error {
	switch {
	case p.write != nil:
		return p.write(s, text)
	case p.toggle != nil:
		on, err := p.parseToggle(text)
		if err == nil {
			*p.toggle(s) = on
		}
		return err
	}
	n, err := p.ParseInt(text)
	if err != nil {
		return err
	}
	if p.number != nil {
		*p.number(s) = n
		return nil
	}
	gpus := product(n, s.Cluster.Node())
	if gpus > MaxGPUs {
		return p.outOfRange(text, MaxGPUs/s.Cluster.Node())
	}
	s.GPUs = gpus
	return nil
}

// ParseInt reads a whole number within the parameter's bounds. A suffix k or M
// counts in powers of two, as sequences and batches do: 8k is 8192.
func (p *Param) ParseInt(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if m, ok := binarySuffix(text); ok {
		n, err = m, nil
	}
	if err != nil {
		// A number beyond 64 bits is out of range, anything else is no number.
		nearest, allowed := "", p.Allowed()
		if n != 0 {
			nearest = strconv.Itoa(min(max(n, p.Min), p.Max))
		} else if v, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && !math.IsNaN(v) { // 1.5, 1e3
			nearest = strconv.Itoa(int(min(max(math.Round(v), float64(p.Min)), float64(p.Max))))
		}
		if part, ok := suffixed(text); ok { // 9.2k: no whole number of them
			nearest = strconv.Itoa(min(max(int(math.Round(part)), p.Min), p.Max))
			allowed += fmt.Sprintf(" (k is 1,024 and M 1,048,576, so this is %s)", strconv.FormatFloat(part, 'f', -1, 64))
		}
		return 0, &ValueError{Field: string(p.ID), Given: text, Allowed: allowed, Nearest: nearest}
	}
	if n < p.Min || n > p.Max {
		return 0, p.outOfRange(text, min(max(n, p.Min), p.Max))
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

// suffixed is a number before k or M, whole or not; false for anything else and
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

func (p *Param) outOfRange(given string, nearest int) *ValueError {
	return &ValueError{Field: string(p.ID), Given: given, Allowed: p.Allowed(), Nearest: strconv.Itoa(nearest)}
}

// Allowed says in words which values the parameter takes.
func (p *Param) Allowed() string {
	switch p.Kind {
	case IntParam:
		return fmt.Sprintf("a whole number from %d to %d", p.Min, p.Max)
	case BoolParam:
		return "on or off"
	case TextParam:
		return fmt.Sprintf("whole numbers of layers from 0 to %d separated by commas, one per stage, or nothing for a balanced split", MaxDegree)
	case ChoiceParam:
		words := strings.Join(p.Choices, ", ")
		if p.ID == "recompute" {
			words += fmt.Sprintf(", full:N (N layers per rank, 1 to %d)", recipe.MaxRecomputeLayers) + ", modules:LIST (of norm, mla-up, act, moe-act, shared)"
		}
		return "one of " + words
	case FigureParam:
		return p.figureAllowed()
	}
	return ""
}

func (p *Param) parseToggle(text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "on", "true", "1", "yes":
		return true, nil
	case "off", "false", "0", "no":
		return false, nil
	}
	return false, &ValueError{Field: string(p.ID), Given: text, Allowed: p.Allowed()}
}

// scheduleKinds lists the schedules that the engine can order and simulate.
func scheduleKinds() []schedule.Kind {
	infos := schedule.Kinds()
	kinds := make([]schedule.Kind, len(infos))
	for i, info := range infos {
		kinds[i] = info.Kind
	}
	return kinds
}

// product multiplies positive numbers and stops at a value beyond every bound
// instead of overflowing.
func product(factors ...int) int {
	const limit = 1 << 62
	result := 1
	for _, f := range factors {
		if f > 0 && result > limit/f {
			return limit
		}
		result *= f
	}
	return result
}
