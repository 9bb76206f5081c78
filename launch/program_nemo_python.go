package launch

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// What is read of a Python file that starts a recipe of NeMo 2: the call of the recipe, and what is assigned to its
// fields after it. Nothing is executed.
var (
	nemoImport = regexp.MustCompile(`(?m)^\s*(?:from|import) (?:nemo|nemo_run)\b`)
	nemoCall   = regexp.MustCompile(`(?m)^([ \t]*)(\w+)\s*=\s*(?:llm\.)?(?:recipes\.)?(\w+)\.(pretrain|finetune)_recipe\(([^()]*(?:\([^()]*\)[^()]*)*)\)`)
	nemoAssign = regexp.MustCompile(`^([ \t]*)(\w+)\.((?:trainer|data|model|optim)\.[\w.]+)\s*=\s*([^=].*)$`)
	pyCall     = regexp.MustCompile(`([A-Za-z_][\w.]*)\(([^()]*)`)
	pyArgument = regexp.MustCompile(`(\w+)\s*=\s*([^,()]+|\w+\([^()]*\))`)
)

// readNeMoPython reads such a file; false where it is none.
func readNeMoPython(data []byte, given Given) (Reading, bool) {
	if len(data) > maxScript || !nemoImport.Match(data) {
		return Reading{}, false
	}
	at := nemoCall.FindSubmatchIndex(data)
	if at == nil {
		return Reading{}, false
	}
	part := func(i int) string { return string(data[at[2*i]:at[2*i+1]]) }
	lineOf := func(offset int) int { return 1 + bytes.Count(data[:offset], []byte("\n")) }
	indent, name, line := part(1), part(2), lineOf(at[6])
	recipe := part(3)
	if part(4) == "finetune" {
		recipe += "_finetune"
	}
	entries := []Entry{{Key: "recipe", Value: recipe, Line: line}}
	for _, m := range pyArgument.FindAllStringSubmatch(part(5), -1) {
		if key := map[string]string{"num_nodes": "trainer.num_nodes", "num_gpus_per_node": "trainer.devices", "performance_mode": "performance_mode"}[m[1]]; key != "" {
			entries = append(entries, Entry{Key: key, Value: pythonOr(strings.TrimSpace(m[2])), Line: line})
		}
	}
	number := lineOf(at[1])
	for text := range strings.Lines(string(data[at[1]:])) {
		if m := nemoAssign.FindStringSubmatch(strings.TrimRight(uncommented(text), " \t\r\n")); m != nil && m[2] == name {
			e := Entry{Key: m[3], Value: pythonOr(m[4]), Line: number}
			if len(m[1]) > len(indent) {
				e.Value = unresolved(fmt.Sprintf("%sbranch of line %d runs", whether, number))
			}
			entries = append(entries, e)
		}
		if m := pyCall.FindStringSubmatch(uncommented(text)); m != nil && regexp.MustCompile(`\b`+name+`\b`).MatchString(m[2]) && !strings.HasPrefix(m[1], "run.") && !strings.HasSuffix(m[1], ".add") && m[1] != "print" {
			entries[0].Value = unresolved(fmt.Sprintf("%scall of %s of line %d changes it", whether, m[1], number))
		}
		number++
	}
	f := nemo()
	return f.of(merged(entries), nil, amid{given: given}), true
}

// pythonOr returns a literal of Python, or what a value depends on.
func pythonOr(text string) any {
	if text == "" {
		return nil
	}
	v, err := pythonValue(text)
	if err != nil {
		return unresolved(text)
	}
	return v
}
