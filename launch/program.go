package launch

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// programs are the forms that a command line or a YAML file is told by: by the program that starts, or by the
// keys that all files of it have. The first that knows one counts.
func programs() []form {
	out := []form{verl(), verlSFT(), openRLHF(), roll(), nemo(), llmFoundry(), olmo(), torchtune(), gptNeoX()}
	for _, t := range trainers() {
		out = append(out, t.file())
	}
	return append(out, anyAccelerated())
}

// readProgram reads a file of a program by its form; false where it is of none.
func readProgram(name string, data []byte, given Given) (Reading, bool) {
	switch ext := strings.ToLower(path.Ext(name)); ext {
	case ".yaml", ".yml":
		return readProgramFile(data, given)
	case ".py":
		return readPython(data, given)
	case ".json", ".toml":
		return Reading{}, false
	}
	if r, ok := readProgramCommand(name, data, given); ok {
		return r, true
	}
	return readProgramFile(data, given)
}

// readProgramFile reads a YAML file that the keys of a program tell.
func readProgramFile(data []byte, given Given) (Reading, bool) {
	entries, _ := parseYAML(data)
	has := hasKey(entries)
	if isBridge(has) {
		return readBridgeFile(entries), true
	}
	for _, f := range programs() {
		if f.keys != nil && f.keys(has) {
			return f.readingAmid(data, given), true
		}
	}
	return Reading{}, false
}

// hasKey returns whether a file has a key, or one below it.
func hasKey(entries []Entry) func(key string) bool {
	keys := map[string]bool{}
	for _, e := range entries {
		for key := e.Key; key != ""; {
			keys[key] = true
			key = key[:max(strings.LastIndexByte(key, '.'), 0)]
		}
	}
	return func(key string) bool { return keys[key] }
}

// all tells a file that has every one of some keys.
func all(keys ...string) func(has func(string) bool) bool {
	return func(has func(string) bool) bool {
		return !slices.ContainsFunc(keys, func(key string) bool { return !has(key) })
	}
}

// readProgramCommand reads a script by the program that it starts.
func readProgramCommand(name string, data []byte, given Given) (Reading, bool) {
	s := parseScript(name, data, given)
	if f, call := programOf(s); f != nil {
		return f.command(s, call, given), true
	}
	return Reading{}, false
}

// programOf returns the form of the program that a script starts, and the call of it; nil: it starts none.
func programOf(s *script) (*form, shellCall) {
	calls := slices.Clone(s.calls)
	for i := range s.asides {
		calls = append(calls, shellCall{fields: s.asides[i].words})
	}
	for _, f := range programs() {
		if f.starts == nil {
			continue
		}
		for i := range calls {
			if at := programAt(calls[i].fields); f.starts(textsOf(calls[i].fields),
				flagsOf(calls[i].fields[at+1:])) {
				return &f, calls[i]
			}
		}
	}
	return nil, shellCall{}
}

// command reads the command line of a script that starts the program.
func (f *form) command(s *script, call shellCall, given Given) Reading {
	given.Source = s.source(given.Source)
	known := map[string]bool{}
	for _, row := range f.rows {
		known[row.key] = true
	}
	for key := range f.rename {
		known[key] = true
	}
	words := s.training(func(w shellField) bool {
		key, _, _ := strings.Cut(strings.TrimLeft(w.text, "-+"), "=")
		key = strings.ReplaceAll(key, "-", "_")
		return known[key] && (strings.HasPrefix(w.text, "-") ||
			f.overrides && strings.Contains(w.text, "=")) ||
			f.configs && isYAML(w.text)
	})
	if at := programAt(call.fields); len(words.args) == 0 && at >= 0 { // no flag that is known
		words = training{
			starter: slices.Concat(call.outer, call.env, call.fields[:at+1]),
			args:    call.fields[at+1:],
		}
	}
	entries, files := s.keysOf(words.args, f.overrides)
	var missing []Ignored
	if f.configs {
		entries, missing = f.withFiles(entries, files, given)
	}
	r := f.of(entries, nil, amid{given: given, script: s, starter: words.starter})
	r.Problems = append(slices.Clone(s.problems), r.Problems...)
	r.Ignored = append(append(r.Ignored, missing...), s.ignored...)
	if len(entries) == 0 && len(r.Problems) == 0 && launchAt(textsOf(words.starter)) < 0 {
		r.Problems = append(r.Problems,
			Problem{
				Line: words.line(),
				Message: "the command line of " + f.name +
					" gives no figures: import the file that it names",
			})
	}
	return r
}

// withFiles puts the keys of the files that a command line names before its own, which win.
func (f *form) withFiles(entries []Entry, files []string, given Given) (out []Entry, missing []Ignored) {
	for _, key := range []string{"config", "config_path"} {
		for _, e := range entries {
			if text, ok := e.Value.(string); ok && e.Key == key && isYAML(text) {
				files = append(files, text)
			}
		}
	}
	for _, name := range files {
		data, ok := []byte(nil), false
		if given.Source != nil {
			data, ok = given.Source(name)
		}
		if !ok {
			missing = append(missing,
				Ignored{
					Key: name,
					Why: "another file, which is not beside this one: import it, or give its folder by " +
						"--with", lost: true,
				})
			continue
		}
		more, _ := parseYAML(data)
		for _, e := range more {
			e.Line = 0
			out = append(out, e)
		}
		missing = append(missing, Ignored{Key: name, Why: "read as well"})
	}
	return append(out, entries...), missing
}

// source finds files that a script writes itself, and then those beside it.
func (s *script) source(beside func(name string) ([]byte, bool)) func(name string) ([]byte, bool) {
	return func(name string) ([]byte, bool) {
		for _, file := range s.files {
			if file.name == path.Base(name) && file.name != "." {
				return []byte(file.text), true
			}
		}
		if beside == nil {
			return nil, false
		}
		return beside(name)
	}
}

// isYAML reports whether a word names a YAML file.
func isYAML(word string) bool {
	return !strings.HasPrefix(word, "-") &&
		(strings.HasSuffix(word, ".yaml") || strings.HasSuffix(word, ".yml"))
}

// programAt returns where the program stands in a command: its script, its module, or the command itself.
func programAt(words []shellField) int {
	for i, f := range words {
		switch {
		case strings.HasSuffix(path.Base(f.text), ".py") && !strings.HasPrefix(f.text, "-"):
			return i
		case (f.text == "-m" || f.text == "--module") && i+1 < len(words) &&
			!strings.HasPrefix(words[i+1].text, "torch.distributed") &&
			!strings.HasPrefix(words[i+1].text, "accelerate.") && words[i+1].text != "deepspeed":
			return i + 1
		case slices.Contains([]string{
			"llamafactory-cli", "axolotl", "trl", "swift", "nemo", "tune",
			"composer",
		}, path.Base(f.text)):
			return i
		}
	}
	return -1
}

// textsOf returns words as texts.
func textsOf(words []shellField) []string {
	out := make([]string, len(words))
	for i, f := range words {
		out[i] = f.text
	}
	return out
}

// flagsOf returns which flags a command has, as keys of a file are spelled.
func flagsOf(words []shellField) map[string]bool {
	out := map[string]bool{}
	for _, f := range words {
		if key, _, _ := strings.Cut(f.text, "="); strings.HasPrefix(key, "--") {
			out[strings.ReplaceAll(key[2:], "-", "_")] = true
		}
	}
	return out
}

// overrideForm finds KEY=VALUE as Hydra and OmegaConf take it.
var overrideForm = regexp.MustCompile(`^\+{0,2}([A-Za-z_][A-Za-z0-9_.@/-]*)=`)

// keysOf returns the flags and overrides of a command line as the keys of a file have them, with values of a
// file's types, and the YAML files among its words.
func (s *script) keysOf(words []shellField, overrides bool) (out []Entry, files []string) {
	flag := -1 // the entry that takes the words that follow
	for _, f := range words {
		doubt := strings.HasPrefix(f.unknown, whether)
		key, value, given := strings.Cut(f.text, "=")
		m := overrideForm.FindStringSubmatch(f.text)
		switch {
		case f.text == "--":
		case len(f.text) > 1 && f.text[0] == '-' && (f.text[1] < '0' || f.text[1] > '9') && f.text[1] != '.':
			e := Entry{
				Key: strings.ReplaceAll(strings.TrimLeft(key, "-"), "-", "_"), Value: true,
				Line: f.line,
			}
			if flag = len(out); given {
				e.Value, flag = typed(shellField{text: value, unknown: f.unknown}), -1
			}
			if doubt {
				e.Value = unresolved(f.unknown)
			}
			out = append(out, e)
		case overrides && m != nil:
			e := Entry{Key: m[1], Value: typed(shellField{text: value, unknown: f.unknown}), Line: f.line}
			out, flag = append(out, e), -1
		case flag >= 0 && out[flag].Value == true:
			out[flag].Value = typed(f)
		case flag >= 0:
			if have, waits := out[flag].Value.(unresolved); waits && string(have) == f.unknown {
				continue
			}
			if list, ok := out[flag].Value.([]any); ok {
				out[flag].Value = append(list, typed(f))
			} else {
				out[flag].Value = []any{out[flag].Value, typed(f)}
			}
		case isYAML(f.text):
			files = append(files, f.text)
		case f.bare && !doubt:
			s.anyFlags = firstOf(s.anyFlags, f.unknown)
			s.ignored = append(s.ignored, Ignored{Key: f.text, Why: "the file gives it no value: it may be " +
				"any flags, so what is not in the file is not known to have its default", Line: f.line})
		case !doubt:
			s.ignored = append(s.ignored, Ignored{Key: f.text, Why: "no flag before it", Line: f.line})
		}
	}
	return out, files
}

// typed returns a word as a file has its value. Of a path whose folder is not known the end counts.
func typed(f shellField) any {
	if f.unknown != "" && (!strings.Contains(f.text, "/") || strings.ContainsAny(lastPart(f.text), "$?") ||
		strings.HasPrefix(f.unknown, whether)) {
		return unresolved(f.unknown)
	}
	switch text := f.text; text {
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	case "null", "None", "":
		return nil
	default:
		if n := len(text); n > 1 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
			return text[1 : n-1]
		}
		if n := numberOf(text); !strings.ContainsAny(text[:1], "0123456789+-.") {
			return text
		} else if _, isText := n.(string); !isText {
			return n
		}
		return text
	}
}

// interpolations finds a reference to another key, as OmegaConf has it.
var interpolations = regexp.MustCompile(`\$\{([^{}]*)\}`)

// interpolated gives values that refer to other keys the values of these. What else is calculated is unknown.
func interpolated(entries []Entry) []Entry {
	values := map[string]any{}
	for _, e := range entries {
		values[e.Key] = e.Value
	}
	for i := range entries {
		text, ok := entries[i].Value.(string)
		for depth := 0; ok && strings.Contains(text, "${") && len(text) < maxLine; depth++ {
			m := interpolations.FindStringSubmatchIndex(text)
			if m == nil || depth > 16 {
				entries[i].Value = unresolved(text)
				break
			}
			v, known := referred(values, entries[i].Key, text[m[2]:m[3]])
			if whole := m[0] == 0 && m[1] == len(text); whole && known {
				entries[i].Value = v
				text, ok = v.(string)
				continue
			}
			word, plain := v.(string)
			if !known || !plain {
				if end := lastPart(text); strings.Contains(text, "/") && !strings.ContainsAny(end, "${}") {
					break // a path whose end is known
				}
				entries[i].Value = unresolved(text)
				break
			}
			text = text[:m[0]] + word + text[m[1]:]
			entries[i].Value = text
		}
	}
	return entries
}

// referred returns the value that a reference of a key has.
func referred(values map[string]any, from, reference string) (any, bool) {
	name, otherwise, given := reference, "", false
	if rest, ok := strings.CutPrefix(reference, "oc.select:"); ok {
		name, otherwise, given = strings.Cut(rest, ",")
	}
	name = strings.TrimSpace(name)
	if strings.HasPrefix(name, ".") { // beside the key, or above it
		at := from
		for strings.HasPrefix(name, ".") {
			at, name = at[:max(strings.LastIndexByte(at, '.'), 0)], name[1:]
		}
		name = below(at, name)
	}
	v, ok := values[name]
	if !ok && given {
		return typed(shellField{text: strings.TrimSpace(otherwise)}), true
	}
	return v, ok
}

// notTraining says of keys that are of something else than the training what they are.
func (f *form) notTraining(r *reader) {
	for i := range r.Ignored {
		g, most := &r.Ignored[i], ""
		for prefix := range f.asides {
			if strings.HasPrefix(g.Key, prefix) && len(prefix) > len(most) {
				most = prefix
			}
		}
		if g.Why == unknownKey && most != "" {
			g.Why, g.lost = f.asides[most], false
		}
	}
}
