package launch

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// notReadHere are programs that are known, and whose files are not read: the keys of their files, what their
// Python imports, and what starts them.
func notReadHere() []struct {
	name    string
	keys    []string // each of which its file has
	imports string   // a module of Python
	starts  string   // a form of a word of a command line
} {
	type row = struct {
		name    string
		keys    []string
		imports string
		starts  string
	}
	return []row{
		{"OLMo-core", nil, "olmo_core", `(?:^|/)OLMo\d?[\w-]*\.py$|olmo_core`},
		{"MaxText", []string{"ici_fsdp_parallelism"}, "MaxText", `(?i)(?:^|[/.])maxtext[/.].*train`},
		{"NeMo's Python", nil, "nemo.collections", ""},
		{"Megatron-Bridge's Python", nil, "megatron.bridge", ""},
		{"picotron", []string{"distributed.tp_size"}, "picotron", ""},
		{"FlagScale", []string{"experiment.task.backend"}, "flagscale", "flagscale"},
		{
			"Levanter",
			[]string{"trainer.train_batch_size", "trainer.tensor_parallel_axes"},
			"levanter",
			`levanter`,
		},
		{"ColossalAI", nil, "colossalai", `(?:^|/)colossalai$`},
		{"XTuner", nil, "xtuner", `(?:^|/)xtuner$`},
		{"lit-gpt", nil, "litgpt", `(?:^|/)litgpt$`},
		{"fairseq", nil, "fairseq", `(?:^|/)fairseq-(?:hydra-)?train$`},
	}
}

// notRead returns the program whose file it is, which is known and not read; empty: none that is known.
func notRead(name string, data []byte) string {
	ext := strings.ToLower(path.Ext(name))
	var entries []Entry
	switch ext {
	case ".json":
		entries, _ = parseJSON(data)
	case ".yaml", ".yml", "":
		entries, _ = parseYAML(data)
	}
	var words []string
	if isScript(name) {
		words = scriptWords(name, data)
	}
	has := hasKey(entries)
	for _, of := range notReadHere() {
		switch {
		case len(of.keys) > 0 && all(of.keys...)(has):
			return of.name
		case isPython(name) &&
			regexp.MustCompile(`(?m)^\s*(?:from|import) `+regexp.QuoteMeta(of.imports)+`\b`).Match(data):
			return of.name
		case of.starts != "" && slices.ContainsFunc(words, regexp.MustCompile(of.starts).MatchString):
			return of.name
		}
	}
	return ""
}
