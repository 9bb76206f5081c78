package launch

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
)

// Guessed begins why a value is assumed that is a guess.
const Guessed = "unknown, a guess: "

// Arguments returns the flags of import and of a setup that were given, as a shell reads them.
func (r *Reading) Arguments() string {
	var words []string
	for _, g := range r.given {
		words = append(words, "--"+strings.ReplaceAll(g.key, "_", "-"), setupdoc.Quoted(g.text))
	}
	return strings.Join(words, " ")
}

// Name returns an unknown key as a person gives it: model.vocab for --set, gpus for --gpus.
func (u *Unknown) Name() string { return strings.TrimPrefix(u.Key, setPrefix) }

// flag returns the flag that gives an unknown key a value.
func (u *Unknown) flag() string {
	flag, value := "--"+strings.ReplaceAll(u.Key, "_", "-")+" ", knob.Worded(u.Guess)
	if strings.HasPrefix(u.Key, setPrefix) {
		flag, value = "--set "+u.Name()+"=", fmt.Sprint(u.Guess)
	}
	if u.Guess == nil {
		value = "VALUE"
	}
	return flag + value
}

// Completes returns the flags that give the unknown keys a value; empty where there are none.
func (r *Reading) Completes() string {
	words := make([]string, len(r.Unknown))
	for i := range r.Unknown {
		words[i] = r.Unknown[i].flag()
	}
	return strings.Join(words, " ")
}

// Whole returns the keys of a setup document with what stands in for those that are unknown.
func (r *Reading) Whole(lib *presets.Library) map[string]any {
	flat := r.Flat(lib)
	for _, u := range r.Unknown {
		if _, given := flat[u.Key]; !given && u.Guess != nil && !strings.HasPrefix(u.Key, setPrefix) {
			flat[u.Key] = u.Guess
		}
	}
	return flat
}

// complete takes for unknown what every setup needs and the file of a launcher does not say.
func (r *Reading) complete() {
	if r.document != nil || r.Launcher == itself || r.Launcher == huggingFace {
		return
	}
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool {
			_, read := r.Setup[key]
			return read ||
				slices.ContainsFunc(r.given,
					func(g given) bool { return strings.ReplaceAll(g.key, "-", "_") == key }) ||
				slices.ContainsFunc(r.Unknown, func(u Unknown) bool { return u.Key == key })
		})
	}
	const absent = "not in the file"
	model := has("model")
	for key := range r.Setup {
		model = model || strings.HasPrefix(key, modelPrefix)
	}
	for _, need := range []struct {
		key  string
		have bool
	}{
		{"model", model},
		{"gpus", has("gpus", "nodes", "dp")},
		{"seq", has("seq")},
		{"mbs", has("mbs") || has("gbs") && has("microbatches")},
		{"gbs", has("gbs", "microbatches")},
		{"tp", has("tp")},
		{"pp", has("pp")},
		{"cp", has("cp")},
		{"zero", has("zero")},
		{"precision", has("precision")},
		{"recompute", has("recompute")},
	} {
		if !need.have {
			r.unknown(need.key, absent, 0)
		}
	}
}

// resolve returns the setup of a reading. Of an unknown number of GPUs the smallest counts that the rest
// allows, from a node on; of an unknown micro-batch what the batch leaves.
func (r *Reading) resolve(lib *presets.Library) (engine.Setup, error) {
	var first error
	var found engine.Setup
	legal := false
	try := func(set map[string]string) bool {
		s, err := r.setup(lib, set)
		if first == nil && found.GPUs == 0 {
			first = err
		}
		if err != nil {
			return false
		}
		if good := engine.Legal(s); found.GPUs == 0 || good && !legal {
			found, legal, first = s, good, nil
		}
		return legal
	}
	is := func(key string) bool {
		return slices.ContainsFunc(r.Unknown, func(u Unknown) bool { return u.Key == key })
	}
	if !is("gpus") && !is("mbs") {
		return r.setup(lib, nil)
	}
	rank := 1
	for _, key := range []string{"tp", "pp", "cp"} {
		if n, ok := r.Setup[key].(int); ok {
			rank = times(rank, n)
		}
	}
	if is("gpus") {
		for n := rank; n > 0 && n <= layout.MaxGPUs && n <= 4096*max(rank, 1); n *= 2 {
			if (n >= 8 || n == rank && rank > 4) && try(map[string]string{"gpus": fmt.Sprint(n)}) {
				break
			}
		}
	} else {
		try(nil)
	}
	if first != nil && is("mbs") {
		for mbs := 2; mbs <= 4096 && !try(map[string]string{"mbs": fmt.Sprint(mbs)}); mbs *= 2 {
		}
	}
	return found, first
}

// setup returns the setup of a reading with some knobs more.
func (r *Reading) setup(lib *presets.Library, set map[string]string) (engine.Setup, error) {
	doc, err := r.Document(lib)
	for _, u := range r.Unknown { // what stands in for it
		if _, isKnob := knob.Find(knob.ID(strings.ReplaceAll(u.Key, "_", "-"))); err == nil && isKnob &&
			u.Guess != nil && set[u.Key] == "" {
			_ = doc.Set(u.Key, fmt.Sprint(u.Guess))
		}
	}
	for key, value := range set {
		if err == nil {
			err = doc.Set(key, value)
		}
	}
	if err != nil {
		return engine.Setup{}, err
	}
	s, err := doc.Setup(lib)
	if err == nil && r.shard > 0 && s.DP > r.shard && s.DP%r.shard == 0 {
		replicas := s.DP / r.shard
		if err = doc.Set(string(knob.HSDP), fmt.Sprint(replicas)); err == nil {
			r.Setup[flat(knob.HSDP)] = replicas
			s, err = doc.Setup(lib)
		}
	}
	return s, err
}
