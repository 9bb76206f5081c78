package launch

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
)

// Verdict is what a launcher says of a setup.
type Verdict struct {
	Launcher string    `json:"launcher"`
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	Accepted bool      `json:"accepted"`
	Refusals []Refusal `json:"refusals,omitempty"`
	// knobs that the nearest accepted setup has differently
	Nearest map[string]any `json:"nearest,omitempty"`
}

// Check returns the verdict of every launcher on a legal setup, with the nearest that it accepts.
func Check(s *engine.Setup) []Verdict {
	var out []Verdict
	for _, l := range Launchers() {
		v := Verdict{Launcher: l.ID, Name: l.Name, Version: l.Version, Refusals: l.Refusals(s)}
		if v.Accepted = len(v.Refusals) == 0; !v.Accepted {
			if near, ok := l.Nearest(*s); ok {
				v.Nearest = Differing(s, &near)
			}
		}
		out = append(out, v)
	}
	return out
}

// RefusedLines tells every reason why a launcher does not run a legal setup, whose files have what it
// refuses of what a search keeps, and the nearest that it runs, or that none was found.
func (l *Launcher) RefusedLines(s *engine.Setup) (lines []string) {
	refused := l.Refusals(s)
	for i := range refused {
		lines = append(lines, l.Line(&refused[i]))
	}
	for i := range l.rules {
		k, ok := knob.Find(l.rules[i].Field)
		if !ok || !l.rules[i].outside || !l.rules[i].breaks(s) {
			continue
		}
		if others := writers(&k, s); len(others) > 0 {
			lines = append(lines, fmt.Sprintf("--%s %s is in files of %s (--for)", k.ID, k.Text(*s),
				strings.Join(others, ", ")))
		}
	}
	if near, ok := l.Nearest(*s); ok {
		return append(lines, "the nearest layout that it runs: "+Turned(Differing(s, &near)))
	}
	return append(lines, "no layout near this one that it runs was found")
}

// writers lists the launchers whose file has a knob as a setup has it, where they run that or something near.
func writers(k *knob.Knob, s *engine.Setup) (ids []string) {
	for _, l := range Launchers() {
		t := *s
		if len(l.Refusals(&t)) > 0 {
			near, ok := l.Nearest(t)
			if t = near; !ok || k.Text(t) != k.Text(*s) {
				continue
			}
		}
		lacks := func(n NotCarried) bool { return n.Key == flat(k.ID) }
		if d := l.export(&t); !slices.ContainsFunc(d.NotCarried, lacks) {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

// Line writes a refusal.
func (l *Launcher) Line(r *Refusal) string {
	return fmt.Sprintf("%s refuses --%s: %s (%s)", l.Name, r.Field, r.Because, r.Source)
}

// Turned writes knobs with their values as flags.
func Turned(to map[string]any) string {
	var words []string
	for _, k := range knob.All() {
		if v, ok := to[string(k.ID)]; ok {
			words = append(words, fmt.Sprintf("--%s %s", k.ID, knob.Worded(v)))
		}
	}
	return strings.Join(words, ", ")
}

// Differing returns the knobs that b has differently from a, with their values.
func Differing(a, b *engine.Setup) map[string]any {
	out := map[string]any{}
	for _, k := range knob.All() {
		if k.Text(*a) != k.Text(*b) && k.ID != knob.Nodes { // which follows from the GPUs
			if out[string(k.ID)] = k.Value(b); out[string(k.ID)] == 0.0 { // a figure that is left out
				out[string(k.ID)] = k.Text(*b)
			}
		}
	}
	return out
}
