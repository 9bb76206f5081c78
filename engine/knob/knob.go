// Package knob is the registry of everything the user chooses: one row per knob
// says what it is called, which values it takes, which field of a Setup it turns,
// what follows it, which other values may be legal and what a search tries. Flags,
// sliders, setup documents, search, scan, comparison and reference are made from
// the rows. The package also answers what needs a Setup and no evaluation: what
// was given (Draft), what is legal (Check, with the nearest legal values), and
// what a turn of a knob brings along (Turn, Steps).
package knob

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
)

// Largest values that a setup may have: the limits of the evaluator.
const (
	MaxDegree       = layout.MaxDegree // any one degree of parallelism, and the micro-batch size
	MaxGPUs         = layout.MaxGPUs
	MaxMicroBatches = layout.MaxMicroBatches
	MaxBatch        = layout.MaxGBS // sequences
	MaxSeq          = layout.MaxSeq // tokens
	maxSplitLen     = 1 << 16       // characters of a stage split
)

// Kind is what the values of a knob look like.
type Kind int

// Kinds of knobs.
const (
	Number Kind = iota // a whole number from Min to Max
	Choice             // one of Choices
	Switch             // on or off
	List               // text with its own rules (the stage split)
	Figure             // a decimal number from Low to High, or none
	Rate               // bytes per second of a link: 100Gb/s
)

// Knob is one row of the registry. Exactly one of its getters is set, and says
// which field of a Setup it is; the number of nodes alone has none, it follows
// from the GPUs.
type Knob struct {
	ID    ID
	Label string // short, for a column of knobs
	Short string // the label in at most seven letters; empty: Label
	Unit  string // empty for plain numbers and words
	Help  string // one sentence: what it does (the help of the flag), a colon, what it costs
	Kind  Kind

	Min, Max  int      // of a Number
	Choices   []string // of a Choice and a Switch; of a Figure: values to step through
	Low, High float64  // of a Figure
	Large     bool     // a Figure that may end in k, M, B or T
	whole     bool     // a Figure that is a whole number
	parts     []string // of a Choice that may be a list of these
	Binary    bool     // a Number that is read in powers of two: 32k for 32,768

	// Off says why the knob has no effect in a setup, in a few words and in one;
	// nil: it always has.
	Off func(*Setup) (why, word string)
	// Alike says why two of its choices can give the same figures in a setup; nil: they do not.
	Alike func(*Setup) string
	// Lock is the lock that a change of the knob obeys.
	Lock Lock
	// Fixed reports whether the locks fix the knob; nil: no lock fixes or frees it.
	Fixed func(Locks) bool

	group    Group // headed part of the column of knobs
	trains   bool  // says what is trained and in which format
	place    int   // within the group, smaller ones first; of equal ones the order of the registry
	searched bool  // varied by a search, which takes lists and ranges of it
	advised  bool  // turned by advice

	number    func(*Setup) *int
	toggle    func(*Setup) *bool
	word      func(*Setup) *string
	recompute func(*Setup) *recipe.Recompute
	figure    func(*Setup) *float64
	// A Rate is written and read, and copied with what goes with it.
	text func(*Setup) string
	read func(*Setup, string) error
	copy func(to, from *Setup)

	// unset gives the field its default where it was not given; nil: the zero value.
	unset func(*Setup)
	// plain gives the field the value that others are compared with; nil: unset does.
	plain func(*Setup)
	// memory is set where less memory is what other values are for.
	memory bool
	// optional knobs need not be given for a setup to be complete.
	optional bool
	// follow lets the others follow after a turn; nil: nothing follows.
	follow func(s, old *Setup, l Locks)
	// moves is the place among the knobs that move others, from 1: an earlier one
	// is turned first, so that a later one, which it would have moved, has the
	// last word. 0: it moves none.
	moves int
	// ladder lists the values of a Number that may be legal under the locks.
	ladder func(s *Setup, l Locks) []int
	// differ lists the values that differ in a setup of a Choice or a List; nil: Choices.
	differ func(s *Setup) []string
	// machine knobs have no value above the number of GPUs of the machine.
	machine bool
	// near lists values of a Number worth trying where the present one is illegal.
	near func(s *Setup) []int
	// fixes list changes worth trying where a word or a switch is illegal.
	fixes func(s *Setup) []func(*Setup)

	index int // place in the registry
}

// Group is a headed part of the column of knobs.
type Group uint8

// Groups. MoreGroup is what is turned rarely.
const (
	MoreGroup Group = iota
	MachineGroup
	LayoutGroup
	BatchGroup
	RecipeGroup
)

// Groups lists them from top to bottom.
func Groups() []Group { return []Group{MachineGroup, LayoutGroup, BatchGroup, RecipeGroup, MoreGroup} }

// Title returns the heading of a group.
func (g Group) Title() string {
	return [...]string{"MORE", "MACHINE", "LAYOUT", "BATCH", "RECIPE"}[g]
}

// ValueError says that a value cannot be taken at all: not a number, out of
// its named bounds, a word that is not one of the choices.
type ValueError struct {
	Field   string // the flag's name
	Given   string
	Allowed string
	Nearest string // closest value that is allowed; empty when none is closer than others
	Open    bool   // Allowed names what the number can mean
	List    bool   // a list was given where one value is wanted
}

// Error gives field, value, what is allowed and the nearest allowed value.
func (e *ValueError) Error() string {
	text := fmt.Sprintf("%s: given %s, allowed is %s", escape.Line(e.Field), escape.Quote(e.Given), e.Allowed)
	if e.List {
		text += listsElsewhere
	}
	if e.Nearest != "" {
		text += ", nearest " + e.Nearest
	}
	return text
}

// Int returns the value as a number: itself (a figure cut to a whole number), 0 or 1 of a switch, the
// position of a choice (-1 for a choice with a count, such as full:4).
func (k Knob) Int(s Setup) int { return k.intOf(&s) }

func (k *Knob) intOf(s *Setup) int {
	switch {
	case k.number != nil:
		return *k.number(s)
	case k.toggle != nil:
		if *k.toggle(s) {
			return 1
		}
		return 0
	case k.figure != nil:
		return int(min(*k.figure(s), 1<<53))
	case k.word != nil, k.recompute != nil, k.text != nil:
		return slices.Index(k.Choices, k.textOf(s))
	default:
		return s.Nodes()
	}
}

// Text returns the value as it is written on the command line.
func (k Knob) Text(s Setup) string { return k.textOf(&s) }

func (k *Knob) textOf(s *Setup) string {
	switch {
	case k.text != nil:
		return k.text(s)
	case k.Kind == List: // nothing would end a sentence before its last word
		return cmp.Or(*k.word(s), balancedWord)
	case k.word != nil:
		return *k.word(s)
	case k.recompute != nil:
		return k.recompute(s).String()
	case k.toggle != nil:
		return onOff(*k.toggle(s))
	case k.figure != nil:
		return figureText(*k.figure(s), k.Large)
	default:
		return strconv.Itoa(k.intOf(s))
	}
}

// Value returns the field as JSON has it.
func (k *Knob) Value(s *Setup) any {
	switch {
	case k.toggle != nil:
		return *k.toggle(s)
	case k.figure != nil:
		return *k.figure(s)
	case k.Kind == Number:
		return k.intOf(s)
	case k.Kind == List:
		return *k.word(s)
	default:
		return k.textOf(s)
	}
}

// Worded returns a value of a field as a flag takes it: on where JSON has true.
func Worded(value any) string {
	if on, ok := value.(bool); ok {
		return onOff(on)
	}
	return fmt.Sprint(value)
}

// onOrOff is what a switch takes.
const onOrOff = "on or off"

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Set returns the setup with just this knob changed. The identities may be
// broken afterwards (Turn keeps them). A value that cannot be taken gives a
// *ValueError.
func (k Knob) Set(s Setup, text string) (Setup, error) {
	err := k.setTo(&s, text)
	return s, err
}

// setTo reads a value into the field; a value that cannot be taken leaves it.
func (k *Knob) setTo(s *Setup, text string) error {
	switch {
	case k.read != nil:
		return k.read(s, text)
	case k.word != nil:
		return take(k.word(s), text, k.parseWord)
	case k.recompute != nil:
		return take(k.recompute(s), text, k.parseRecompute)
	case k.toggle != nil:
		return take(k.toggle(s), text, k.parseToggle)
	case k.figure != nil:
		return take(k.figure(s), text, k.ParseFigure)
	case k.number != nil:
		if tokens, ok := BatchTokens(text); ok && k.ID == GBS {
			s.GBS = s.BatchOf(tokens)
			return nil
		}
		return take(k.number(s), text, k.ParseInt)
	}
	n, err := k.ParseInt(text)
	if err != nil {
		return err
	}
	gpus := product(n, s.Cluster.Node())
	if gpus > MaxGPUs {
		return k.outOfRange(text, MaxGPUs/s.Cluster.Node())
	}
	s.GPUs = gpus
	return nil
}

// take puts what a text means into a field, unless it is refused.
func take[T any](field *T, text string, parse func(string) (T, error)) error {
	v, err := parse(text)
	if err == nil {
		*field = v
	}
	return err
}

// Allowed says in words which values the knob takes.
func (k *Knob) Allowed() string {
	switch k.Kind {
	case Number:
		return fmt.Sprintf("a whole number from %d to %d", k.Min, k.Max)
	case Switch:
		return onOrOff
	case List:
		return fmt.Sprintf("whole numbers of layers from 0 to %d separated by commas, one per stage, or "+
			"nothing for a balanced split", MaxDegree)
	case Choice:
		words := strings.Join(k.Choices, ", ")
		if k.parts != nil {
			words += ", or a list of " + strings.Join(k.parts, ", ")
		}
		if k.recompute != nil {
			words += fmt.Sprintf(", full:N (N layers per rank, 1 to %d)", recipe.MaxRecomputeLayers) +
				", modules:LIST (of " + strings.Join(recipe.ModuleWords(), ", ") + ")"
		}
		return "one of " + words
	case Figure:
		return k.figureAllowed()
	case Rate:
		return rateAllowed
	}
	return ""
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
