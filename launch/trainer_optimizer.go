package launch

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// muonKey is LLaMA-Factory's switch of Muon, which takes the place of its optim (src/llamafactory/train/
// trainer_utils.py: create_custom_optimizer).
const muonKey = "use_muon"

// optimOf returns the program's word for an optimizer: the Trainer's, and axolotl's of its own; empty: it has
// none.
func (t *trainer) optimOf(o recipe.Optimizer) string {
	if o == recipe.Muon && t.id == "axolotl" {
		return string(o)
	}
	if names := o.TrainerNames(); len(names) > 0 {
		return names[0]
	}
	return ""
}

// optimizes reports whether the program has an optimizer, by a word or by a switch.
func (t *trainer) optimizes(o recipe.Optimizer) bool {
	return t.optimOf(o) != "" || o == recipe.Muon && t.id == "llama-factory"
}

// optimizers lists those that the program has.
func (t *trainer) optimizers() string {
	var words []string
	for _, o := range recipe.Optimizers() {
		if t.optimizes(o) {
			words = append(words, string(o))
		}
	}
	return strings.Join(words, ", ")
}

// readOptim reads an optimizer by the program's word.
func (t *trainer) readOptim(v any, r *reader) error {
	word := strings.ToLower(fmt.Sprint(v))
	if t.id == "llama-factory" && r.values[muonKey].Value == true {
		return skip(muonKey + " takes its place")
	}
	for _, o := range recipe.Optimizers() {
		if slices.Contains(o.TrainerNames(), word) || word == t.optimOf(o) && word != "" {
			r.Setup[flat(knob.Optimizer)] = string(o)
			return nil
		}
	}
	return updates("").read(v, r)
}

// muonSwitch returns the row of the switch, which other programs do not have.
func (t *trainer) muonSwitch() field {
	if t.id != "llama-factory" {
		return beyond(muonKey, flat(knob.Optimizer), "another optimizer, which is not modelled")
	}
	return field{
		key: muonKey, from: []string{flat(knob.Optimizer)},
		read: func(v any, r *reader) error {
			err := switched(v, r)
			if err == nil {
				r.Setup[flat(knob.Optimizer)] = string(recipe.Muon)
			}
			return err
		},
		write: func(s *engine.Setup) (any, bool) { return true, s.Optimizer == recipe.Muon },
	}
}
