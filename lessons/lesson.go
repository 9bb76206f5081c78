// Package lessons holds the lessons of the program and the demonstrations that start with
// one word: data files, the check that makes them true against the engine, and the machine
// that goes through an act: predict, turn, reveal. It draws nothing and reads no terminal.
package lessons

import (
	"cmp"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/figures"
	"meshscope/engine/knob"
	"meshscope/presets"
	"meshscope/presets/input"
)

//go:embed *.toml
var files embed.FS

// Lesson is one question of the field as acts, each resolved and checked.
type Lesson struct {
	ID      string
	Title   string
	Minutes int
	Source  string
	Opening string // said before the first question
	Acts    []Act
	Own     bool // the user's
}

// Settings are knobs as a file gives them.
type Settings map[string]any

// Kind is what an act asks for.
type Kind string

// The kinds of question.
const (
	Direction Kind = "direction" // up, same or down
	Choice    Kind = "choice"
	Number    Kind = "number"
	Point     Kind = "point" // with the cursor, at the rank, bar or operation with the largest figure
	Goal      Kind = "goal"  // knobs that reach something
)

// Act is one question on one screen, with what is there before and after the turn.
type Act struct {
	Show    string // screen, and pane behind a slash
	Ask     string // the question, which ends with Point
	Point   string // of a point: what to do with the cursor
	Kind    Kind
	Figure  figures.Figure // before
	Against figures.Figure // after
	Options []Option
	Near    float64 // of a number: the ratio that is still right
	Low     string  // what is said of a number that is too low
	High    string
	Turned  []Turn
	Hold    []knob.ID // of a goal: what stays
	Knobs   int       // of a goal: how many knobs may turn; 0: any
	Reach   Settings  // of a goal: a way that reaches it
	Mask    []string  // figures that are hidden until the answer
	Why     string    // the right answer is right; empty: the rule says it
	Rule    string
	Paid    string // name of the figure that is the price
	Notes   string

	Before, After Side
	figure        string   // its name
	rule          string   // as it is written, with the names of its figures
	points        []string // of a point: the figure that each option stands for
	ranked        bool     // of a point: each option is a rank
}

// Option is one answer, or of a goal one condition.
type Option struct {
	Say   string
	No    string // said to those who chose it, or did not meet it; empty where it is right
	Right bool
	is    *Expression
}

// Turn is a knob that an act turns.
type Turn struct {
	Knob     knob.ID
	Label    string
	From, To string
}

// Text names a turn with an arrow between its values.
func (t *Turn) Text(arrow string) string { return t.Label + " " + t.From + " " + arrow + " " + t.To }

// Locks are what stays while a knob turns in a lesson.
func Locks() knob.Locks { return knob.Locks{GPUs: true, Batch: true, Tokens: true} }

// order is that of the course.
func order() []string {
	return []string{
		"second-step", "recomputation", "batch", "zero", "overlap-wall", "tensor-sequence",
		"bubble", "long-context", "experts", "capstone",
	}
}

// Place returns the number of a lesson in the course, from 1 on; 0: it is none of it.
func Place(id string) int { return slices.Index(order(), id) + 1 }

// Next returns the id of the lesson that follows in the course; empty: none does.
func Next(id string) string {
	if at := Place(id); at > 0 && at < len(order()) {
		return order()[at]
	}
	return ""
}

// All returns the lessons of the program, in the order in which they are taught, and those of a
// folder of the user's own, resolved with the presets of a library, and an error for each fault of
// a file that is left out. An own lesson replaces the built-in one with its id.
func All(folder string, lib *presets.Library) ([]*Lesson, []error) {
	all, errs := load(files, "", lib)
	if info, err := os.Stat(folder); folder == "" || err != nil || !info.IsDir() {
		return all, errs
	}
	own, faults := load(os.DirFS(folder), folder, lib)
	errs = append(errs, faults...)
	for _, l := range own {
		l.Own = true
		if at := slices.IndexFunc(all, func(b *Lesson) bool { return b.ID == l.ID }); at >= 0 {
			all[at] = l
			continue
		}
		all = append(all, l)
	}
	return all, errs
}

// load reads every lesson of a folder.
func load(from fs.FS, folder string, lib *presets.Library) ([]*Lesson, []error) {
	var all []*Lesson
	var errs []error
	for _, name := range input.Names(from, ".") {
		if filepath.Ext(name) != ".toml" || folder == "" && name == demosFile {
			continue
		}
		text, err := input.ReadFS(from, name, input.MaxPreset)
		if err != nil {
			errs = append(errs, &input.Error{File: filepath.Join(folder, name), Err: input.Reason(err)})
			continue
		}
		l, wrong := Parse(filepath.Join(folder, name), text, lib)
		if len(wrong) > 0 {
			errs = append(errs, wrong...)
			continue
		}
		all = append(all, l)
	}
	place := func(l *Lesson) int { return cmp.Or(Place(l.ID), len(order())+1) }
	slices.SortStableFunc(all, func(a, b *Lesson) int { return place(a) - place(b) })
	return all, errs
}

// Find returns the lesson of an id.
func Find(all []*Lesson, id string) (*Lesson, error) {
	var ids []string
	for _, l := range all {
		if l.ID == strings.ToLower(id) {
			return l, nil
		}
		ids = append(ids, l.ID)
	}
	return nil, unknownID("lesson", id, ids)
}

// Start returns the setup that a lesson begins with.
func (l *Lesson) Start() engine.Setup { return l.Acts[0].Before.Setup }

// operand returns a figure of an expression: of a side, or the act's own.
func (a *Act) operand(o operand) (any, error) {
	side := &a.Before
	if o.side == afterSide {
		side = &a.After
	}
	switch {
	case o.name != "":
	case a.figure == "":
		return nil, errors.New("before and after need a figure of the act")
	case o.side == afterSide:
		return a.Against.Value, nil
	default:
		return a.Figure.Value, nil
	}
	f, err := side.figure(o.name)
	if err != nil {
		return nil, err
	}
	if _, condition := zero(o.name).(bool); condition {
		return f.Value != 0, nil
	}
	return f.Value, nil
}
