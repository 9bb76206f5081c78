package lessons

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/presets"
	"meshscope/presets/input"
	"meshscope/presets/setupdoc"
)

// lessonFile is a lesson as it is written.
type lessonFile struct {
	ID      string    `toml:"id"`
	Title   string    `toml:"title"`
	Minutes int       `toml:"minutes"`
	Source  string    `toml:"source"`
	Setup   Settings  `toml:"setup"`
	Acts    []actFile `toml:"act"`
}

// actFile is an act as it is written.
type actFile struct {
	Show    string            `toml:"show"`
	Ask     string            `toml:"ask"`
	Kind    Kind              `toml:"kind"`
	Figure  string            `toml:"figure"`
	Against string            `toml:"against"`
	Mask    []string          `toml:"mask"`
	Setup   Settings          `toml:"setup"` // another start than the end of the act before
	Turn    Settings          `toml:"turn"`
	Options []optionFile      `toml:"options"`
	No      map[string]string `toml:"no"` // up, same, down; low, high; other
	Near    float64           `toml:"near"`
	Hold    []string          `toml:"hold"`
	Knobs   int               `toml:"knobs"`
	Reach   Settings          `toml:"reach"`
	Rule    string            `toml:"rule"`
	Paid    string            `toml:"paid"`
	Notes   string            `toml:"notes"`
	Claim   struct {
		That string `toml:"that"`
	} `toml:"claim"`
}

type optionFile struct {
	Say string `toml:"say"`
	Is  string `toml:"is"`
	No  string `toml:"no"`
}

// loader settles one file.
type loader struct {
	file   string
	lib    *presets.Library
	places map[string][2]int
	errs   []error
}

// fail notes an error at a key; one that is not there is named at what it would stand in.
func (l *loader) fail(key string, err error) {
	if err == nil {
		return
	}
	at, path := [2]int{}, key
	for {
		if found, ok := l.places[path]; ok {
			at = found
			break
		}
		cut := strings.LastIndexByte(path, '.')
		if cut < 0 {
			break
		}
		path = path[:cut]
	}
	l.errs = append(l.errs, &input.Error{File: l.file, Line: at[0], Column: at[1], Key: key, Err: err})
}

func (l *loader) failf(key, format string, args ...any) { l.fail(key, fmt.Errorf(format, args...)) }

// Parse reads a lesson and checks it against the engine: every figure exists, exactly one
// option is true, every wrong one has its sentence. The errors name file, line and key.
func Parse(file string, data []byte, lib *presets.Library) (*Lesson, []error) {
	l := &loader{file: file, lib: lib}
	text, err := input.Text(data)
	if err != nil {
		return nil, []error{input.InFile(file, err)}
	}
	var f lessonFile
	unknown, err := input.DecodeTOML(file, text, &f)
	if err != nil {
		return nil, []error{err}
	}
	for _, u := range unknown {
		l.errs = append(l.errs, u)
	}
	l.places = input.Places(text)
	out := &Lesson{ID: f.ID, Title: f.Title, Minutes: f.Minutes, Source: f.Source}
	if name := strings.TrimSuffix(filepath.Base(file), ".toml"); f.ID != name && file != "" {
		l.failf("id", "is %q, but the file is named %q", f.ID, name)
	}
	if f.Title == "" {
		l.failf("title", "is missing")
	}
	if f.Source == "" {
		l.failf("source", "is missing: where the claims come from")
	}
	if f.Minutes < 1 || f.Minutes > 60 {
		l.failf("minutes", "is %d; allowed: 1 to 60", f.Minutes)
	}
	if len(f.Acts) == 0 {
		l.failf("act", "is missing: a lesson has at least one")
	}
	l.acts(out, &f)
	if len(l.errs) > 0 {
		return nil, l.errs
	}
	return out, nil
}

// acts settles the acts, each after the one before.
func (l *loader) acts(out *Lesson, f *lessonFile) {
	at, ok := l.setup("setup", f.Setup, nil)
	for i := range f.Acts {
		if !ok { // what follows would only repeat it
			return
		}
		key := fmt.Sprintf("act.%d", i)
		a := &f.Acts[i]
		if a.Setup != nil {
			if at, ok = l.setup(key+".setup", a.Setup, f.Setup); !ok {
				return
			}
		}
		var act Act
		if act, ok = l.act(key, a, at); ok {
			out.Acts = append(out.Acts, act)
			at = act.After.Setup
		}
	}
}

// setup settles knobs over those of another table.
func (l *loader) setup(key string, over, base Settings) (engine.Setup, bool) {
	all := maps.Clone(base)
	if all == nil {
		all = Settings{}
	}
	maps.Copy(all, over)
	s, at, err := settle(all, l.lib)
	if err != nil {
		l.fail(strings.TrimSuffix(key+"."+at, "."), err)
		return s, false
	}
	if r := engine.Evaluate(s); !r.Legal {
		l.failf(key, "the layout is illegal: %s", r.Problems[0].Message)
		return s, false
	}
	return s, true
}

// settle makes a setup of knobs; at is the key of an error, empty where it is none of them.
func settle(all Settings, lib *presets.Library) (s engine.Setup, at string, err error) {
	var d setupdoc.Document
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if err := d.Set(key, literal(all[key])); err != nil {
			return s, key, err
		}
	}
	s, err = d.Setup(lib)
	return s, "", err
}

// literal writes a value as a command line has it.
func literal(v any) string {
	if on, ok := v.(bool); ok {
		if on {
			return "on"
		}
		return "off"
	}
	return fmt.Sprint(v)
}

// knobID returns the knob that a key of a file or an answer names.
func knobID(key string) knob.ID { return knob.ID(strings.ReplaceAll(key, "_", "-")) }

// read returns the value of a knob as prose has it.
func read(k *knob.Knob, s engine.Setup) string {
	text := k.Text(s)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && k.Kind == knob.Number {
		return comma(n)
	}
	return text
}

// turn turns knobs from a setup on.
func turn(s engine.Setup, knobs Settings) (engine.Setup, []Turn, error) {
	var turned []Turn
	from, named := s, map[knob.ID]any{}
	for key, v := range knobs {
		id := knobID(key)
		if _, ok := knob.Find(id); !ok {
			return s, nil, fmt.Errorf("%s is no knob that can be turned", key)
		}
		named[id] = v
	}
	for _, k := range knob.All() {
		v, ok := named[k.ID]
		if !ok {
			continue
		}
		var err error
		if s, err = knob.Turn(s, k.ID, literal(v), Locks()); err != nil {
			return s, nil, err
		}
		turned = append(turned, Turn{k.ID, k.Label, read(&k, from), read(&k, s)})
	}
	slices.SortStableFunc(turned, func(a, b Turn) int { // the machine before what runs on it
		first := map[knob.ID]int{knob.GPUs: -1}
		return first[a.Knob] - first[b.Knob]
	})
	return s, turned, nil
}

// act settles and checks one act.
func (l *loader) act(key string, f *actFile, at engine.Setup) (Act, bool) {
	errsBefore := len(l.errs)
	a := Act{
		Show: f.Show, Ask: f.Ask, Kind: f.Kind, Near: f.Near, Mask: f.Mask, Knobs: f.Knobs, Reach: f.Reach,
		Rule: f.Rule, Paid: f.Paid, Notes: f.Notes, figure: f.Figure, Before: newSide(at),
	}
	to, turned, err := turn(at, f.Turn)
	l.fail(key+".turn", err)
	if f.Kind == Goal {
		to, _, err = turn(at, f.Reach)
		l.fail(key+".reach", err)
	}
	a.Turned, a.After = turned, newSide(to)
	if !a.After.Report.Legal {
		l.failf(key+".turn", "leads to an illegal layout: %s", a.After.Report.Problems[0].Message)
	}
	if f.Turn != nil && to == at {
		l.failf(key+".turn", "changes nothing")
	}
	if len(l.errs) > errsBefore {
		return a, false
	}
	l.known(key, f, &a)
	if len(l.errs) > errsBefore {
		return a, false
	}
	l.question(key, f, &a)
	if f.Claim.That != "" {
		l.holds(key+".claim.that", f.Claim.That, &a)
	}
	l.prose(key, &a)
	return a, len(l.errs) == errsBefore
}

// known settles what an act names: screens, figures, knobs that are held.
func (l *loader) known(key string, f *actFile, a *Act) {
	if !slices.Contains(Places(), a.Show) {
		l.failf(key+".show", "unknown screen %q; allowed: %s", a.Show, strings.Join(Places(), ", "))
	}
	if f.Ask == "" || f.Rule == "" {
		l.failf(key, "ask and rule are needed")
	}
	var err error
	if f.Figure != "" && f.Kind != Point {
		a.Figure, err = a.Before.figure(f.Figure)
		l.fail(key+".figure", err)
		against := f.Against
		if against == "" {
			against = f.Figure
		}
		a.Against, err = a.After.figure(against)
		l.fail(key+".against", err)
	}
	for _, name := range append(slices.Clone(f.Mask), f.Paid) {
		if name == "" {
			continue
		}
		if _, err := a.After.figure(name); err != nil {
			l.fail(key+".mask", err)
		}
	}
	for _, id := range f.Hold {
		k, ok := knob.Find(knobID(id))
		if !ok {
			l.failf(key+".hold", "unknown knob %s", id)
		}
		a.Hold = append(a.Hold, k.ID)
	}
}

// Places lists what an act can show: screens, and panes of them behind a slash.
func Places() []string {
	return []string{"explore", "memory", "memory/step", "memory/layer", "pipeline", "network", "network/lanes", "network/ring", "network/collectives", "evidence/curves"}
}

// condition compiles and evaluates an expression of an act.
func (l *loader) condition(key, text string, a *Act) (*Expression, bool) {
	if text == "" {
		l.fail(key, errors.New("is missing"))
		return nil, false
	}
	e, err := compile(text)
	if err != nil {
		l.fail(key, err)
		return nil, false
	}
	holds, err := e.holds(a)
	l.fail(key, err)
	return e, holds
}

func (l *loader) holds(key, text string, a *Act) {
	if e, holds := l.condition(key, text, a); e != nil && !holds {
		l.failf(key, "%s does not hold: %s", text, e.values(a))
	}
}
