package lessons

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/presets/near"
)

// Phase is where an act is.
type Phase uint8

// The phases of an act. An act without a turn goes from Predict to Reveal.
const (
	Predict Phase = iota // knobs are held, figures are masked
	Turning              // the answer is in; the knob is free
	Reveal               // what became of it
	Over                 // of the lesson
)

// Play is a student's way through a lesson. It is a value; every method returns the next one.
type Play struct {
	Lesson  *Lesson
	At      int // the act
	First   int // the first act that was asked
	Phase   Phase
	Given   string // the answer of this act, as it was given
	Verdict Verdict
	Right   int    // acts answered rightly so far
	rights  uint64 // which, a bit each
	found   *Act   // the act with the setup that reached its goal, where the student found one
	past    *past  // the acts that were left
}

// past is an act that was left: how it stood, and the ones before.
type past struct {
	Play
	older *past
}

// leave notes how an act that is over stands and goes to another one, as that was left.
func (p Play) leave(at int) Play {
	if p.Phase == Reveal {
		p.past = &past{Play: p, older: p.past}
	}
	p.At, p.Given, p.Verdict, p.Phase, p.found = at, "", Verdict{}, Predict, nil
	p.First = min(p.First, at)
	for was := p.past; was != nil; was = was.older {
		if was.At == at {
			p.Given, p.Verdict, p.Phase, p.found = was.Given, was.Verdict, was.Phase, was.found
			break
		}
	}
	return p
}

// Verdict is what becomes of an answer.
type Verdict struct {
	Right bool
	Says  string // why it is wrong; empty where it is right
	Truth string // the right answer; empty where a goal is reached in the lesson's own way
}

// Begin starts a lesson.
func Begin(l *Lesson) Play { return Play{Lesson: l} }

// From starts a lesson at an act, the first one where it has no such act.
func From(l *Lesson, act int) Play {
	if act < 0 || act >= len(l.Acts) {
		act = 0
	}
	return Play{Lesson: l, At: act, First: act}
}

// Total returns how many acts a play goes through: those from its first on.
func (p Play) Total() int { return len(p.Lesson.Acts) - p.First }

// Back goes to the act before, as it was left: one that was answered is read again.
func (p Play) Back() Play {
	if p.At == 0 {
		return p
	}
	return p.leave(p.At - 1)
}

// Again asks the question of an act that is over anew.
func (p Play) Again() Play {
	if p.Phase != Reveal {
		return p
	}
	p.Given, p.Verdict, p.Phase, p.found = "", Verdict{}, Predict, nil
	p.past = &past{Play: p, older: p.past}
	return p.count(false)
}

// count notes whether the act is answered rightly.
func (p Play) count(right bool) Play {
	p.rights &^= 1 << p.At
	if right {
		p.rights |= 1 << p.At
	}
	p.Right = bits.OnesCount64(p.rights)
	return p
}

// RightAt reports whether an act was answered rightly.
func (p Play) RightAt(act int) bool { return p.rights&(1<<act) != 0 }

// Act returns the act that is on, the last one at the end.
func (p Play) Act() *Act {
	if p.found != nil && p.Phase == Reveal {
		return p.found
	}
	return &p.Lesson.Acts[min(p.At, len(p.Lesson.Acts)-1)]
}

// Setup returns the setup of the act: before its turn, or after.
func (p Play) Setup() engine.Setup {
	if p.Phase >= Reveal {
		return p.Act().After.Setup
	}
	return p.Act().Before.Setup
}

// Moved reports whether an act begins with another setup than the act before ended with, as it was gone
// through.
func (p Play) Moved() bool {
	if p.At == 0 || p.Phase >= Reveal || p.At >= len(p.Lesson.Acts) {
		return false
	}
	end := p.Lesson.Acts[p.At-1].After.Setup
	for was := p.past; was != nil; was = was.older {
		if was.At == p.At-1 {
			end = was.Setup()
			break
		}
	}
	return end != p.Act().Before.Setup
}

// Changed lists the knobs that differ from the end of the act before. Where the student reached its goal in
// another way than the lesson, it says which setup the lesson continues with. Empty: none differs.
func (p Play) Changed() string {
	if !p.Moved() {
		return ""
	}
	is, was := p.Act().Before.Setup, p.Lesson.Acts[p.At-1].After.Setup
	for old := p.past; old != nil; old = old.older {
		if old.At != p.At-1 {
			continue
		}
		if old.found != nil {
			return "we go on with " + p.Lesson.Acts[p.At-1].OwnWay()
		}
		break
	}
	var words []string
	if is.Model != was.Model {
		words = append(words, is.Model.Name)
	}
	for _, k := range knob.All() {
		text := read(&k, is)
		switch {
		case k.Text(is) == k.Text(was) || k.ID == knob.Nodes || k.ID == knob.MicroBatches:
		case k.ID == knob.Recompute:
			words = append(words, strings.Replace(text, "none", "no", 1)+" recompute")
		default:
			words = append(words, k.Label+" "+text)
		}
	}
	return "setup changed: " + strings.Join(words, ", ")
}

// Words returns what the act says now, with the words of its setup.
func (p Play) Words() string {
	a := p.Act()
	said := []string{a.Ask}
	for _, o := range a.Options {
		if a.Kind != Point {
			said = append(said, o.Say)
		}
	}
	if p.Phase >= Reveal {
		said = append(said, a.Why, a.Rule)
	}
	for _, t := range a.Turned {
		said = append(said, t.Label, t.To)
	}
	return strings.Join(append(said, Words(p.Setup())), "\n")
}

// Opening says what the words of the header mean where the course has not taught them yet; empty after the
// question of the first act.
func (p Play) Opening() string {
	if p.At > 0 || p.Phase >= Reveal {
		return ""
	}
	return p.Lesson.Opening
}

// Masked returns the names of the figures that are hidden now.
func (p Play) Masked() []string {
	if p.Phase < Reveal {
		return p.Act().Mask
	}
	return nil
}

// Answer takes an answer. One that cannot be read is an error, which says what is allowed,
// and changes nothing.
func (p Play) Answer(text string) (Play, error) {
	if p.Phase != Predict {
		return p, fmt.Errorf("the question is answered")
	}
	act := p.Act()
	if act.Kind == Goal {
		s, err := act.turned(strings.ToLower(text))
		if err != nil {
			return p, err
		}
		if p = p.Reach(s); !p.Verdict.Right {
			p.Given, p.Phase = strings.TrimSpace(text), Reveal
			p = p.count(false)
		}
		return p, nil
	}
	v, err := act.Check(text)
	if err != nil {
		return p, err
	}
	p.Given, p.Verdict, p.Phase = strings.TrimSpace(text), v, Reveal
	p = p.count(v.Right)
	if len(p.Act().Turned) > 0 {
		p.Phase = Turning
	}
	return p, nil
}

// Reach takes a setup that was found for the goal of the act.
func (p Play) Reach(s engine.Setup) Play {
	if p.Phase != Predict || p.Act().Kind != Goal {
		return p
	}
	if p.Verdict = p.Act().Reached(s); p.Verdict.Right {
		found := p.Act().foundWith(s)
		if s == p.Act().After.Setup {
			p.Verdict.Truth = ""
		}
		p.Given, p.Phase, p.found = found.turns(s), Reveal, found
		p = p.count(true)
	}
	return p
}

// Reached says with which knobs a goal was reached, and the lesson's own way where that is another one, with
// the step times of both.
func (p Play) Reached() string {
	said := "Reached with " + p.Given
	if p.Verdict.Truth == "" {
		return said + "."
	}
	own := &p.Lesson.Acts[p.At]
	if p.found == nil { // the setup is that of a member of a class
		return said + "; " + p.Verdict.Truth + "."
	}
	found, errFound := p.found.After.figure("time.step")
	way, errWay := own.After.figure("time.step")
	if errFound != nil || errWay != nil {
		return said + "; " + p.Verdict.Truth + "."
	}
	return said + ", a step takes " + Text(found) + "; with " + own.OwnWay() + " it takes " + Text(way) + "."
}

// OwnWay returns the lesson's own way to a goal in the words of Given.
func (a *Act) OwnWay() string { return a.turns(a.After.Setup) }

// Skip goes on without an answer.
func (p Play) Skip() Play {
	if p.Phase == Predict {
		p.Phase, p.Verdict = Reveal, Verdict{}
	}
	return p
}

// Turn makes the turn of the act.
func (p Play) Turn() Play {
	if p.Phase == Turning {
		p.Phase = Reveal
	}
	return p
}

// Next goes on to the next act, as it was left where it was.
func (p Play) Next() Play {
	if p.Phase != Reveal {
		return p
	}
	if p.At+1 < len(p.Lesson.Acts) {
		return p.leave(p.At + 1)
	}
	p.Given, p.Verdict, p.Phase, p.found, p.At = "", Verdict{}, Over, nil, p.At+1
	return p
}

// Check says whether an answer of the act is right.
func (a *Act) Check(text string) (Verdict, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	switch a.Kind {
	case Number:
		return a.checkNumber(text)
	case Goal:
		return a.checkGoal(text)
	case Direction, Choice, Point:
	}
	at := a.option(text)
	if at < 0 {
		return Verdict{}, fmt.Errorf("answer with %s", a.Keys())
	}
	o := &a.Options[at]
	return Verdict{Right: o.Right, Says: o.No, Truth: a.Truth()}, nil
}

// Truth returns the right answer in words.
func (a *Act) Truth() string {
	var right []string
	switch a.Kind {
	case Number:
		return Text(a.Against)
	case Goal:
		for _, t := range a.reach() {
			right = append(right, t.Label+" "+t.To)
		}
		return "one way is " + strings.Join(right, ", ")
	case Direction, Choice, Point:
		for _, o := range a.Options {
			if o.Right {
				right = append(right, o.Say)
			}
		}
	}
	return strings.Join(right, " or ")
}

// option returns the place of the option that an answer names by letter or in words, -1 for none.
func (a *Act) option(text string) int {
	if len(text) == 1 {
		if at := int(text[0]) - 'a'; at >= 0 && at < len(a.Options) {
			return at
		}
	}
	return slices.IndexFunc(a.Options, func(o Option) bool { return strings.EqualFold(o.Say, text) })
}

// letters is how many options have a key: a to p, for q leaves and w opens the glossary.
const letters = 'q' - 'a'

// Letter returns the key of an option.
func Letter(at int) string { return string(rune('a' + at)) }

// Keys says how an act is answered.
func (a *Act) Keys() string {
	switch a.Kind {
	case Number:
		_, unit := Unit(a.Against)
		return strings.TrimSuffix("a number in "+unit, " in ")
	case Goal:
		return "knobs such as tp=4 zero=1"
	default:
		return "a to " + Letter(len(a.Options)-1)
	}
}

// Typed returns a number as it was typed.
func Typed(text string) (float64, error) {
	digits, unit, _ := knob.Plain(text)
	return strconv.ParseFloat(digits+unit, 64)
}

func (a *Act) checkNumber(text string) (Verdict, error) {
	scale, unit := Unit(a.Against)
	guess, err := Typed(strings.TrimSuffix(text, strings.ToLower(unit)))
	if err != nil || guess < 0 || math.IsNaN(guess) || math.IsInf(guess, 0) {
		return Verdict{}, fmt.Errorf("answer with %s", a.Keys())
	}
	want := a.Against.Value / scale
	v := Verdict{Truth: a.Truth()}
	switch {
	case guess*a.Near < want:
		v.Says = a.Low
	case guess > want*a.Near:
		v.Says = a.High
	default:
		v.Right = true
	}
	return v, nil
}

// checkGoal turns the knobs of an answer and looks what they reach.
func (a *Act) checkGoal(text string) (Verdict, error) {
	s, err := a.turned(text)
	if err != nil {
		return Verdict{}, err
	}
	return a.Reached(s), nil
}

// turned returns the act's setup with the knobs of an answer: tp=4 zero=1.
func (a *Act) turned(text string) (engine.Setup, error) {
	s := a.Before.Setup
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			return s, fmt.Errorf("answer with %s", a.Keys())
		}
		if _, ok := knob.Find(knobID(key)); !ok {
			return s, unknownKnob(key)
		}
		var err error
		if s, err = knob.Turn(s, knobID(key), value, Locks()); err != nil {
			return s, err
		}
	}
	return s, nil
}

// unknownKnob returns the error of a name that no knob has: the knob with the word in its label, else
// the nearest one.
func unknownKnob(name string) error {
	var ids []string
	for _, k := range knob.All() {
		if slices.Contains(strings.Fields(k.Label+" "+k.Short), name) {
			return fmt.Errorf("no knob %q: %s is %s", name, k.Label, k.ID)
		}
		ids = append(ids, string(k.ID))
	}
	if nearest := near.Question(name, ids); nearest != "" {
		return fmt.Errorf("no knob %q%s", name, nearest)
	}
	return fmt.Errorf("no knob %q; knobs are %s", name, strings.Join(ids, ", "))
}

// Reached says whether a setup meets a goal; what is held, the model and the machine always, or the
// number of knobs may stand against it.
func (a *Act) Reached(s engine.Setup) Verdict {
	v := Verdict{Truth: a.Truth()}
	if says := a.heldBy(s); says != "" {
		v.Says = says
		return v
	}
	side := newSide(s)
	if !side.Report.Legal {
		v.Says = side.Report.Problems[0].Message
		return v
	}
	if turned := a.knobsTurned(s); a.Knobs > 0 && turned > a.Knobs {
		v.Says = fmt.Sprintf("%d knobs turned, more than %d", turned, a.Knobs)
		return v
	}
	for i, met := range a.meets(&side) {
		if !met {
			v.Says = a.Options[i].No
			return v
		}
	}
	v.Right = true
	return v
}

// heldBy lists the knobs that a goal holds and the student has turned; empty: none.
func (a *Act) heldBy(s engine.Setup) string {
	if s.Model != a.Before.Setup.Model || s.Cluster != a.Before.Setup.Cluster {
		return "The model and the machine are held"
	}
	for _, k := range knob.All() {
		if k.Text(s) != k.Text(a.Before.Setup) && slices.Contains(a.Hold, k.ID) {
			return k.Label + " is held"
		}
	}
	return ""
}

// knobsTurned returns how many knobs of a setup are not as they were before the act.
func (a *Act) knobsTurned(s engine.Setup) int {
	n := 0
	for _, k := range knob.All() {
		if k.Text(s) != k.Text(a.Before.Setup) && !slices.Contains(follows(), k.ID) {
			n++
		}
	}
	return n
}

// meets reports which options of a goal a side meets.
func (a *Act) meets(side *Side) []bool {
	tried := *a
	tried.After = *side
	if a.figure != "" {
		tried.Against, _ = side.figure(a.figure)
	}
	met := make([]bool, len(a.Options))
	for i, o := range a.Options {
		holds, err := o.is.holds(&tried)
		met[i] = err == nil && holds
	}
	return met
}

// Task is how far a setup is on the way to the goal of an act.
type Task struct {
	Met    []bool // by option
	Turned int    // knobs
	Held   string // what was turned and may not be; empty: nothing
	Done   bool
}

// Toward returns how far a setup is, with its report, on the way to a goal.
func (a *Act) Toward(s engine.Setup, r engine.Report) Task {
	t := Task{Met: make([]bool, len(a.Options)), Turned: a.knobsTurned(s), Held: a.heldBy(s)}
	if r.Legal {
		t.Met = a.meets(&Side{s, r})
		t.Done = t.Held == "" && (a.Knobs == 0 || t.Turned <= a.Knobs) && !slices.Contains(t.Met, false)
	}
	return t
}

// foundWith returns the act as it ends with a setup that reaches its goal.
func (a *Act) foundWith(s engine.Setup) *Act {
	own := *a
	own.After = newSide(s)
	var errs loader
	own.Rule = a.rule
	errs.fill("rule", &own.Rule, &own, &own.After)
	return &own
}

// turns lists the knobs that differ from the setup before the act.
func (a *Act) turns(s engine.Setup) string {
	var words []string
	for _, k := range knob.All() {
		if k.Text(s) != k.Text(a.Before.Setup) && !slices.Contains(follows(), k.ID) {
			words = append(words, k.Label+" "+read(&k, s))
		}
	}
	return strings.Join(words, ", ")
}

// follows lists the knobs that turn with others and are not counted.
func follows() []knob.ID { return []knob.ID{knob.DP, knob.MicroBatches, knob.Nodes, knob.SP} }

func (a *Act) reach() []Turn {
	_, turned, _ := turn(a.Before.Setup, a.Reach)
	return turned
}
