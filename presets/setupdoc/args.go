package setupdoc

import (
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
)

// said is one word of a command line: a flag without its dashes, and its value.
type said struct{ key, value string }

func (w said) flag() string {
	if p, ok := knob.Find(knob.ID(w.key)); ok && p.Kind == knob.Switch {
		return "--" + w.key + "=" + w.value // a switch takes no separate value
	}
	return "--" + w.key + " " + Quoted(w.value)
}

// Quoted returns a value as a shell takes it for one word.
func Quoted(value string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_-+.,:=/%@", r)
	}
	if value != "" && strings.IndexFunc(value, func(r rune) bool { return !plain(r) }) < 0 {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

// Flags returns the flags that resolve to a setup again: what it is about, and what is
// neither derived nor a default. A model or a machine that differs from its preset
// is said by --set, field by field. ok is false for a setup that flags alone cannot
// give, such as one with a model whose name is no preset.
func Flags(s engine.Setup, lib Library) (flags string, ok bool) {
	resolves := func(words []said) bool {
		var d Document
		for _, w := range words {
			if d.word(w) != nil {
				return false
			}
		}
		got, err := d.Setup(lib)
		return err == nil && got == s
	}
	words := []said{
		{"model", s.Model.ID},
		{"cluster", s.Cluster.ID},
		{string(knob.GPUs), strconv.Itoa(s.GPUs)},
	}
	for _, p := range knob.All() {
		// nodes follow from the GPUs
		if text := p.Text(s); p.ID != knob.GPUs && p.ID != knob.Nodes && text != "" {
			words = append(words, said{string(p.ID), text})
		}
	}
	words, ok = edited(words, &s, lib)
	if !ok || !resolves(words) {
		return "", false
	}
	// What follows from the rest goes, but for what a reader wants to know.
	for _, w := range slices.Backward(slices.Clone(words)) {
		if tells(w.key) {
			continue
		}
		without := slices.DeleteFunc(slices.Clone(words), func(other said) bool { return other == w })
		if resolves(without) {
			words = without
		}
	}
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.flag()
	}
	return strings.Join(texts, " "), true
}

// word says one word of a command line.
func (d *Document) word(w said) error {
	if w.key == setKey {
		return d.Assign(w.value)
	}
	return d.Set(w.key, w.value)
}

// setKey is the flag of a field that has no flag of its own.
const setKey = "set"

// edited adds what the model and the machine of a setup differ in from the presets
// that the first words name. A machine that is no preset is the node of its GPU. It
// is false where a name is none of a preset.
func edited(words []said, s *engine.Setup, lib Library) ([]said, bool) {
	m, err := lib.Model(s.Model.ID)
	if err != nil {
		return nil, false
	}
	c, err := lib.Cluster(s.Cluster.ID)
	if err != nil {
		g, err := lib.GPU(s.Cluster.GPU.ID)
		if err != nil {
			return nil, false
		}
		c, words[1] = lib.NodeOf(g), said{"gpu", g.ID}
	}
	for _, pair := range [][2]fields{
		{fieldsOf("model", m), fieldsOf("model", s.Model)},
		{fieldsOf("cluster", c), fieldsOf("cluster", s.Cluster)},
	} {
		for i, f := range pair[1] {
			if f != pair[0][i] {
				words = append(words, said{setKey, f[0] + "=" + f[1]})
			}
		}
	}
	return words, true
}

// tells says that a flag is part of every command line, even where it is the
// default: whoever gets it should know what it is about.
func tells(key string) bool {
	return slices.Contains([]knob.ID{"model", "cluster", "gpu", knob.GPUs, knob.TP, knob.PP, knob.GBS},
		knob.ID(key))
}
