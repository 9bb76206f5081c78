package hfconfig_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"meshscope/engine_test/shared"
	"meshscope/presets/hfconfig"
)

// TestEveryType: each model_type of the table of families is one that is read, but for those that are refused
// by name.
func TestEveryType(t *testing.T) {
	data, err := os.ReadFile(shared.Path(t, "families.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(data), "| model_type |")
	table, _, _ = strings.Cut(table, "\n\n")
	read, refused := 0, 0
	for line := range strings.Lines(table) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		cell = regexp.MustCompile(`\(.*?\)`).ReplaceAllString(cell, "")
		if strings.Contains(cell, "not worked out") {
			cell, _, _ = strings.Cut(strings.Replace(line, "| others seen, not worked out | ", "", 1), " |")
			for kind := range strings.SplitSeq(strings.ReplaceAll(cell, "`", ""), ", ") {
				err := errOf(kind)
				if !strings.Contains(err, "is known by name, but its layers are not worked out") {
					t.Errorf("%s: %s", kind, err)
				}
				refused++
			}
			continue
		}
		for kind := range strings.SplitSeq(strings.TrimSpace(cell), ", ") {
			if kind == "" || kind == "architecture" || strings.HasPrefix(kind, "-") {
				continue
			}
			if strings.Contains(errOf(kind), `"`+kind+`" is `) {
				t.Errorf("%s: %s", kind, errOf(kind))
			}
			read++
		}
	}
	if read < 70 || refused < 12 {
		t.Errorf("%d types, %d not worked out", read, refused)
	}
}

// TestRows: each row of classes.toml names readers and keys that there are, and fields of a model.
func TestRows(t *testing.T) {
	data, err := os.ReadFile("classes.toml")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, row := range regexp.MustCompile(`(?m)^types = \[(.*)\]`).FindAllStringSubmatch(string(data), -1) {
		for kind := range strings.SplitSeq(row[1], ", ") {
			rows++
			func() {
				defer func() {
					if r := recover(); r != nil {
						t.Errorf("%s: %v", kind, r)
					}
				}()
				errOf(strings.Trim(kind, `"`))
			}()
		}
	}
	if rows < 100 {
		t.Errorf("%d types", rows)
	}
}

// TestIgnoredInOrder: keys around a language model that do not count come in the order of the file.
func TestIgnoredInOrder(t *testing.T) {
	const text = `{"vocab_size":9,"model_type":"x","hidden_size":9,"head_dim":9,
		"text_config":{"model_type":"llama","hidden_size":64,"vocab_size":100,"head_dim":16}}`
	for range 20 {
		var names []string
		for _, k := range hfconfig.Read([]byte(text)).Ignored {
			names = append(names, k.Name)
		}
		if got := strings.Join(names, " "); got != "vocab_size model_type hidden_size head_dim" {
			t.Fatal(got)
		}
	}
}

func errOf(kind string) string {
	r := hfconfig.Read([]byte(`{"model_type":"` + kind + `","hidden_size":64}`))
	if err := r.Err(); err != nil {
		return err.Error()
	}
	return ""
}
