package launch

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// ligerSwitches are the keys that turn Liger-Kernel's loss on, by the program that is written with each.
func ligerSwitches() [3][2]string {
	return [3][2]string{
		{"llama-factory", "enable_liger_kernel"},
		{"trl", "use_liger_kernel"},
		{"axolotl", "liger_fused_linear_cross_entropy"},
	}
}

const ligerPlugin = "axolotl.integrations.liger.LigerPlugin"

// plugged reports whether axolotl loads what reads its keys of Liger.
func (r *reader) plugged() bool {
	for key, e := range r.values {
		if _, waits := e.Value.(unresolved); strings.HasPrefix(key, "plugins") &&
			(waits || strings.Contains(fmt.Sprint(e.Value), "LigerPlugin")) {
			return true
		}
	}
	return false
}

// ligerRows returns the keys of Liger-Kernel's loss.
func (t *trainer) ligerRows() []field {
	on := func(s *engine.Setup) bool { return s.Loss == recipe.LigerLoss }
	const why = "what reads axolotl's keys of Liger"
	plugin := fixed("plugins.0", ligerPlugin, why,
		func(s *engine.Setup) bool { return t.id == "axolotl" && on(s) })
	plugin.read = func(v any, _ *reader) error {
		if word, _ := v.(string); strings.HasSuffix(word, "LigerPlugin") {
			return skip(why)
		}
		return skip(unknownKey)
	}
	rows := []field{plugin}
	for _, of := range ligerSwitches() {
		rows = append(rows, field{
			key: of[1], from: []string{flat(knob.Loss)},
			read:  switched,
			write: func(s *engine.Setup) (any, bool) { return true, t.id == of[0] && on(s) },
		})
	}
	return rows
}

// liger takes Liger-Kernel's loss where a ledger has it.
func (t *trainer) liger(r *reader, ledger bool) {
	for _, of := range ligerSwitches() {
		key := of[1]
		if !slices.ContainsFunc(r.Understood, func(u Understood) bool { return u.Key == key }) {
			continue
		}
		if t.is("axolotl") && !r.plugged() {
			t.noEffect(r, "without effect: axolotl reads it with plugins: "+ligerPlugin+" alone", key)
			continue
		}
		if !ledger {
			t.noEffect(r, "its kernels are not modelled: operation by operation here, with logits in "+
				"memory", key)
			continue
		}
		r.Setup[flat(knob.Loss)] = string(recipe.LigerLoss)
		if of[0] != "axolotl" { // which has a key for each kernel
			r.Ignored = append(r.Ignored, Ignored{
				Key: key, Line: r.values[key].Line,
				Why: "loss liger alone: its other kernels (RoPE, norms, SwiGLU) are not modelled",
			})
		}
	}
}

// plainLoss takes Liger-Kernel's loss back where another stack than that of the file is predicted.
func (r *Reading) plainLoss() {
	key := flat(knob.Loss)
	if r.Setup[key] != string(recipe.LigerLoss) {
		return
	}
	delete(r.Setup, key)
	r.Understood = slices.DeleteFunc(r.Understood, func(u Understood) bool {
		return slices.Equal(u.Setup, []string{key})
	})
	r.Ignored = append(r.Ignored, Ignored{
		Key: key, Why: "loss liger is modelled on transformers, pytorch and deepspeed alone", lost: true,
	})
}
