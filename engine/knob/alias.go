package knob

import (
	"slices"
	"strings"
)

// Alias is another name of a knob, as a flag and as a key of setup documents: on and off
// stand for words of the knob.
type Alias struct {
	Name, Knob ID
	On, Off    string
	Help       string
	Old        bool // taken, and no longer listed
}

// Aliases lists the other names of knobs.
func Aliases() []Alias {
	return []Alias{
		{Name: "async-tp", Knob: "tp-overlap", On: "async", Off: "none", Help: "async TP overlaps its traffic: --tp-overlap async"},
		{Name: "fp8-attention", Knob: "attention-precision", On: "fp8", Off: "bf16", Help: "--attention-precision fp8", Old: true},
	}
}

// Named returns the knob that a name means and the value in its words: those of an alias are
// on and off. Another name stays as it is.
func Named(name ID, value string) (ID, string, error) {
	all := Aliases()
	i := slices.IndexFunc(all, func(a Alias) bool { return a.Name == name })
	if i < 0 {
		return name, value, nil
	}
	switch strings.ToLower(value) {
	case "on", "true":
		return all[i].Knob, all[i].On, nil
	case "off", "false":
		return all[i].Knob, all[i].Off, nil
	}
	return name, value, &ValueError{Field: string(name), Given: value, Allowed: "on or off"}
}
