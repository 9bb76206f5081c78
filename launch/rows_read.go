package launch

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// Rows that are only read, of files with types: null is a key that is not given.

// orNull makes a row one that null gives nothing to.
func (f field) orNull() field {
	read := f.read
	f.write, f.read = nil, func(v any, r *reader) error {
		if v == nil {
			return skip("null: the program's default")
		}
		return read(v, r)
	}
	return f
}

// count returns the row of a knob that is a whole number.
func count(key string, id knob.ID) field { return countField(key, id, nil).orNull() }

// turns returns the row of a switch that gives a knob one of two words.
func turns(key string, id knob.ID, on, off any) field {
	return field{key: key, from: []string{flat(id)}, read: func(v any, r *reader) error {
		is, err := isOn(v)
		if word := map[bool]any{true: on, false: off}[is]; err == nil && word != nil {
			r.Setup[flat(id)] = word
		}
		return err
	}}.orNull()
}

// switched is the reading of a switch that gives something together with others where it is on.
func switched(v any, _ *reader) error {
	if is, err := isOn(v); err != nil || !is || v == nil {
		return skip("changes nothing")
	}
	return nil
}

// recomputes returns the row of a switch of recomputing every layer.
func recomputes(key string) field {
	return turns(key, knob.Recompute, string(recipe.RecomputeFull), string(recipe.RecomputeNone))
}

// named returns the row of a model by its name.
func named(key string) field {
	return field{key: key, from: []string{"model"}, read: readModelName}.orNull()
}

// together returns the row of a key that gives some keys of the setup together with others.
func together(key string, from ...string) field {
	return field{key: key, from: from, read: part}.orNull()
}

// beyond returns the row of a key that takes what it gives out of what is modelled, but with a harmless
// value.
func beyond(key, from, why string, harmless ...any) field {
	return field{key: key, from: []string{from}, read: func(v any, _ *reader) error {
		for _, h := range append(harmless, false, 0, nil) {
			if single(v) == h {
				return skip("changes nothing")
			}
		}
		return foreign(shown(v) + ": " + why)
	}}
}

// says returns the row of a key that is explained and gives nothing.
func says(key, why string) field {
	return field{key: key, read: func(any, *reader) error { return skip(why) }}
}

// formats returns the row of a number format by the words for it.
func formats(key string) field {
	return field{key: key, from: []string{flat(knob.Precision)}, read: func(v any, r *reader) error {
		word := strings.ToLower(strings.TrimPrefix(fmt.Sprint(v), "amp_"))
		word = strings.TrimSuffix(strings.TrimPrefix(word, "torch."), "-mixed")
		p, ok := map[string]recipe.Precision{
			"bf16": recipe.BF16, "bfloat16": recipe.BF16, "fp16": recipe.FP16, "float16": recipe.FP16,
			"16": recipe.FP16, "half": recipe.FP16,
			"fp32": recipe.FP32, "float32": recipe.FP32, "32": recipe.FP32, "32-true": recipe.FP32,
			"no": recipe.FP32,
		}[word]
		if !ok {
			return foreign(shown(v) + " is not modelled")
		}
		r.Setup[flat(knob.Precision)] = string(p)
		return nil
	}}.orNull()
}

// updates returns the row of an optimizer by its name.
func updates(key string) field {
	return field{key: key, from: []string{flat(knob.Optimizer)}, read: func(v any, r *reader) error {
		if !plainAdam.MatchString(fmt.Sprint(v)) {
			return foreign(shown(v) + " is not modelled")
		}
		r.Setup[flat(knob.Optimizer)] = string(recipe.Adam)
		return nil
	}}.orNull()
}

// plainAdam finds the optimizers that keep two moments in fp32, by the words of several programs: others with
// Adam in their names keep them in fewer bits, on the host or of some weights.
var plainAdam = regexp.MustCompile(
	`(?i)^(?:decoupled_|fused_?|paged_?)*adamw?(?:_torch(?:_fused|_npu_fused|_xla)?` +
		`|_hf|_apex_fused|_32bit)?$`,
)

// lora returns the row of a rank of adapters.
func lora(key string) field { return beyond(key, flat(knob.Optimizer), tunesAdapters) }

// figure returns the row of a figure of the model.
func figure(key, of string) field {
	return field{key: key, from: []string{modelPrefix + of}, read: func(v any, r *reader) error {
		n, err := wholeNumber(v, 1)
		if err == nil {
			r.Setup[modelPrefix+of] = n
		}
		return err
	}}.orNull()
}

// joined gives a key of the setup what some whole numbers of the file make together, each with its default;
// one that is not known leaves it unknown, and so does one that is not given where others may be.
func (r *reader) joined(to, name string, of func(a, b int) int, defaults map[string]int) {
	n, given := 0, false
	for i, key := range sortedKeys(defaults) {
		if !r.said(key) && r.open != "" && !r.lost[to] {
			r.lost[to] = true
			r.unknown(to, r.open, 0)
		}
		given = given || r.said(key)
		if v := r.whole(key, 1, defaults[key]); i == 0 {
			n = v
		} else {
			n = of(n, v)
		}
	}
	switch {
	case r.lost[to] || n < 1:
	case given:
		r.Setup[to] = n
	default:
		r.assume(to, n, name+"'s default")
	}
}

// gpusOf takes the number of GPUs from machines and those of each, of which one may be the program's default.
func (r *reader) gpusOf(nodes, each string, one, eight int) {
	if r.lost["gpus"] {
		return
	}
	if r.open != "" && (!r.said(nodes) || !r.said(each)) {
		one, eight = 0, 0
	}
	n, m := r.whole(nodes, 1, one), r.whole(each, 1, eight)
	if n == 0 || m == 0 {
		r.unknown("gpus", "the file does not give both "+nodes+" and "+each,
			max(r.values[nodes].Line, r.values[each].Line))
		return
	}
	if !r.said(nodes) && !r.said(each) {
		r.assume("gpus", times(n, m), fmt.Sprintf("the default: %s %d, %s %d", nodes, n, each, m))
		return
	}
	gpus := times(n, m)
	if rank := times(r.number("tp", 1), r.number("pp", 1), r.number("cp", 1)); rank > 0 && gpus%rank != 0 {
		r.unknown("gpus",
			fmt.Sprintf("%d x %d is no multiple of tp x pp x cp = %d, so the file cannot run as it is", n, m,
				rank), max(r.values[nodes].Line, r.values[each].Line))
		return
	}
	r.Setup["gpus"] = gpus
}

// without gives defaults of a program to what its file does not say.
func (r *reader) without(name string, defaults map[string]any) {
	for _, key := range sortedKeys(defaults) {
		r.assume(key, defaults[key], name+"'s default")
	}
}

// sortedKeys returns the keys of a map in their order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
