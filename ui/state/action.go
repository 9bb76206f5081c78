package state

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/knobs"
	"meshscope/ui/overlay"
)

// Verb is what an action does.
type Verb uint8

// Verbs. Every key, click and menu entry becomes one of these before anything
// changes.
const (
	Nothing   Verb = iota
	FocusKnob      // ID
	MoveFocus      // N knobs down, negative up
	TurnKnob       // N legal values up, negative down
	SetKnob        // ID to Text
	TakeFix        // the nearest legal values of the first problem
	FlipLock       // of the focused knob, or of knob ID
	Undo
	Redo
	UseSetup // Setup, for what Text says; of which Fixed was given
	// Model, and Cluster, over Setup and Fixed where there are: the program searches for the
	// layout, see Again.
	UseModel
	UseCluster // Cluster: the same
	Rechoose   // ID at Text, or another number of GPUs: the same
	PageRanks  // N ranks down, negative up
	NextTab    // N tabs on, negative back: the program makes GoTab of it
	GoTab      // number N
	NextTheme  // Text: what the automatic one is
	ToggleMouse
	ToggleWords // the underlines
	Open        // Overlay, in place of the open overlay
	Dismiss     // the hint and the note
	Type        // starts typing into the focused knob, with Text
	Say         // Text, as a note in a Tone
	Copy        // the command line of the setup
	Pin         // the setup, to compare others with
	Quit
	Interrupt // quit at once, as ctrl+c does
	Suspend
)

// Action is one input in the program's own words.
type Action struct {
	Verb    Verb
	ID      knob.ID
	N       int
	Pages   int
	Text    string
	Tone    Tone
	Overlay overlay.ID
	Setup   *engine.Setup
	Model   *model.Model
	Cluster *hardware.Cluster
	Fixed   *knob.Set // nil: what was fixed and has its value still
}

// Effect is an action outside the state: an action that is not about it.
type Effect Action

// ThemeAuto is the name of the theme that follows the terminal.
const ThemeAuto = "auto"

// Apply returns what an action does to the state. It is pure: same state, same
// action, same answer, nothing else touched.
func Apply(s State, a Action) (State, []Effect) {
	switch a.Verb {
	case UseModel, UseCluster, Rechoose, Open, Copy, Pin, Quit, Interrupt, Suspend:
		return s, []Effect{Effect(a)}
	case SetKnob:
		if s.restacks(&a) {
			s.Focus, a.Verb = a.ID, Rechoose
			return s, []Effect{Effect(a)}
		}
		return set(s, a.ID, a.Text), nil
	case Type:
		s.Note = Note{}
		return s, []Effect{Effect(a)}
	default:
		return change(s, a), nil
	}
}

func change(s State, a Action) State {
	switch a.Verb {
	case FocusKnob:
		s.Focus, s.Note = a.ID, Note{}
	case MoveFocus:
		s.Focus, s.Note = s.neighbour(a.N), Note{}
	case TurnKnob:
		return turnBy(s, a.N)
	case TakeFix:
		return fix(s)
	case FlipLock:
		return flip(s, a.ID)
	case Undo:
		return s.undo()
	case Redo:
		return s.redo()
	case UseSetup:
		fixed := stillFixed(s.Fixed, &s.Setup, a.Setup)
		if a.Fixed != nil {
			fixed = *a.Fixed
		}
		s = s.use(*a.Setup, a.Text)
		s.Fixed, s.Outgrown, s.Note.Tone = fixed, knob.Set{}, max(s.Note.Tone, a.Tone)
		return s
	case PageRanks:
		s.Page = min(max(s.Page+a.N, 0), max(a.Pages-1, 0))
	case GoTab:
		s.Tab, s.Note = Tab(a.N), Note{}
	case NextTheme:
		s = nextTheme(s, a.Text)
	case ToggleMouse:
		s.Mouse = !s.Mouse
		s.Note = Note{Text: "mouse off: the terminal selects text again", Tone: Answer}
		if s.Mouse {
			s.Note.Text = "mouse on: shift and drag selects text"
		}
	case ToggleWords:
		s.Unmarked = !s.Unmarked
		s.Note = Note{Text: "glossary words are underlined", Tone: Answer}
		if s.Unmarked {
			s.Note.Text = "glossary words are not underlined"
		}
	case Dismiss:
		s.Hint, s.Note = false, Note{}
	case Say:
		s.Note = Note{Text: a.Text, Tone: a.Tone}
	// no change of the state
	case Nothing, NextTab, SetKnob, UseModel, UseCluster, Rechoose, Open, Type, Copy, Pin, Quit, Interrupt,
		Suspend:
	}
	return s
}

// nextTheme turns to the next theme. From auto it passes over the one that auto
// represents at the moment, which would change nothing.
func nextTheme(s State, auto string) State {
	names := append([]string{ThemeAuto}, themes.Names()...)
	at := slices.Index(names, s.Theme) + 1
	if s.Theme == ThemeAuto && names[at%len(names)] == auto {
		at++
	}
	s.Theme = names[at%len(names)]
	s.Note = Note{Text: "theme: " + s.Theme, Tone: Answer}
	return s
}

// neighbour returns the knob n places below the focused one; the ends hold.
func (s *State) neighbour(n int) knob.ID {
	order := knobs.Order(&s.Setup)
	i := slices.Index(order, s.Focus) + n
	return order[min(max(i, 0), len(order)-1)]
}

// set puts a typed or clicked value into a knob, legal or not.
func set(s State, id knob.ID, text string) State {
	s.Focus = id
	turned, err := knob.Turn(s.Setup, id, text, s.Locks)
	if err != nil {
		s.Note = Note{Text: sentence(err), Tone: Trouble}
		return s
	}
	turned = s.batched(turned)
	out := s.use(turned, "").given(id, &s.Setup)
	if k, ok := knob.Find(id); ok && turned == s.Setup {
		out.Note = Note{Text: k.Label + " is " + knobs.Show(&k, k.Text(turned)) + " already", Tone: Answer}
	}
	return out
}

// given notes that the reader has given a knob the value that it has, and what it was before.
func (s State) given(id knob.ID, was *engine.Setup) State {
	s.Fixed = s.Fixed.With(id)
	if k, ok := knob.Find(id); ok && outgrows(id) && k.Text(s.Setup) != k.Text(*was) {
		s.Outgrown = s.Outgrown.With(id)
	}
	return s
}

// outgrows reports whether the best layout depends on a knob that is no part of it.
func outgrows(id knob.ID) bool {
	return ofGPUs(id) || slices.Contains([]knob.ID{knob.Seq, knob.MBS, knob.GBS, knob.Precision}, id)
}

func ofGPUs(id knob.ID) bool { return id == knob.GPUs || id == knob.Nodes }

// Rechooses reports whether the layout can be chosen anew for the value of the focused knob, which is another
// one than it was chosen for, and not all of it is fixed: always for a number of GPUs, with their batch, else
// where the setup does not do with it.
func (s *State) Rechooses(does bool) bool {
	free := func(id knob.ID) bool { return !s.Fixed.Has(id) }
	degrees := []knob.ID{knob.TP, knob.PP, knob.CP}
	if ofGPUs(s.Focus) {
		return (s.Outgrown.Has(knob.GPUs) || s.Outgrown.Has(knob.Nodes)) &&
			slices.ContainsFunc(append(degrees, knob.GBS), free)
	}
	return !does && s.Outgrown.Has(s.Focus) && slices.ContainsFunc(degrees, free)
}

// RechooseFor returns what has the layout chosen anew for the value of the focused knob, and words for that.
func (s *State) RechooseFor() (a Action, words string) {
	if words = figure.Plural(s.Setup.GPUs, "GPU"); ofGPUs(s.Focus) {
		return Action{Verb: Rechoose, Text: words}, words
	}
	k, _ := knob.Find(s.Focus)
	text := k.Text(s.Setup)
	return Action{Verb: Rechoose, ID: s.Focus, Text: text}, k.Label + " " + knobs.Show(&k, text)
}

// use takes another setup and says what became different. note replaces that
// when it is not empty.
func (s State) use(setup engine.Setup, note string) State {
	if setup == s.Setup {
		if note != "" {
			s.Note = Note{Text: note + ": as it is", Tone: Answer}
		}
		return s
	}
	first := []knob.ID{s.Focus}
	if note != "" { // a setup as a whole: what is trained with comes before how it is cut
		first = []knob.ID{knob.Calibration, knob.GPUs, knob.GBS, knob.Seq, knob.Precision}
	}
	changes := difference(s.Setup, setup, first)
	switch {
	case note == "":
		note = changes
	case changes != "":
		note += ": " + changes
	}
	return s.move(setup, s.Locks, note)
}

// difference lists the knobs in which two setups differ, the given ones first.
func difference(from, to engine.Setup, first []knob.ID) string {
	params := knob.Shown()
	slices.SortStableFunc(params, func(a, b knob.Knob) int {
		place := func(id knob.ID) int {
			if at := slices.Index(first, id); at >= 0 {
				return at
			}
			return len(first)
		}
		return cmp.Compare(place(a.ID), place(b.ID))
	})
	var parts []string
	for i := range params {
		p := &params[i]
		if was, is := p.Text(from), p.Text(to); was != is {
			parts = append(parts, fmt.Sprintf("%s %s → %s", p.Label, brief(p, was), brief(p, is)))
		}
	}
	return strings.Join(parts, ", ")
}

// brief shows a value of a knob; of a long list, such as the layers of 32 stages, its ends.
func brief(p *knob.Knob, text string) string {
	const ends, most = 3, 8
	parts := strings.Split(knobs.Show(p, text), ",")
	if n := len(parts); p.Kind == knob.List && n > most {
		parts = append(append(parts[:ends:ends], "…"), parts[n-ends:]...)
	}
	return strings.Join(parts, ",")
}

// fix sets the nearest legal values of the first problem that has any.
func fix(s State) State {
	for _, p := range Errors(engine.Check(s.Setup)) {
		if len(p.Nearest) == 0 {
			continue
		}
		setup, err := withNearest(s.Setup, p.Nearest)
		if err != nil || setup == s.Setup {
			continue
		}
		return s.use(setup, "nearest legal")
	}
	return s
}

func withNearest(s engine.Setup, nearest map[string]any) (engine.Setup, error) {
	for _, field := range slices.Sorted(maps.Keys(nearest)) {
		p, ok := knob.Find(knob.ID(field))
		if !ok {
			return s, fmt.Errorf("unknown field %q", field)
		}
		var err error
		if s, err = p.Set(s, fmt.Sprint(nearest[field])); err != nil {
			return s, err
		}
	}
	return s, nil
}

// FixWords returns what TakeFix would set; empty when there is nothing to take.
func FixWords(problems []engine.Problem) string {
	for _, p := range Errors(problems) {
		if len(p.Nearest) > 0 {
			return NearestWords(&p)
		}
	}
	return ""
}

// NearestWords returns legal values as people read them, the problem's own field
// first: TP 8, DP 4.
func NearestWords(problem *engine.Problem) string {
	var parts []string
	for _, field := range slices.Sorted(maps.Keys(problem.Nearest)) {
		label, text := field, knob.Worded(problem.Nearest[field])
		if p, ok := knob.Find(knob.ID(field)); ok {
			label, text = p.Label, knobs.Show(&p, text)
		}
		at := len(parts)
		if field == problem.Field {
			at = 0
		}
		parts = slices.Insert(parts, at, label+" "+text)
	}
	return strings.Join(parts, ", ")
}

// lockOf returns the lock that turns of a knob obey.
func lockOf(id knob.ID) knob.Lock {
	k, _ := knob.Find(id)
	return k.Lock
}

// HasLock reports whether a knob takes part in one of the locks.
func HasLock(id knob.ID) bool { return lockOf(id) != knob.NoLock }

// Unfixed returns the knob that flipping the lock of a knob would fix.
func Unfixed(locks knob.Locks, id knob.ID) knob.ID {
	switch lock := lockOf(id); {
	case lock == knob.GPULock && locks.GPUs:
		return knob.DP
	case lock == knob.GPULock:
		return knob.GPUs
	case lock == knob.BatchLock && locks.Batch:
		return knob.MicroBatches
	}
	return knob.GBS
}

// flip fixes the other knob of a lock.
func flip(s State, id knob.ID) State {
	if id == "" {
		id = s.Focus
	}
	locks, note := s.Locks, ""
	switch lockOf(id) {
	case knob.GPULock:
		locks.GPUs = !locks.GPUs
		note = "DP is fixed, GPUs are auto"
		if locks.GPUs {
			note = "GPUs are fixed, DP is auto"
		}
	case knob.BatchLock:
		locks.Batch = !locks.Batch
		note = "micro-batches are fixed, global batch is auto"
		if locks.Batch {
			note = "global batch is fixed, micro-batches are auto"
		}
	case knob.TokenLock:
		locks.Tokens = !locks.Tokens
		note = "sequences of the batch are fixed: another sequence length changes its tokens"
		if locks.Tokens {
			note = "tokens of the batch are fixed: another sequence length changes its sequences"
		}
	case knob.NoLock:
		s.Note = Note{Text: "nothing to fix here: only GPUs or DP, micro-batches or global batch, tokens " +
			"or sequences of a batch", Tone: Answer}
		return s
	}
	return s.move(s.Setup, locks, note)
}
