package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// adapts reads which weights are trained, and of adapters their rank, their products and the format of what
// is frozen.
func (t *trainer) adapts(r *reader) {
	how, line := t.tuned(r)
	switch {
	case r.lost[loraKey]: // which is said
		t.noEffect(r, "what is trained is not known", rankKey, targetsKey, linearKey, magnitudesKey)
	case how == "full":
		t.noEffect(r, "without effect: every weight is trained", rankKey, targetsKey, linearKey,
			magnitudesKey)
		if bits, of := t.bits(r); bits != 16 {
			r.lost[flat(knob.Precision)] = true
			r.unknown(flat(knob.Precision), fmt.Sprintf("%s: weights in %d bits without adapters are not "+
				"modelled", of, bits), r.values[of].Line)
			r.guess(flat(knob.Precision), string(recipe.BF16))
		}
		delete(r.Setup, baseKey)
	case how == "lora" || how == "qlora":
		t.rank(r)
		t.adapted(r)
		if e, said := r.values[t.word(magnitudesKey)]; said && e.Value != nil {
			if on, err := isOn(e.Value); err == nil && on {
				r.Setup[doraKey] = true
			}
		}
		t.frozen(r, how)
	default:
		r.lost[loraKey] = true
		r.unknown(loraKey, fmt.Sprintf("%s %s: some weights alone are trained, %s", t.word(howKey),
			shown(how),
			otherTuning), line)
		t.noEffect(r, "adapters of another kind", rankKey, targetsKey, linearKey, magnitudesKey)
	}
}

// readMagnitudes reads whether adapters have magnitudes: adapts says that of the setup.
func readMagnitudes(v any, _ *reader) error {
	switch on, err := isOn(v); {
	case err != nil:
		return fmt.Errorf("%w; allowed: true (on), false (off)", err)
	case v == nil:
		return skip("null: the program's default")
	case !on:
		return skip("off: plain LoRA")
	}
	return nil
}

// tuned returns which weights are trained: full, lora, qlora or another word.
func (t *trainer) tuned(r *reader) (how string, line int) {
	if e, said := r.values[t.word(howKey)]; said {
		if word := strings.ToLower(fmt.Sprint(e.Value)); e.Value != nil && e.Value != false && word != "" {
			return word, e.Line
		}
		return "full", e.Line
	}
	for _, key := range adapterSwitches() {
		if e, said := r.values[key]; said && e.Value == true {
			return map[bool]string{true: "qlora", false: "lora"}[strings.Contains(key, "q")], e.Line
		}
	}
	if n, err := wholeNumber(r.values[t.word(rankKey)].Value, 0); t.ranked && err == nil && n > 0 {
		return "lora", r.values[t.word(rankKey)].Line
	}
	if t.tunes.by != "" && !r.lost[loraKey] {
		r.Understood = append(r.Understood, Understood{
			Key: t.word(howKey), Value: t.tunes.by, Setup: []string{loraKey},
			Assumed: t.name + "'s default",
		})
		return t.tunes.by, 0
	}
	if e, said := r.values[rankKey]; said && t.wraps && r.values[peftKey].Key == "" {
		r.lost[loraKey] = true
		r.unknown(loraKey, "the script says whether adapters are trained: no switch of it is given", e.Line)
		r.guess(loraKey, e.Value)
	}
	return "full", 0
}

// noEffect says of keys that are given why nothing is taken from them.
func (t *trainer) noEffect(r *reader, why string, keys ...string) {
	for _, key := range keys {
		e, said := r.values[t.word(key)]
		if !said {
			continue
		}
		r.Understood = slices.DeleteFunc(r.Understood, func(u Understood) bool { return u.Key == e.Key })
		r.Ignored = append(r.Ignored, Ignored{Key: e.Key, Why: why, Line: e.Line, value: e.Value, lost: true})
	}
}

// rank reads the rank of adapters.
func (t *trainer) rank(r *reader) {
	key := t.word(rankKey)
	e, said := r.values[key]
	if n, err := wholeNumber(e.Value, 1); said && err == nil {
		r.Setup[loraKey] = n
		return
	} else if said && e.Value != nil {
		r.lost[loraKey] = true
		r.wrongf(key, "%v", err)
		return
	}
	const most = 8 // of peft, which others build on
	switch {
	case t.tunes.rank > 0:
		r.assume(loraKey, t.tunes.rank, cmp.Or(t.tunes.who, t.name)+"'s default of "+key)
	case t.wraps:
		r.unknown(loraKey, "the script says the rank; peft's default is 8", 0)
	default:
		r.unknown(loraKey, "the file gives no "+key+", of which "+t.name+" has no default", 0)
	}
	r.lost[loraKey] = r.Setup[loraKey] == nil
	r.guess(loraKey, most)
}

// adapted reads the products that have adapters.
func (t *trainer) adapted(r *reader) {
	if r.lost[loraTargetsKey] {
		return
	}
	key := t.word(targetsKey)
	e, said := r.values[key]
	every := r.values[linearKey].Value == true
	var products, others []string
	for _, word := range listOf(e.Value) {
		last := word[strings.LastIndexByte(word, '.')+1:]
		switch of, known := recipe.ParseTargets(last); {
		case slices.Contains([]string{"all", "all-linear", "all_linear"}, strings.ToLower(word)):
			every = true
		case known:
			products = append(products, of)
		default:
			others = append(others, word)
		}
	}
	set, _ := recipe.ParseTargets(strings.Join(products, ","))
	switch {
	case every && len(others) > 0:
		r.Setup[loraTargetsKey] = "all"
		r.Ignored = append(r.Ignored, Ignored{
			Key: key, Line: e.Line, value: e.Value, lost: true,
			Why: "adapters of " + strings.Join(others, ", ") + " beside those of all linear layers are not " +
				"modelled",
		})
	case every:
		r.Setup[loraTargetsKey] = "all"
	case len(others) > 0:
		r.lost[loraTargetsKey] = true
		r.unknown(loraTargetsKey, fmt.Sprintf("%s: %s is none of the products that can have adapters (%s)",
			key,
			shown(strings.Join(others, ",")), strings.Join(recipe.Products(), ", ")), e.Line)
		if set != "" {
			r.guess(loraTargetsKey, set)
		}
	case set != "":
		r.Setup[loraTargetsKey] = set
	default:
		t.ownTargets(r, key, said)
	}
}

// ownTargets gives adapters the products that the program chooses itself.
func (t *trainer) ownTargets(r *reader, key string, said bool) {
	id, _ := r.Setup["model"].(string)
	m, err := presets.Default().Model(id)
	pairs := err == nil && slices.ContainsFunc(peftFamilies(), func(of string) bool {
		return strings.HasPrefix(m.Family, of)
	})
	switch {
	case t.tunes.targets == ofPeft && pairs && (!m.IsMoE() || !strings.HasPrefix(m.Family, "Qwen")):
		r.assume(loraTargetsKey, "qv", "peft's default of "+m.Family)
	case t.tunes.targets == ofPeft || t.wraps:
		r.lost[loraTargetsKey] = true
		r.unknown(loraTargetsKey, "the file gives no "+key+": peft has a default for each model, q and v "+
			"for most",
			0)
		r.guess(loraTargetsKey, "qv")
	case t.tunes.targets != "" && !said:
		r.assume(loraTargetsKey, t.tunes.targets, t.name+"'s default of "+key)
	default:
		r.lost[loraTargetsKey] = true
		r.unknown(loraTargetsKey, "the file gives no "+key+", of which "+t.name+" has no default", 0)
		r.guess(loraTargetsKey, "all")
	}
}

// peftFamilies are the families whose adapters peft puts on q and v where nothing is given (huggingface/peft
// src/peft/utils/constants.py, TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING).
func peftFamilies() []string {
	return []string{"Llama", "Mistral", "Mixtral", "Qwen2", "Qwen3", "Gemma"}
}

// bits returns how many bits the weights have as they are loaded, and the key that says it.
func (t *trainer) bits(r *reader) (bits int, key string) {
	on := func(key string) bool { return r.values[key].Value == true }
	switch {
	case on(t.word(in4Bits)) || on("use_4bit"):
		return 4, map[bool]string{true: t.word(in4Bits), false: "use_4bit"}[on(t.word(in4Bits))]
	case on(in8Bits) || on("use_8bit"):
		return 8, map[bool]string{true: in8Bits, false: "use_8bit"}[on(in8Bits)]
	}
	for _, key := range []string{t.word(bitsKey), "bits"} {
		if n, ok := r.values[key].Value.(int); ok && n < 16 && n > 0 {
			return n, key
		}
	}
	return 16, ""
}

// frozen reads the format of the weights that are not trained.
func (t *trainer) frozen(r *reader, how string) {
	unknown := func(guess any, line int, format string, args ...any) {
		r.lost[baseKey] = true
		r.unknown(baseKey, fmt.Sprintf(format, args...), line)
		if guess != nil {
			r.guess(baseKey, guess)
		}
	}
	bits, key := t.bits(r)
	by := fmt.Sprint(r.values[t.word(quantisedByKey)].Value)
	byLine := r.values[t.word(quantisedByKey)].Line
	switch nf4, int8 := string(recipe.BaseNF4), string(recipe.BaseInt8); {
	case r.lost[baseKey]:
	case t.id == "axolotl" && how == "qlora" && bits != 4:
		unknown(nf4, r.values[howKey].Line, "axolotl refuses adapter: qlora without load_in_4bit: true")
	case t.id == "axolotl" && how == "lora" && bits == 4:
		t.noEffect(r, "without effect: axolotl loads 4 bits with adapter: qlora alone", in4Bits)
	case t.id == "swift" && bits < 16 && !r.said(t.word(quantisedByKey)):
		t.noEffect(r, "without effect: no "+t.word(quantisedByKey)+" is given", bitsKey)
	case bits < 16 && r.said(t.word(quantisedByKey)) && !strings.HasPrefix(by, "bnb") &&
		!strings.HasPrefix(by, "bitsandbytes"):
		unknown(map[int]any{4: nf4, 8: int8}[bits], byLine, "%s %s is not modelled, bitsandbytes is",
			t.word(quantisedByKey), shown(by))
	case bits == 8:
		r.Setup[baseKey] = int8
	case bits == 4 || bits == 16 && how == "qlora" && (t.wraps || t.ranked):
		t.inFourBits(r, unknown)
	case bits < 16:
		unknown(nil, r.values[key].Line, "%d bits are not modelled; 4 and 8 are", bits)
	case t.tunes.fp32 && !r.said(t.word(dtypeKey)):
		unknown(string(recipe.BaseBF16), 0, "%s loads frozen weights in fp32 where %s is not given; 16 "+
			"bits are "+
			"modelled", t.name, t.word(dtypeKey))
	case t.tunes.fp32 && strings.HasSuffix(fmt.Sprint(r.values[t.word(dtypeKey)].Value), "32"):
		unknown(string(recipe.BaseBF16), r.values[t.word(dtypeKey)].Line,
			"frozen weights in fp32 are not modelled; 16 bits are")
	}
}

// inFourBits reads NF4, whose scales are quantised themselves as they are modelled.
func (t *trainer) inFourBits(r *reader, unknown func(guess any, line int, format string, args ...any)) {
	const nf4 = string(recipe.BaseNF4)
	kind, twice := r.values[t.word(kindKey)], r.values[t.word(doubleKey)]
	double := !t.tunes.single
	if on, err := isOn(twice.Value); twice.Key != "" && err == nil {
		double = on
	}
	switch {
	case kind.Key != "" && kind.Value != nf4:
		unknown(nf4, kind.Line, "%s: nf4 is modelled", shown(kind.Value))
	case twice.Key == "" && t.wraps:
		unknown(nf4, 0, "the script says whether 4 bits are quantised twice, as is modelled; transformers' "+
			"default "+
			"is once: 4.5 bits a weight in place of 4.127")
	case !double:
		unknown(nf4, twice.Line, "4 bits without double quantisation (%s) take 4.5 bits a weight: nf4 with "+
			"it, "+
			"4.127 bits, is modelled", t.word(doubleKey))
	default:
		r.Setup[baseKey] = nf4
	}
}

// stack returns the stack that its file starts a setup on; empty: another file says it.
func (t *trainer) stack(s *engine.Setup) recipe.Stack {
	switch {
	case t.id == "axolotl" && (s.ZeRO == 0 || s.ZeRO == 3):
		return recipe.Transformers
	case t.ships != nil && t.stages[s.ZeRO] != "":
		return recipe.DeepSpeed
	}
	return ""
}

// stacked takes the software that runs the steps, where it is known how weights are sharded.
func (t *trainer) stacked(r *reader) {
	deep := r.deep || t.deep(r)
	t.hostAdam(r, deep)
	ledger := r.runsOn(deep, t.second(r))
	_, known := r.Setup[flat(knob.ZeRO)]
	t.liger(r, ledger || !known) // whose guess is a ledger's stack
	if ledger || !known && t.pure(r) {
		t.lowWeights(r, r.number(flat(knob.ZeRO), 0), deep)
	}
	for i := range r.Understood { // where copies in fp32 are made, it says the precision alone
		if u := &r.Understood[i]; u.Key == pureKey && r.Setup[flat(knob.WeightDtype)] == nil {
			u.Setup = []string{flat(knob.Precision)}
		}
	}
}

// runsOn takes the stack of programs that train a model of transformers by DeepSpeed's engine, or by FSDP of
// PyTorch, of which the second version may be asked for, and DDP; false: it is not known.
func (r *reader) runsOn(deep, second bool) bool {
	key := flat(knob.Calibration)
	stack, why := recipe.Transformers, "a model of transformers under DDP, or on one GPU"
	zero, known := r.Setup[flat(knob.ZeRO)].(int)
	switch {
	case r.lost[key]:
		return false
	case !known:
		if deep {
			stack = recipe.DeepSpeed
		}
		r.lost[key] = true
		r.unknown(key, "how weights are sharded is not known, see zero", 0)
		r.guess(key, string(stack))
		return false
	case deep && zero == 0:
		r.plainOptimizer(recipe.Optimizer(fmt.Sprint(r.Setup[flat(knob.Optimizer)])))
		r.Ignored = append(r.Ignored, Ignored{
			Key: key, Why: "DeepSpeed without ZeRO is not modelled as a stack of its own: predicted as " +
				"Megatron-Core",
		})
		return false
	case deep:
		stack, why = recipe.DeepSpeed, fmt.Sprintf("DeepSpeed's ZeRO %d over a model of transformers", zero)
	case zero >= 2 && second:
		why = "a model of transformers under FSDP2"
	case zero >= 2:
		why = "a model of transformers under FSDP, whose first version is predicted as FSDP2"
	}
	r.assume(key, string(stack), why)
	if _, said := r.Setup[flat(knob.CPComm)]; !said && r.number(flat(knob.CP), 1) > 1 { // a ring, by its name
		r.Setup[flat(knob.CPComm)] = string(recipe.Ring)
	}
	r.ledger = r.Setup[key] != nil
	return r.ledger
}

// deep reports whether the program's own file or flags start DeepSpeed.
func (t *trainer) deep(r *reader) bool {
	v, said := r.values["deepspeed"]
	return said && v.Value != nil && v.Value != false && v.Value != "" && fmt.Sprint(v.Value) != "[]"
}

// second reports whether FSDP2 is asked for by name.
func (t *trainer) second(r *reader) bool {
	return slices.ContainsFunc([]string{"fsdp_version", "fsdp_config.fsdp_version", "fsdp_config.version"},
		func(key string) bool { return r.values[key].Value == 2 })
}

// pure reports whether the file asks for bf16 alone, without a copy in fp32.
func (*trainer) pure(r *reader) bool {
	e := r.values[pureKey]
	on, err := isOn(e.Value)
	return e.Key != "" && e.Value != nil && on && err == nil
}

// lowWeights gives programs that load weights in bf16, and let the optimizer update them without a copy in
// fp32, weights of that type: FSDP and DeepSpeed make the copy.
func (t *trainer) lowWeights(r *reader, zero int, deep bool) {
	key := flat(knob.WeightDtype)
	low := t.is("axolotl", "swift") && r.Setup[flat(knob.Precision)] == string(recipe.BF16)
	low = low || t.pure(r)
	if r.values[t.word(dtypeKey)].Value == "bfloat16" {
		low = low || t.id == "trl" || t.literal
	}
	if !low || zero > 0 || deep || r.lost[loraKey] || r.Setup[loraKey] != nil {
		return
	}
	r.assume(key, string(recipe.WeightsBF16), t.name+" loads weights in bf16, and without sharding nothing "+
		"copies them in fp32")
}

// onStack returns a setup whose launcher's stack was read: where that has no rules for it, and every weight
// is trained, it is predicted as by default, and that is said.
func (r *Reading) onStack(s engine.Setup, again func() (engine.Setup, error)) engine.Setup {
	if !r.ledger || s.Frozen() {
		return s
	}
	problems := knob.Check(&s)
	at := slices.IndexFunc(problems, func(p knob.Problem) bool {
		return p.Severity == layout.Error &&
			slices.Contains([]string{"stack-lacks", "degree-not-offered", "zero-not-offered"}, p.Code)
	})
	if at < 0 {
		return s
	}
	key := flat(knob.Calibration)
	other := s
	if other.Stack = recipe.Transformers; s.Offload.Weights() && engine.Legal(other) {
		r.Setup[key] = string(other.Stack)
		for i := range r.Understood {
			if u := &r.Understood[i]; u.Key == key {
				u.Value, u.Assumed = string(other.Stack),
					problems[at].Message+": predicted as the stack that has it, with weights on the host"
			}
		}
		if s, err := again(); err == nil {
			return s
		}
		return other
	}
	delete(r.Setup, key)
	if r.Setup[flat(knob.CPComm)] == string(recipe.Ring) { // said of the stack that has none
		delete(r.Setup, flat(knob.CPComm))
	}
	r.Understood = slices.DeleteFunc(r.Understood, func(u Understood) bool { return u.Key == key })
	r.Ignored = append(r.Ignored, Ignored{
		Key: key, Why: problems[at].Message + ": predicted as Megatron-Core",
	})
	r.plainOptimizer(s.Optimizer)
	r.plainOffload(s.Stack)
	r.plainLoss()
	delete(r.Setup, flat(knob.WeightDtype))
	r.Understood = slices.DeleteFunc(r.Understood, func(u Understood) bool {
		return u.Key == flat(knob.WeightDtype)
	})
	if other, err := again(); err == nil {
		return other
	}
	return s
}

// plainOptimizer gives a setup that no ledger predicts the optimizer of the same states; of other states it
// is unknown.
func (r *Reading) plainOptimizer(of recipe.Optimizer) {
	key := flat(knob.Optimizer)
	switch {
	case r.Setup[key] == nil || !of.OnlyLedger():
	case of == recipe.AdamForeach:
		r.Setup[key] = string(recipe.Adam)
	default:
		where := "transformers, pytorch and deepspeed"
		if !slices.Contains(recipe.FlatOptimizers(), of) {
			where = "transformers and pytorch"
		}
		r.unknown(key, string(of)+" is modelled on "+where+" alone", 0)
		r.guess(key, string(recipe.Adam))
	}
}
