package launch

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// What is kept in the memory of the host, by DeepSpeed and by FSDP.

// hostActivationsKey is the switch of axolotl and TRL by which what the backward reads goes to the host.
const hostActivationsKey = "activation_offloading"

// optimizerOnDrives takes the optimizer back from drives where there is no zero 3, which DeepSpeed has them
// with.
func (r *reader) optimizerOnDrives(key string) {
	offload, host := flat(knob.Offload), string(recipe.OffloadOptimizer)
	stage, known := r.Setup[flat(knob.ZeRO)].(int)
	switch {
	case r.Setup[offload] != string(recipe.OffloadOptimizerNVMe) || stage == 3:
	case known:
		r.wrongf(key, "nvme needs stage 3: read as the memory of the host")
		r.Setup[offload] = host
	default:
		r.withdraw(key)
		r.lost[offload] = true
		r.unknown(offload, "nvme needs stage 3, and the stage is not known, see zero", r.values[key].Line)
		r.guess(offload, host)
	}
}

// offGPU reads where DeepSpeed keeps the optimizer, and weights: off the GPU with the optimizer, and zero 3.
func (r *reader) offGPU(optimizerKey, key string) {
	r.optimizerOnDrives(optimizerKey)
	e, said := r.values[key]
	if !said || slices.Contains([]any{"none", nil, false}, e.Value) {
		return
	}
	offload := flat(knob.Offload)
	third, optimizer := r.Setup[flat(knob.ZeRO)] == 3, r.Setup[offload]
	switch {
	case third && e.Value == "cpu" && optimizer == string(recipe.OffloadOptimizer):
		r.Setup[offload] = string(recipe.OffloadWeights)
		return
	case third && e.Value == onNVMe && optimizer == string(recipe.OffloadOptimizerNVMe):
		r.Setup[offload] = string(recipe.OffloadWeightsNVMe)
		return
	case third && e.Value == "cpu" && optimizer == string(recipe.OffloadOptimizerNVMe):
		r.withdraw(key)
		r.lost[offload] = true
		r.unknown(offload, "the optimizer on NVMe with weights in host memory is not modelled", e.Line)
		r.guess(offload, string(recipe.OffloadWeightsNVMe))
		return
	}
	r.withdraw(key)
	r.Ignored = append(r.Ignored, Ignored{
		Key: key, Line: e.Line, lost: true, value: e.Value,
		Why: "weights stay on the GPU here: in the host's memory (cpu), or on its drives (nvme), they are " +
			"modelled with the optimizer there too, and zero 3",
	})
}

// onNVMe is DeepSpeed's word for the drives of a node.
const onNVMe = "nvme"

// hostDevice returns DeepSpeed's word for where an offload has what is off the GPU.
func hostDevice(o recipe.Offload) string {
	if o.NVMe() {
		return onNVMe
	}
	return "cpu"
}

// drivePath returns the row of the folder on drives of what some offloads have there.
func drivePath(key string, has func(recipe.Offload) bool) field {
	return yours(key, "/local_nvme", "a folder on the drives of each node").only(func(s *engine.Setup) bool {
		return s.Offload.NVMe() && has(s.Offload)
	})
}

// swaps returns the row of a key of what is on drives, of which DeepSpeed's default is modelled.
func swaps(key string, as any) field {
	return field{key: key, read: func(v any, r *reader) error {
		const zero = "zero_optimization."
		if r.text(zero+"offload_optimizer.device") != onNVMe || r.text(zero+"stage") != "3" {
			return skip("nothing is on drives here")
		}
		if f, ok := v.(float64); ok && f == float64(int(f)) {
			v = int(f)
		}
		if v == nil || v == as {
			return skip("DeepSpeed's default, which the figures have")
		}
		return uncarried(fmt.Sprintf("the figures are those of %v, DeepSpeed's default", as))
	}}
}

// onHostWithoutShards takes back weights on the host of a file that shards none: FSDP alone keeps them there.
func (r *reader) onHostWithoutShards(key string) {
	if e := r.values[key]; r.Setup[flat(knob.Offload)] == string(recipe.OffloadWeights) {
		r.Setup[flat(knob.Offload)] = string(recipe.OffloadNone)
		r.withdraw(key)
		r.Ignored = append(r.Ignored, Ignored{
			Key: key, Line: e.Line, value: e.Value, lost: true, Why: "without effect: FSDP shards nothing",
		})
	}
}

// shippedOffload takes what a file of DeepSpeed keeps on the host, by the name that the program ships it
// under: the optimizer, and with stage 3 weights too, or these alone.
func (t *trainer) shippedOffload(r *reader, name, why string) {
	key, of := flat(knob.Offload), recipe.OffloadOptimizer
	switch {
	case !strings.Contains(name, "offload"):
		return
	case strings.Contains(name, "offload_params"):
		r.lost[key] = true
		r.unknown(key, "weights on the host without the optimizer are not modelled",
			r.values["deepspeed"].Line)
		return
	case r.Setup[flat(knob.ZeRO)] == 3:
		of = recipe.OffloadWeights
	}
	r.assume(key, string(of), why)
}

// onHost reads a word of FSDP that may send weights to the host.
func onHost(v any, _ *reader) error {
	if strings.Contains(fmt.Sprint(v), "offload") {
		return nil // see hostWeights
	}
	return skip("what is wrapped")
}

// hostWeights reads whether FSDP keeps weights, gradients and optimizer on the host.
func (t *trainer) hostWeights(r *reader) {
	const param = "fsdp_config.offload_params"
	offload, key := flat(knob.Offload), ""
	for _, of := range []string{"fsdp", "fsdp.0", "fsdp.1", "fsdp.2"} {
		if strings.Contains(fmt.Sprint(r.values[of].Value), "offload") {
			key = of
		}
	}
	if on, err := isOn(r.values[param].Value); r.values[param].Key != "" && on && err == nil {
		key = param
	}
	if _, said := r.Setup[offload]; key == "" || said || r.lost[offload] {
		return
	}
	stage, known := r.Setup[flat(knob.ZeRO)].(int)
	switch r.Setup[offload] = string(recipe.OffloadWeights); {
	case !known:
		r.lost[offload] = true
		r.unknown(offload, "how weights are sharded is not known, see zero", r.values[key].Line)
	case stage < 2 || t.deep(r):
		r.onHostWithoutShards(key)
	case key != param: // whose row gives zero
		r.Understood = append(r.Understood, Understood{
			Key: key, Value: r.values[key].Value, Setup: []string{offload}, Line: r.values[key].Line,
		})
	}
}

// hostAdam takes the Adam of DeepSpeed that accelerate puts in for AdamW of PyTorch where the optimizer is on
// the host (huggingface/accelerate src/accelerate/utils/deepspeed.py, map_pytorch_optim_to_deepspeed).
func (t *trainer) hostAdam(r *reader, deep bool) {
	key := flat(knob.Optimizer)
	of, _ := r.Setup[flat(knob.Offload)].(string)
	if deep && recipe.Offload(of).Optimizer() && r.Setup[key] == string(recipe.AdamForeach) {
		r.Setup[key] = string(recipe.Adam)
	}
}

// hostActivations takes a switch by which what the backward reads goes to host memory, with what is there
// already.
func (r *reader) hostActivations(key string, deep bool) {
	e, said := r.values[key]
	on, err := isOn(e.Value)
	offload := flat(knob.Offload)
	word, _ := r.Setup[offload].(string)
	switch of := recipe.Offload(word); {
	case !said || err != nil || !on || e.Value == nil || r.lost[offload]:
	case deep || of == recipe.OffloadOptimizer:
		r.withdraw(key)
		r.Ignored = append(r.Ignored, Ignored{
			Key: key, Line: e.Line, lost: true, value: e.Value, Why: "activations on the host are modelled " +
				"under DDP, FSDP and on one GPU: under DeepSpeed they stay on the GPU here",
		})
	case of.Weights():
		r.Setup[offload] = string(recipe.OffloadEverything)
	default:
		r.Setup[offload] = string(recipe.OffloadActivations)
	}
}

// readHostActivations reads that switch, which is a word in axolotl: with its older code, or on a disk.
func readHostActivations(v any, r *reader) error {
	if _, err := isOn(v); err != nil {
		return foreign(shown(v) + ": activations in another way than whole tensors in host memory are not " +
			"modelled")
	}
	return switched(v, r)
}

// hostsActivations reports whether a program has that switch.
func (t *trainer) hostsActivations() bool { return t.id == "axolotl" || t.id == "trl" }

// withdraw takes back what a key was understood as.
func (r *reader) withdraw(key string) {
	r.Understood = slices.DeleteFunc(r.Understood, func(u Understood) bool { return u.Key == key })
}

// unless returns rules of which one refuses what it does but in some setups.
func unless(rules []Rule, id, because string, where func(*engine.Setup) bool) []Rule {
	for i := range rules {
		if r := rules[i]; r.ID == id {
			rules[i] = refuses(r.ID, r.Field, r.Source, because, func(s *engine.Setup) bool {
				return r.breaks(s) && !where(s)
			})
		}
	}
	return rules
}

// hostRules returns what a program on the Trainer cannot keep on the host.
func (t *trainer) hostRules() []Rule {
	rules := noHostMemory(t.source, "the optimizer stays on the GPU")
	if t.hostsActivations() {
		stages := "zero 0"
		if t.fsdp2 {
			stages = "zero 0, or 3 with FSDP2"
		}
		rules = unless(rules, "offload-activations", "activations are on the host with "+stages+": "+
			"with others its file trains under DeepSpeed, where they stay on the GPU",
			func(s *engine.Setup) bool { return !t.writesDeepSpeed(s) })
	}
	third := func(s *engine.Setup) bool { return s.ZeRO == 3 }
	switch t.id {
	case "axolotl":
		rules = unless(rules, "offload-weights", "fsdp_config.offload_params needs FSDP2, with zero 3", third)
	case "llama-factory":
		const ships = "it ships files of DeepSpeed with the optimizer on the host for zero 2, and with " +
			"weights too for zero 3"
		rules = unless(rules, "offload-weights", ships, third)
		rules = unless(rules, "offload", ships,
			func(s *engine.Setup) bool { return s.ZeRO == 2 })
	}
	return rules
}

// writesDeepSpeed reports whether its file trains a setup under DeepSpeed.
func (t *trainer) writesDeepSpeed(s *engine.Setup) bool {
	return s.ZeRO > 0 && (t.ships == nil || t.stages[s.ZeRO] != "")
}

// shipped returns the file of DeepSpeed for a setup that lies in the program's repository.
func (t *trainer) shipped(s *engine.Setup) string {
	if t.id == "llama-factory" && s.Offload.Optimizer() {
		return strings.Replace(t.stages[s.ZeRO], "_config.json", "_offload_config.json", 1)
	}
	return t.stages[s.ZeRO]
}

// plainOffload takes weights and activations back from the host where another stack than that of the file is
// predicted: of DeepSpeed the optimizer stays there.
func (r *Reading) plainOffload(from recipe.Stack) {
	const weights = "weights on the host are modelled on transformers, pytorch and deepspeed alone"
	key, optimizer := flat(knob.Offload), string(recipe.OffloadOptimizer)
	word, _ := r.Setup[key].(string)
	away := func(why, where string, guess recipe.Offload) {
		for _, u := range r.Understood {
			if slices.Equal(u.Setup, []string{key}) {
				r.Ignored = append(r.Ignored, Ignored{
					Key: u.Key, Line: u.Line, value: u.Value, lost: true, Why: why + ": " + where,
				})
			}
		}
		r.Understood = slices.DeleteFunc(r.Understood, func(u Understood) bool {
			return slices.Equal(u.Setup, []string{key})
		})
		r.unknown(key, why, 0)
		r.guess(key, string(guess))
	}
	switch of := recipe.Offload(word); {
	case of.NVMe():
		away("NVMe is modelled on deepspeed alone", "the optimizer is in the memory of the host here",
			recipe.OffloadOptimizer)
	case of.Activations():
		why := "activations"
		if of.Weights() {
			why = "weights and activations"
		}
		away(why+" on the host are modelled on transformers and pytorch alone", "nothing is there here",
			recipe.OffloadNone)
	case !of.Weights():
	case from.Resolve() == recipe.DeepSpeed:
		r.Setup[key] = optimizer
		for i := range r.Understood {
			if u := &r.Understood[i]; slices.Equal(u.Setup, []string{key}) &&
				u.Value == string(recipe.OffloadWeights) {
				u.Value = optimizer
			}
		}
		r.Ignored = append(r.Ignored, Ignored{
			Key: "offload_param", Why: weights + ": they stay on the GPU here", lost: true,
		})
	default:
		r.unknown(key, weights, 0)
		r.guess(key, string(recipe.OffloadNone))
	}
}
