package launch

import (
	"regexp"
	"slices"
	"strings"
)

// pySite is a call of a Python file with its arguments.
type pySite struct {
	name  string
	args  []pyPair // of a positional one the key is empty
	line  int
	maybe bool // in a branch or a loop
}

// Bounds of the calls of a Python file.
const (
	maxSites  = 64
	maxCall   = 1 << 16 // characters
	maxBranch = 2000    // lines of a function before a call
)

// trainingCalls are the classes of arguments of Hugging Face's Trainer, and of TRL's.
func trainingCalls() (trainer, trl []string) {
	return []string{"TrainingArguments", "Seq2SeqTrainingArguments"}, []string{
		"SFTConfig", "DPOConfig", "GRPOConfig", "KTOConfig", "ORPOConfig", "CPOConfig", "RewardConfig",
		"RLOOConfig",
	}
}

// otherCalls are the calls whose arguments count beside, with the words of the Trainer for theirs; a key of
// which none is there is one of the call's own.
func otherCalls() map[string]map[string]string {
	model := map[string]string{
		"": "model_name_or_path", "pretrained_model_name_or_path": "model_name_or_path",
		"torch_dtype": dtypeKey,
		"dtype":       dtypeKey, "attn_implementation": "attn_implementation",
		in4Bits: in4Bits, in8Bits: in8Bits,
	}
	out := map[string]map[string]string{
		"LoraConfig": {
			"r": rankKey, "target_modules": targetsKey, "bias": "lora_bias", "lora_alpha": "lora_alpha",
			"lora_dropout": "lora_dropout", "modules_to_save": "modules_to_save",
			magnitudesKey: magnitudesKey,
			"use_rslora":  "use_rslora", "init_lora_weights": "init_lora_weights",
			"layers_to_transform": "layers_to_transform", "rank_pattern": "rank_pattern",
			"target_parameters": "target_parameters", "trainable_token_indices": "trainable_token_indices",
		},
		"BitsAndBytesConfig": {
			in4Bits: in4Bits, in8Bits: in8Bits, "bnb_4bit_quant_type": kindKey,
			"bnb_4bit_use_double_quant": doubleKey,
		},
		"SFTTrainer": {"max_seq_length": "max_length", "model": "model_name_or_path"},
	}
	for _, class := range []string{"AutoModelForCausalLM", "AutoModel", "LlamaForCausalLM"} {
		out[class+".from_pretrained"] = model
	}
	return out
}

// trainerPython reads a script on Hugging Face's Trainer, or TRL's, by what is literal in its calls; false
// where it makes no arguments of one.
func trainerPython(data []byte, given Given) (Reading, bool) {
	plain, trl := trainingCalls()
	others := otherCalls()
	names := append(slices.Concat(plain, trl), "get_peft_model", "prepare_model_for_kbit_training",
		"gradient_checkpointing_enable")
	for name := range others {
		names = append(names, name)
	}
	text := pythonCode(data)
	sites, constants := pySites(text, names), pyConstants(text)
	id, open := "", ""
	var entries []Entry
	add := func(key string, v any, site *pySite, line int) {
		if site.maybe {
			v = unresolved("what the program finds while it runs")
		}
		entries = append(entries, Entry{Key: key, Value: v, Line: line})
	}
	peft, perhaps := peftPassed(text, constants)
	for i := range sites {
		s := &sites[i]
		args := slices.Contains(plain, s.name) || slices.Contains(trl, s.name)
		switch {
		case slices.Contains(trl, s.name):
			id = "trl"
		case args && id == "":
			id = "trainer"
		case s.name == "get_peft_model":
			peft = true
		case s.name == "gradient_checkpointing_enable", s.name == "prepare_model_for_kbit_training" &&
			!slices.ContainsFunc(s.args,
				func(p pyPair) bool { return p.key == "use_gradient_checkpointing" }):
			add("gradient_checkpointing", true, s, s.line)
		}
		for at, p := range s.args {
			key := p.key
			if !args {
				key = others[s.name][p.key]
			}
			switch {
			case strings.HasPrefix(p.value, "**") && args:
				open = p.value
			case s.name == "SFTTrainer" && p.key == "model" && !quoted(p.value, constants):
				// a model, no name of one
			case key != "" && (p.key != "" || at == 0):
				add(key, pyLiteral(p.value, constants), s, p.line)
			}
		}
	}
	if id == "" {
		return Reading{}, false
	}
	for i := range sites {
		if s := &sites[i]; s.name == "LoraConfig" && (peft || perhaps) {
			s.maybe = s.maybe || !peft
			add(peftKey, true, s, s.line)
		}
	}
	for _, t := range trainers() {
		if t.id != id {
			continue
		}
		t.wraps, t.literal = false, true
		t.tunes = tuning{who: "peft", rank: 8, targets: ofPeft, single: true, fp32: true}
		f := t.file()
		return f.of(doubted(entries), nil, amid{given: given, open: open}), true
	}
	return Reading{}, false
}

// quoted reports whether a text is one in quotes, or a name of it.
func quoted(text string, constants map[string]string) bool {
	text = firstOf(constants[text], text)
	return strings.HasPrefix(text, `"`) || strings.HasPrefix(text, "'")
}

// peftArgument is where a call is given the adapters that it trains; peftElsewhere are other ways.
var (
	peftArgument  = regexp.MustCompile(`[(,]\s*peft_config\s*=`)
	peftElsewhere = regexp.MustCompile(`["']peft_config["']|\.add_adapter\(`)
)

// peftPassed reports whether adapters are given to a trainer, and whether that depends on what the program
// finds.
func peftPassed(text string, constants map[string]string) (peft, perhaps bool) {
	for _, at := range peftArgument.FindAllStringIndex(text, maxSites) {
		value := pyFirst(text[at[1]:])
		if of := constants[value]; of != "" {
			value = of
		}
		switch words := strings.Fields(value); {
		case value == "None":
		case slices.Contains(words, "if"), slices.Contains(words, "or"):
			perhaps = true
		default:
			peft = true
		}
	}
	return peft, perhaps || peftElsewhere.MatchString(text)
}

// pyFirst returns the first argument of a text that follows a key.
func pyFirst(text string) string {
	depth := 0
	for i := range min(len(text), maxCall) {
		switch c := text[i]; {
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0 && depth > 0:
			depth--
		case depth == 0 && (c == ',' || strings.IndexByte(")]}", c) >= 0):
			return strings.TrimSpace(text[:i])
		}
	}
	return ""
}

// doubted gives keys that several calls give different values one that is not known.
func doubted(entries []Entry) []Entry {
	var out []Entry
	places := map[string]int{}
	for _, e := range entries {
		at, twice := places[e.Key]
		switch {
		case !twice:
			places[e.Key] = len(out)
			out = append(out, e)
		case shown(out[at].Value) != shown(e.Value):
			out[at].Value = unresolved("which of several calls is meant")
		}
	}
	return out
}

// pythonCode returns a text without comments and without texts of several lines, each line in its place.
func pythonCode(data []byte) string {
	text := pyText.ReplaceAllStringFunc(string(data[:min(len(data), maxScript)]), func(s string) string {
		return `""` + strings.Repeat("\n", strings.Count(s, "\n"))
	})
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = uncommented(lines[i])
	}
	return strings.Join(lines, "\n")
}

var pyConstant = regexp.MustCompile(
	`(?m)^[ \t]*([A-Za-z_]\w*)(?:[ \t]*:[^=\n]+)?[ \t]*=[ \t]*([^=\n][^\n]*)$`,
)

// pyConstants returns names that the file gives one text; another text makes them unknown.
func pyConstants(text string) map[string]string {
	out := map[string]string{}
	for _, m := range pyConstant.FindAllStringSubmatch(text, -1) {
		value := strings.TrimSpace(m[2])
		if before, twice := out[m[1]]; twice && before != value {
			value = ""
		}
		out[m[1]] = value
	}
	return out
}

// pyLiteral returns the value of a text: a literal, or a name of one.
func pyLiteral(text string, constants map[string]string) any {
	for range 4 {
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), ","))
		if of, ok := strings.CutPrefix(text, "torch."); ok && nameValue.MatchString(of) {
			return of
		}
		if text == "" {
			break
		}
		if v, err := pythonValue(tuplesAsLists(text)); err == nil {
			return v
		}
		to := constants[text]
		if to == "" {
			break
		}
		text = to
	}
	return unresolved(firstOf(text, "a name that is given several values"))
}

// tuplesAsLists writes tuples of a text as lists, on one line; what stands in quotes stays.
func tuplesAsLists(text string) string {
	out, quote := []byte(text), byte(0)
	for i, c := range out {
		switch {
		case quote != 0:
			if c == quote && out[i-1] != '\\' {
				quote = 0
			}
		case c == '"', c == '\'':
			quote = c
		case c == '\n':
			out[i] = ' '
		case c == '(':
			out[i] = '['
		case c == ')':
			out[i] = ']'
		}
	}
	return string(out)
}

var pyCallee = regexp.MustCompile(`[A-Za-z_][\w.]*\(`)

// pySites returns the calls of some names in a text, in its order.
func pySites(text string, names []string) (out []pySite) {
	lines := strings.Split(text, "\n")
	line, counted := 1, 0
	for _, at := range pyCallee.FindAllStringIndex(text, -1) {
		name := text[at[0] : at[1]-1]
		i := slices.IndexFunc(names, func(n string) bool {
			return name == n || strings.HasSuffix(name,
				"."+n)
		})
		if i < 0 || at[0] > 0 && text[at[0]-1] == '.' || len(out) == maxSites {
			continue
		}
		line, counted = line+strings.Count(text[counted:at[0]], "\n"), at[0]
		if head := strings.TrimSpace(lines[line-1]); strings.HasPrefix(head, "def ") ||
			strings.HasPrefix(head, "class ") {
			continue
		}
		out = append(out, pySite{
			name: names[i], line: line, args: pyArguments(text[at[1]:min(len(text), at[1]+maxCall)], line),
			maybe: pyBranch(lines, line-1),
		})
	}
	return out
}

// pyArguments returns the arguments of a call up to its bracket.
func pyArguments(text string, line int) (out []pyPair) {
	depth, quote, from := 0, byte(0), 0
	begin := line
	take := func(to int) {
		word := strings.TrimSpace(text[from:to])
		p := pyPair{value: word, line: begin + strings.Count(text[from:from+len(text[from:to])-
			len(strings.TrimLeft(text[from:to], " \t\n"))], "\n")}
		if key, value, ok := strings.Cut(word, "="); ok && nameValue.MatchString(strings.TrimSpace(key)) &&
			!strings.HasPrefix(value, "=") {
			p.key, p.value = strings.TrimSpace(key), strings.TrimSpace(value)
		}
		if word != "" {
			out = append(out, p)
		}
		begin += strings.Count(text[from:to], "\n")
		from = to + 1
	}
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote && text[i-1] != '\\' || c == '\n' {
				quote = 0
			}
		case c == '"', c == '\'':
			quote = c
		case c == '(', c == '[', c == '{':
			depth++
		case depth == 0 && c == ')':
			take(i)
			return out
		case c == ')', c == ']', c == '}':
			depth--
		case depth == 0 && c == ',':
			take(i)
		}
	}
	return nil // without an end
}

// pyBranch reports whether a line is in a branch or a loop of its function.
func pyBranch(lines []string, at int) bool {
	indent := func(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
	now := indent(lines[at])
	for i := at - 1; i >= max(0, at-maxBranch) && now > 0; i-- {
		code := strings.TrimSpace(lines[i])
		if code == "" || indent(lines[i]) >= now {
			continue
		}
		now = indent(lines[i])
		word, _, _ := strings.Cut(strings.TrimSuffix(code, ":"), " ")
		if slices.Contains([]string{"if", "elif", "else", "for", "while", "except", "match", "case"}, word) &&
			!strings.Contains(code, "__main__") {
			return true
		}
	}
	return false
}
