package lessons

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/record"
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
	Opening string    `toml:"opening"` // what the words of the header mean
	Setup   Settings  `toml:"setup"`
	Acts    []actFile `toml:"act"`
}

// actFile is an act as it is written.
type actFile struct {
	Show    string            `toml:"show"`
	Ask     string            `toml:"ask"`
	Point   string            `toml:"point"` // what to do with the cursor
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
	Why     string            `toml:"why"` // of the right answer
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

// loader resolves one file.
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
	l.errs = append(l.errs, &input.Error{
		File: l.file, Line: at[0], Column: at[1], Key: counted(key),
		Err: err,
	})
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
	if !idForm.MatchString(f.ID) {
		l.failf("id", "is %q; allowed: small letters, digits and hyphens, at most 64", escape.Line(f.ID))
	}
	l.text("title", &f.Title, longestTitle, true)
	l.text("source", &f.Source, longestText, true)
	l.text("opening", &f.Opening, longestText, false)
	if f.Minutes < 1 || f.Minutes > 60 {
		l.failf("minutes", "is %d; allowed: 1 to 60", f.Minutes)
	}
	if len(f.Acts) == 0 || len(f.Acts) > mostActs {
		l.failf("act", "there are %d acts; allowed: 1 to %d", len(f.Acts), mostActs)
	}
	for i := range f.Acts[:min(len(f.Acts), mostActs)] {
		l.texts(fmt.Sprintf("act.%d", i), &f.Acts[i])
	}
	if len(l.errs) > 0 {
		return nil, l.errs
	}
	out.Title, out.Source = f.Title, f.Source
	l.acts(out, &f)
	if out.Opening = f.Opening; len(out.Acts) > 0 {
		l.fill("opening", &out.Opening, &out.Acts[0], &out.Acts[0].Before)
	}
	if len(l.errs) > 0 {
		return nil, l.errs
	}
	return out, nil
}

// Limits of a lesson.
const (
	mostActs     = 40
	mostOptions  = 8
	longestTitle = 60 // letters
	longestText  = 500
)

// idForm is what an id may be.
var idForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// text takes a text to one line and refuses one that is too long or has control characters.
func (l *loader) text(key string, text *string, most int, needed bool) {
	*text = strings.Join(strings.Fields(*text), " ")
	switch n := utf8.RuneCountInString(inProse.ReplaceAllString(*text, "{}")); {
	case n == 0 && needed:
		l.failf(key, "is missing")
	case n > most:
		l.failf(key, "has %d letters; allowed: at most %d", n, most)
	case !escape.Printable(*text):
		l.failf(key, "has control characters: %s", escape.Line(*text))
	}
}

// texts checks the texts of an act, and how much of everything it has.
func (l *loader) texts(key string, f *actFile) {
	l.text(key+".ask", &f.Ask, longestText, true)
	l.text(key+".point", &f.Point, longestText, false)
	l.text(key+".rule", &f.Rule, longestText, true)
	l.text(key+".why", &f.Why, longestText, false)
	l.text(key+".notes", &f.Notes, longestText, false)
	for _, name := range slices.Sorted(maps.Keys(f.No)) {
		text := f.No[name]
		l.text(key+".no."+escape.Line(name), &text, longestText, false)
		f.No[name] = text
	}
	for i := range f.Options {
		at := fmt.Sprintf("%s.options.%d", key, i)
		l.text(at+".say", &f.Options[i].Say, longestTitle, true)
		l.text(at+".no", &f.Options[i].No, longestText, false)
	}
	if len(f.Options) > mostOptions {
		l.failf(key+".options", "there are %d; allowed: at most %d", len(f.Options), mostOptions)
	}
	if f.Kind != Point && f.Point != "" {
		l.failf(key+".point", "is for questions of kind point: others are not answered with the cursor")
	}
	if (f.Kind == Goal || f.Kind == Choice) && len(f.No) > 0 {
		l.failf(key+".no", "is for the other kinds: each option of a %s has its own no = \"...\"", f.Kind)
	}
	if f.Kind == Goal && len(f.Mask) > 0 {
		l.failf(key+".mask", "hides figures that the way to a goal needs")
	}
}

// acts resolves the acts, each after the one before.
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

// setup resolves knobs over those of another table.
func (l *loader) setup(key string, over, base Settings) (engine.Setup, bool) {
	all := maps.Clone(base)
	if all == nil {
		all = Settings{}
	}
	maps.Copy(all, over)
	s, at, err := resolve(all, l.lib)
	if err != nil {
		l.fail(strings.TrimSuffix(key+"."+at, "."), err)
		return s, false
	}
	if s.Slow() {
		l.failf(key, "the setup takes too long to evaluate: it has too many micro-batches or stages")
		return s, false
	}
	if r := engine.Evaluate(s); !r.Legal {
		l.failf(key, "the layout is illegal: %s", r.Problems[0].Message)
		return s, false
	}
	return s, true
}

// resolve makes a setup of knobs; at is the key of an error, empty where it is none of them.
func resolve(all Settings, lib *presets.Library) (s engine.Setup, at string, err error) {
	var d setupdoc.Document
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if err := d.Set(key, literal(all[key])); err != nil {
			return s, key, err
		}
	}
	s, err = d.AsStated().Setup(lib)
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
	if k.Kind == knob.Number {
		return record.Thousands(text)
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

// act resolves and checks one act.
func (l *loader) act(key string, f *actFile, at engine.Setup) (Act, bool) {
	errsBefore := len(l.errs)
	a := Act{
		Show: f.Show, Ask: strings.TrimSpace(f.Ask + " " + f.Point), Point: f.Point, Kind: f.Kind,
		Near: f.Near, Mask: f.Mask, Knobs: f.Knobs, Reach: f.Reach,
		Why: f.Why, Rule: f.Rule, Paid: f.Paid, Notes: f.Notes, figure: f.Figure, rule: f.Rule,
		Before: newSide(at),
	}
	to, turned, err := turn(at, f.Turn)
	l.fail(key+".turn", err)
	if f.Kind == Goal {
		to, _, err = turn(at, f.Reach)
		l.fail(key+".reach", err)
	}
	if to.Slow() {
		l.failf(key+".turn", "leads to a setup that takes too long to evaluate")
		return a, false
	}
	a.Turned, a.After = turned, newSide(to)
	if !a.After.Report.Legal {
		l.failf(key+".turn", "leads to an illegal layout: %s", a.After.Report.Problems[0].Message)
	}
	if f.Turn != nil && to == at {
		l.failf(key+".turn", "changes nothing")
	}
	if f.Kind == Goal && to == at {
		l.failf(key+".reach", "changes nothing: the way to a goal has to turn something")
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

// known resolves what an act names: screens, figures, knobs that are held.
func (l *loader) known(key string, f *actFile, a *Act) {
	if !slices.Contains(Places(), a.Show) {
		l.failf(key+".show", "unknown screen %q; allowed: %s", a.Show, strings.Join(Places(), ", "))
	}
	var err error
	if f.Figure != "" && f.Kind != Point {
		a.Figure, err = a.Before.figure(f.Figure)
		l.fail(key+".figure", err)
		against := f.Against
		if against == "" {
			against = f.Figure
		}
		if err == nil || f.Against != "" { // one fault is told once
			a.Against, err = a.After.figure(against)
			l.fail(key+".against", err)
		}
	}
	for _, name := range f.Mask {
		_, err := a.After.figure(name)
		l.fail(key+".mask", err)
	}
	if f.Paid != "" {
		_, err := a.After.figure(f.Paid)
		l.fail(key+".paid", err)
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
	return []string{
		"explore", "memory", "memory/step", "memory/layer", "pipeline", "network",
		"network/lanes", "network/ring", "network/ring/contiguous", "network/collectives",
		"network/collectives/tp", "evidence/curves",
	}
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
