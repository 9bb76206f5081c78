package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"meshscope/docs/schema"
)

// TestSchemas: every command that prints JSON has a schema, and its document follows it. A new
// command with --json fails here until it has one.
func TestSchemas(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(config, []byte(`{"model_type":"gpt2"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	one := []string{"--model", "llama3.2-1b", "--gpus", "8", "--tp", "2"}
	of := map[string]struct {
		schema string
		words  []string // nil: a script has it
	}{
		"eval": {"report", one},
		"search": {"search", []string{
			"--model", "llama3.2-1b", "--gpus", "8", "--pp", "1", "--cp", "1",
			"--top", "2",
		}},
		"compare": {"compare", append([]string{"tp=1"}, one...)},
		"scan":    {"scan", append([]string{"--x", "zero", "--y", "peak"}, one...)},
		"advise":  {"advise", one},
		"timeline": {"timeline", []string{
			"--schedule", "1f1b", "--pp", "2", "--microbatches", "2", "--tf",
			"1", "--tb", "2",
		}},
		"presets":   {"presets", nil},
		"validate":  {"validation", nil},
		"calibrate": {"calibrate", nil},
		"explain":   {"explain", append([]string{"mfu"}, one...)},
		"import":    {"import", []string{config}},
		"launch":    {"launchers", []string{"--list"}},
		"version":   {"version", []string{}},
		"lesson":    {"lessons", []string{}},
		"demo":      {"demos", []string{}},
	}
	_, listed, _ := runWords(t, "__complete", "")
	n := 0
	for line := range strings.Lines(listed) {
		command, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if command == "" || strings.HasPrefix(command, ":") || command == "help" || command == "completion" {
			continue
		}
		if _, help, _ := runWords(t, command, "--help"); !strings.Contains(help, "--json") {
			continue
		}
		n++
		c, ok := of[command]
		if !ok {
			t.Errorf("%s --json has no schema in docs/schema, or none here", command)
			continue
		}
		if c.words == nil {
			continue
		}
		code, out, stderr := runWords(t, append(append([]string{command}, c.words...), "--json")...)
		compiled, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "docs", "schema",
			c.schema+".schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
		if err == nil {
			err = compiled.Validate(document)
		}
		if err != nil {
			t.Errorf("%s: exit %d, %v\n%.300s%s", command, code, err, out, stderr)
		}
	}
	if n != len(of) {
		t.Errorf("%d commands print JSON, %d are here", n, len(of))
	}
	for _, name := range schema.Names() {
		if text, ok := schema.Text(name); !ok || len(text) == 0 {
			t.Errorf("%s: no text", name)
		}
	}
}
