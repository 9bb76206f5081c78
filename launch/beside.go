package launch

import (
	"path"
	"slices"
	"strings"

	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// beside takes some keys of the setup from a file that lies beside the one that is read; false: it is not
// there.
func (r *reader) beside(f form, name string, keys ...string) bool {
	if r.amid.given.Source == nil {
		return false
	}
	data, ok := r.amid.given.Source(name)
	if !ok {
		return false
	}
	r.adopt(f.reading(data), lastPart(name), keys)
	return true
}

// adopt takes some keys of the setup from another reading, which is of what a name tells.
func (r *reader) adopt(of Reading, name string, keys []string) {
	for _, key := range keys {
		v, said := of.Setup[key]
		if _, before := r.Setup[key]; !said || before || r.lost[key] {
			continue
		}
		r.Setup[key] = v
		r.Unknown = slices.DeleteFunc(r.Unknown, func(u Unknown) bool { return u.Key == key })
		r.Understood = append(r.Understood, Understood{Key: name, Value: v, Setup: []string{key}})
	}
	for _, u := range of.Unknown {
		if _, before := r.Setup[u.Key]; slices.Contains(keys, u.Key) && !before {
			r.lost[u.Key] = true
			r.unknown(u.Key, name+": "+u.Why, 0)
		}
	}
	for _, i := range of.Ignored {
		if i.Why != unknownKey {
			r.Ignored = append(r.Ignored, Ignored{Key: name + ": " + i.Key, Why: i.Why})
		}
	}
	for _, p := range of.Problems {
		r.Ignored = append(r.Ignored, Ignored{Key: name, Why: p.Message})
	}
}

// accelerated takes what accelerate's command line and its configuration say.
func (r *reader) accelerated() {
	at := launchAt(textsOf(r.amid.starter))
	if at < 0 {
		return
	}
	keys := append(plusPlusKeys(), "gpus", "zero", "hsdp", "offload", "precision", "recompute", "tp", "cp")
	// the last is the program
	entries, _ := r.amid.script.keysOf(r.amid.starter[at+1:max(at+1, len(r.amid.starter)-1)], false)
	file, of := "", []Entry(nil)
	for _, e := range entries {
		switch name, _ := e.Value.(string); {
		case e.Key == "config_file":
			if file = name; file == "" { // its folder is not known
				i := slices.IndexFunc(r.amid.starter,
					func(f shellField) bool { return strings.HasPrefix(f.text, "--config_file") })
				file = lastPart(r.amid.starter[min(i+1, len(r.amid.starter)-1)].text)
			}
			if r.amid.given.Source != nil {
				if data, ok := r.amid.given.Source(file); ok {
					of, _ = parseYAML(data)
				}
			}
		case e.Key == "use_fsdp", e.Key == "use_deepspeed", e.Key == "multi_gpu":
			kind := map[string]string{
				"use_fsdp": "FSDP", "use_deepspeed": "DEEPSPEED",
				"multi_gpu": "MULTI_GPU",
			}[e.Key]
			of = append(of, Entry{Key: "distributed_type", Value: kind, Line: e.Line})
		case strings.HasPrefix(e.Key, "fsdp_"):
			of = append(of, Entry{Key: "fsdp_config." + e.Key, Value: e.Value, Line: e.Line})
		case strings.HasPrefix(e.Key, "parallelism_config_"):
			of = append(of, Entry{Key: "parallelism_config." + e.Key, Value: e.Value, Line: e.Line})
		case e.Key == "zero_stage", strings.HasPrefix(e.Key, "offload_"), e.Key == "deepspeed_config_file":
			of = append(of, Entry{Key: "deepspeed_config." + e.Key, Value: e.Value, Line: e.Line})
		case e.Key == "num_processes", e.Key == "num_machines", e.Key == "mixed_precision":
			of = append(of, e)
		}
	}
	kinds := map[any]bool{}
	for _, e := range of {
		if e.Key == "distributed_type" {
			kinds = map[any]bool{e.Value: true}
		}
	}
	r.deep = kinds["DEEPSPEED"]
	f := accelerateFile(r.deep)
	f.assumed, f.parse = nil, nil
	if len(kinds) == 0 { // what the machine is configured for
		why := "accelerate takes it from the configuration of the machine"
		if file != "" {
			why = "accelerate's " + file + " says it, which is another file"
		}
		keys = []string{"gpus", "precision"}
		if _, said := r.Setup[flat(knob.ZeRO)]; !said && !r.lost[flat(knob.ZeRO)] {
			r.lost[flat(knob.ZeRO)] = true
			r.unknown(flat(knob.ZeRO), why, 0)
		}
		if m := stageInName.FindStringSubmatch(lastPart(file)); m != nil {
			r.stage = int(m[1][0] - '0')
		}
		of = append(of, Entry{Key: "distributed_type", Value: "MULTI_GPU"})
	}
	said := f.of(of, nil, r.amidFiles())
	if full := string(recipe.RecomputeFull); said.Setup[flat(knob.Recompute)] == full &&
		r.Setup[flat(knob.Recompute)] == string(recipe.RecomputeNone) { // FSDP does, whatever the model does
		r.Setup[flat(knob.Recompute)] = full
	}
	r.adopt(said, "accelerate", keys)
}

// launchAt returns where accelerate starts a program in a command; -1: it does not.
func launchAt(words []string) int {
	for i, w := range words {
		if w == "accelerate.commands.launch" || w == "launch" && i > 0 &&
			path.Base(words[i-1]) == "accelerate" {
			return i
		}
	}
	return -1
}

// anyAccelerated returns a script of one's own that accelerate starts: what accelerate says is read of it.
func anyAccelerated() form {
	f := accelerateFile(false)
	return form{
		id: "accelerate", name: "accelerate", source: accelerateSource, parse: parseYAML,
		assumed: f.assumed[:5], spawns: true,
		starts: func(words []string, _ map[string]bool) bool { return launchAt(words) >= 0 },
		rows: []field{
			formats("mixed_precision"), named("model_name_or_path"),
			count("gradient_accumulation_steps", knob.MicroBatches),
		},
		finish: func(r *reader) {
			r.accelerated()
			r.runsOn(r.deep, false)
		},
	}
}

// readTorchrun reads a script of one's own that torchrun starts, of which the number of GPUs alone is known.
func readTorchrun(name string, data []byte, given Given) (Reading, bool) {
	if !isScript(name) {
		return Reading{}, false
	}
	s := parseScript(name, data, given)
	for i := range s.calls {
		words := textsOf(s.calls[i].fields)
		at := programAt(s.calls[i].fields)
		if at < 0 || !slices.ContainsFunc(words[:at], func(w string) bool {
			return path.Base(w) == "torchrun" || strings.HasPrefix(w, "torch.distributed")
		}) {
			continue
		}
		f := form{
			id: "torchrun", name: "torchrun", source: "pytorch/pytorch: torch/distributed/run.py",
			spawns: true,
		}
		call := &s.calls[i]
		r := f.of(nil, nil, amid{given: given, script: s, starter: slices.Concat(call.outer, call.env,
			call.fields[:at+1])})
		r.Problems = append(slices.Clone(s.problems), r.Problems...)
		r.Ignored = append(r.Ignored, Ignored{
			Key: words[at], Why: "a program of its own, which is not read: what it trains is not known",
			Line: s.calls[i].fields[at].line, lost: true,
		})
		return r, true
	}
	return Reading{}, false
}

// amidFiles is what stands around a file that another names.
func (r *reader) amidFiles() amid { return amid{given: r.amid.given} }
