// Package launch knows what launchers accept, and writes and reads their files: a table of
// rules for each, read from its source, with the reason for a refusal and the nearest layout
// that is accepted, and a table of the keys of its file.
//
// A layout that the engine calls legal can be executed by some code; whether a launcher runs
// it as it is, is what its table says.
package launch

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/presets/hfconfig"
)

// Any names no launcher: every legal layout is accepted.
const Any = "any"

// Launcher is a program that starts training from a layout.
type Launcher struct {
	ID      string
	Name    string
	Version string // whose rules these are
	Source  string // where they were read
	rules   []Rule
	stack   recipe.Stack // whose calibration predicts it; empty: none is fitted to it
	// explicit reports whether an accepted layout runs only with its layers written out.
	explicit func(s *engine.Setup) bool
	// export writes an accepted setup as the launcher's file.
	export func(s *engine.Setup) Document
	// sniff reports whether a file looks like one of the launcher's, says whether the words of a script do;
	// read reads either. Nil: there is none.
	sniff func(name string, data []byte) bool
	says  func(words []string) bool
	read  func(name string, data []byte, given Given) Reading
}

// Rule is one thing that a launcher refuses.
type Rule struct {
	ID     string
	Field  knob.ID // what to change
	Source string  // file and line
	// Why returns the reason for refusing a legal setup; empty where it is accepted.
	Why func(s *engine.Setup) string
	// breaks is Why without words, for searches.
	breaks func(s *engine.Setup) bool
	// outside tells that no layout is refused for it that a search tries: it is about what a
	// search keeps, such as a number format, or every legal setup meets it.
	outside bool
}

// Refusal is why a launcher does not run a layout.
type Refusal struct {
	Rule    string  `json:"rule"`
	Field   knob.ID `json:"field"`
	Because string  `json:"because"`
	Source  string  `json:"source"`
}

// Launchers lists those with a table of rules. Nobody changes them.
func Launchers() []Launcher { return launchers() }

//nolint:gochecknoglobals // made once, then only read
var launchers = sync.OnceValue(func() []Launcher {
	return append([]Launcher{
		megatronLM(), bridge(), torchTitan(), torchTitanTOML(), nanotron(), deepSpeed(),
		accelerate(), accelerateDeepSpeed(),
	}, trainerLaunchers()...)
})

// IDs lists the words that name a launcher.
func IDs() []string {
	var out []string
	for _, l := range Launchers() {
		out = append(out, l.ID)
	}
	return out
}

// Find returns a launcher; false for a word that is none, Any included.
func Find(id string) (*Launcher, bool) {
	other := map[string]string{
		"megatron-lm": "megatron", "megatron-core": "megatron", "mcore": "megatron",
		"megatron-bridge": "bridge", "nemo": "bridge",
	}
	if of := other[strings.ToLower(id)]; of != "" { // what else they are called
		id = of
	}
	id, _ = knob.Spelled(id, IDs())
	all := Launchers()
	for i := range all {
		if all[i].ID == id {
			return &all[i], true
		}
	}
	return nil, false
}

// Of returns the launcher of a software stack; nil for stacks whose rules no table has.
func Of(s recipe.Stack) *Launcher {
	switch s.Resolve() {
	case recipe.MegatronCore, recipe.Megatron2022, recipe.Megatron2021:
		return new(megatronLM())
	case recipe.TorchTitan:
		return new(torchTitan())
	case recipe.Nanotron:
		return new(nanotron())
	default:
		return nil
	}
}

// Limit leaves out of a search what the launcher refuses, and writes into layouts what it must be told;
// without a launcher it changes nothing.
func (l *Launcher) Limit(q *search.Query) {
	if l != nil {
		q.Accepts, q.Launcher, q.WriteSplit, q.Instead = l.Accepts, l.ID, l.WriteSplit, l.Instead
		if refused := l.RefusedModel(&q.Setup); len(refused) > 0 {
			q.Unbuilt = refused[0].Because
		}
		q.Refuses = func(id knob.ID, s *engine.Setup) bool {
			wide := *s
			wide.ZeRO = 3 // the search chooses ZeRO
			return slices.ContainsFunc(l.rules, func(r Rule) bool { return r.Field == id && r.breaks(&wide) })
		}
		if slices.ContainsFunc(search.Named(), q.Several) {
			q.Accepts = l.AcceptsFrom(&q.Setup)
		}
	}
}

// Limit leaves out of a search what the launcher of its software stack refuses.
func Limit(q *search.Query) { Of(q.Setup.Stack).Limit(q) }

// Rules lists what the launcher refuses.
func (l *Launcher) Rules() []Rule { return slices.Clone(l.rules) }

// Accepts reports whether a launcher runs the layout of a legal setup as it is. Refusals
// also holds number formats and what else a search keeps against its rules.
func (l *Launcher) Accepts(s *engine.Setup) bool {
	for i := range l.rules {
		if !l.rules[i].outside && l.rules[i].breaks(s) {
			return false
		}
	}
	return true
}

// AcceptsFrom returns Accepts for what may be turned from a setup: number formats and whatever else a
// search keeps must meet the rules too, but those that the setup breaks already.
func (l *Launcher) AcceptsFrom(now *engine.Setup) func(*engine.Setup) bool {
	var rules []Rule
	for _, r := range l.rules {
		if !r.outside || !r.breaks(now) {
			rules = append(rules, r)
		}
	}
	return func(s *engine.Setup) bool {
		return !slices.ContainsFunc(rules, func(r Rule) bool { return r.breaks(s) })
	}
}

// AcceptsFrom returns that of the launcher of a setup's stack; nil: no table has its rules.
func AcceptsFrom(now *engine.Setup) func(*engine.Setup) bool {
	if l := Of(now.Stack); l != nil {
		return l.AcceptsFrom(now)
	}
	return nil
}

// WriteSplit writes the layers of each stage into an accepted layout that the launcher runs only
// with an explicit one; the stages stay what they are.
func (l *Launcher) WriteSplit(s *engine.Setup) {
	if l.explicit != nil && l.explicit(s) {
		s.Split = layout.BalancedSplit(s.Model.Layers, s.Stages())
	}
}

// RefusedModel lists why a launcher does not build the model of a setup, whatever its layout; none where it
// does.
func (l *Launcher) RefusedModel(s *engine.Setup) (out []Refusal) {
	for i := range l.rules {
		if r := &l.rules[i]; r.Field == modelField && r.breaks(s) {
			out = append(out, Refusal{Rule: r.ID, Field: r.Field, Because: r.Why(s), Source: r.Source})
		}
	}
	return out
}

// Refusals lists why a launcher does not run a legal setup; none where it does.
func (l *Launcher) Refusals(s *engine.Setup) []Refusal {
	var out []Refusal
	for i := range l.rules {
		if r := &l.rules[i]; r.breaks(s) {
			out = append(out, Refusal{Rule: r.ID, Field: r.Field, Because: r.Why(s), Source: r.Source})
		}
	}
	return append(out, partlyFilled(s)...)
}

// partlyFilled refuses nodes that are not all full: torchrun and accelerate start equally many
// processes on each. A search tries such numbers of GPUs only where they are given, so it is no Rule.
func partlyFilled(s *engine.Setup) []Refusal {
	node := s.Cluster.Node()
	if s.GPUs <= node || s.GPUs%node == 0 {
		return nil
	}
	whole, replica := node, max(s.TP*s.PP*s.CP, 1)
	for whole%replica != 0 {
		whole += node
	}
	nearest := fmt.Sprint(s.GPUs/whole*whole + whole)
	if below := s.GPUs / whole * whole; below > 0 {
		nearest = fmt.Sprintf("%d or %s", below, nearest)
	}
	return []Refusal{{
		Rule: "nodes", Field: knob.GPUs,
		Source: "pytorch/pytorch: torch/distributed/run.py, --nnodes and --nproc-per-node",
		Because: fmt.Sprintf("every node starts equally many processes, and %d GPUs fill %s of %d "+
			"and %d of another; nearest: %s", s.GPUs, units.Plural(s.GPUs/node, "node"), node, s.GPUs%node,
			nearest),
	}}
}

// Export returns a legal setup as the launcher's file, stamped with the version of the program
// that writes it, or why the launcher does not run it.
func (l *Launcher) Export(s *engine.Setup, version string) (*Document, []Refusal) {
	if refused := l.Refusals(s); len(refused) > 0 {
		return nil, refused
	}
	d := l.export(s)
	d.Launcher, d.Stamp = l.ID, l.stamp(s, version)
	if why := l.foreign(s.Stack); why != "" {
		d.Warnings = append(d.Warnings, why)
	}
	d.Nodes, d.PerNode = s.Nodes(), min(s.GPUs, s.Cluster.Node())
	return &d, nil
}

// Stack returns the software stack whose calibration predicts what the launcher starts; empty: none
// is fitted to it.
func (l *Launcher) Stack() recipe.Stack { return l.stack }

// Foreign reports whether a stack is predicted as another one than that of the launcher; false for a
// launcher without any.
func (l *Launcher) Foreign(s recipe.Stack) bool {
	of := Of(s)
	return l.stack != "" && (of == nil || of.stack != l.stack)
}

// foreign says that a setup is predicted as another stack than the launcher starts; empty: it is not.
func (l *Launcher) foreign(s recipe.Stack) string {
	switch {
	case l.stack == "" && s.Traits().Ledger:
		return "" // of what such a launcher runs on
	case l.stack == "":
		return fmt.Sprintf("no calibration is of %s itself: the prediction is of %s; --calibration "+
			"transformers or deepspeed predicts what it runs on", l.Name, s.Resolve())
	case l.Foreign(s):
		return fmt.Sprintf("the prediction is of %s; --calibration %s predicts what this file starts",
			s.Resolve(), l.stack)
	}
	return ""
}

// stamp returns what a file says of itself: who wrote it, by whose rules, and which were checked.
func (l *Launcher) stamp(s *engine.Setup, version string) []string {
	checked := make([]string, len(l.rules))
	for i := range l.rules {
		checked[i] = l.rules[i].ID
	}
	return []string{
		fmt.Sprintf("%s on %d x %s (%s): dp %d tp %d pp %d vpp %d cp %d ep %d etp %d, "+
			"%d sequences of %d tokens",
			s.Model.Name, s.GPUs, s.Cluster.GPU.Name, s.Cluster.Called(s.Cluster.ID), s.DP, s.TP, s.PP, s.VPP,
			s.CP, s.EP, s.ETP, s.GBS, s.Seq),
		fmt.Sprintf(writtenBy+" %s by the rules of %s %s, read in %s; not run.", version, l.Name,
			l.Version, l.Source),
		"Checked: " + strings.Join(checked, ", ") + ".",
	}
}

// Read returns what a file says, read as the launcher's own.
func (l *Launcher) Read(name string, data []byte) Reading { return l.read(name, data, Given{}) }

// Read returns what a file says, and the launcher that reads it: the last that knows its form,
// since the flags of the first ones may stand in comments of the files of the others. False where
// none does.
func Read(name string, data []byte) (Reading, bool) { return read(name, data, Given{}) }

func read(name string, data []byte, given Given) (Reading, bool) {
	if given.As != "" || hfconfig.Looks(data) {
		return readConfig(name, data, given.As), true
	}
	if r, ok := readHere(name, data, given); ok {
		return r, true
	}
	if r, ok := readProgram(name, data, given); ok {
		return r, true
	}
	var words []string
	if isScript(name) {
		words = scriptWords(name, data)
	}
	for _, l := range slices.Backward(Launchers()) {
		if l.sniff != nil && l.sniff(name, data) || l.says != nil && l.says(words) {
			return l.read(name, data, given), true
		}
	}
	return Reading{}, false
}

// Nearest returns the accepted and legal setup that changes of the knobs that the refusals name
// lead to: one change where that is enough, else up to five, each of which leaves fewer
// refusals. Of the values of a knob the one counts that brings the fewest other changes, then
// the nearest one. False where there is none.
func (l *Launcher) Nearest(s engine.Setup) (engine.Setup, bool) {
	if len(partlyFilled(&s)) > 0 { // whose refusal names the nearest
		return engine.Setup{}, false
	}
	const most = 5
	for range most {
		refused := l.Refusals(&s)
		best, left, cost := engine.Setup{}, len(refused), 0
		for _, r := range refused {
			// none where the field is the model
			steps := knob.Steps(s, r.Field, knob.Locks{GPUs: true, Batch: true})
			now := slices.IndexFunc(steps, func(v knob.Step) bool { return v.Current })
			for i := range steps {
				if i == now || !engine.Legal(steps[i].Setup) {
					continue
				}
				n, c := len(l.Refusals(&steps[i].Setup)), 1000*changed(&s, &steps[i].Setup)+max(i-now, now-i)
				if steps[i].Setup.Optimizer.Rule() != s.Optimizer.Rule() {
					c += 500 // farther than any kernel of the same update
				}
				if p := steps[i].Setup.Precision; s.Precision.Narrow() && !p.Narrow() && p != recipe.BF16 {
					c += 500 // what narrow formats leave in 16 bits is bf16
				}
				if n < left || n == left && n < len(refused) && c < cost {
					best, left, cost = steps[i].Setup, n, c
				}
			}
		}
		if left == len(refused) {
			return engine.Setup{}, false
		}
		if s = best; left == 0 {
			return s, true
		}
	}
	return engine.Setup{}, false
}

// GivesWay returns the nearest setup in which the launcher runs what nobody gave of what a search keeps,
// and why it does not run what that was; false where it runs it, or nothing near does.
func (l *Launcher) GivesWay(s engine.Setup, given func(knob.ID) bool) (engine.Setup, []Refusal, bool) {
	free := *l
	free.rules = slices.DeleteFunc(slices.Clone(l.rules),
		func(r Rule) bool {
			return !r.outside || r.Field == modelField || given(r.Field) ||
				slices.Contains(knob.Searched(), r.Field)
		})
	refused := free.Refusals(&s)
	if len(refused) == 0 {
		return s, nil, false
	}
	near, ok := free.Nearest(s)
	return near, refused, ok
}

// Instead returns the nearest setup in which the launcher runs what a search keeps; false where it refuses
// none of that.
func (l *Launcher) Instead(s engine.Setup) (engine.Setup, bool) {
	near, _, ok := l.GivesWay(s, func(knob.ID) bool { return false })
	return near, ok
}

// changed counts the knobs that two setups have differently.
func changed(a, b *engine.Setup) int {
	n := 0
	for _, k := range knob.All() {
		if k.Text(*a) != k.Text(*b) {
			n++
		}
	}
	return n
}
