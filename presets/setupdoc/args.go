package setupdoc

import (
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
)

// said is one word of a command line: a flag without its dashes, and its value.
type said struct{ key, value string }

func (w said) flag() string {
	if p, ok := engine.FindParam(engine.ParamID(w.key)); ok && p.Kind == engine.BoolParam {
		return "--" + w.key + "=" + w.value // a switch takes no separate value
	}
	return "--" + w.key + " " + w.value
}

// Flags are the flags that settle to a setup again: what it is about, and what is
// neither derived nor a default. ok is false for a setup that flags alone cannot give, such as one
// with a model that is no preset.
func Flags(s engine.Setup, lib Library) (flags string, ok bool) {
	settles := func(words []said) bool {
		var d Document
		for _, w := range words {
			if d.Set(w.key, w.value) != nil {
				return false
			}
		}
		got, err := d.Setup(lib)
		return err == nil && got == s
	}
	words := []said{{"model", s.Model.ID}, {"cluster", s.Cluster.ID}, {"gpus", strconv.Itoa(s.GPUs)}}
	for _, p := range engine.Params() {
		if text := p.Text(s); p.ID != "gpus" && p.ID != "nodes" && text != "" { // nodes follow from the GPUs
			words = append(words, said{string(p.ID), text})
		}
	}
	if !settles(words) {
		words[1] = said{"gpu", s.Cluster.GPU.ID}
		if !settles(words) {
			return "", false
		}
	}
	// What follows from the rest goes, but for what a reader wants to know.
	for _, w := range slices.Backward(slices.Clone(words)) {
		if tells(w.key) {
			continue
		}
		without := slices.DeleteFunc(slices.Clone(words), func(other said) bool { return other.key == w.key })
		if settles(without) {
			words = without
		}
	}
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.flag()
	}
	return strings.Join(texts, " "), true
}

// tells says that a flag is part of every command line, even where it is the
// default: whoever gets it should know what it is about.
func tells(key string) bool {
	return slices.Contains([]string{"model", "cluster", "gpu", "gpus", "tp", "pp", "gbs"}, key)
}
