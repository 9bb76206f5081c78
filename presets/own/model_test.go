package own_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meshscope/presets"
	"meshscope/presets/own"
)

const config = `{"model_type":"llama","hidden_size":3072,"num_hidden_layers":28,"num_attention_heads":24,"num_key_value_heads":8,
"intermediate_size":8192,"vocab_size":128256,"max_position_embeddings":131072,"tie_word_embeddings":true}`

// TestReadModel: a config.json, its folder and a preset by its path are models;
// what is wrong with one is said with the file's name.
func TestReadModel(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "Llama-3.2-3B")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	lib := presets.Default().ReadingModels(own.ReadModel)
	want, err := lib.Model("llama3.2-3b")
	if err != nil {
		t.Fatal(err)
	}
	preset, err := presets.Default().Text("models", "llama3.2-3b")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		write("config.json", config), dir + string(filepath.Separator),
		write("llama3.2-3b.toml", string(preset)),
	} {
		m, err := lib.Model(name)
		if err != nil || m.Total() != want.Total() || m.ID != name {
			t.Errorf("%s: %d parameters as %q, %v", name, m.Total(), m.ID, err)
		}
	}
	if m, _ := lib.Model(filepath.Join(dir, "config.json")); m.Name != "Llama-3.2-3B" {
		t.Errorf("the model is called %q, not as its folder", m.Name)
	}
	for _, c := range []struct{ name, want string }{
		{write("odd.json", `{"model_type":"mamba"}`), `odd.json:1:15: model_type "mamba" is not known`},
		{write("half.json", `{"model_type":"deepseek_v2"}`), "half.json: num_experts_per_tok: is missing"},
		{
			write("llama3.2-4b.toml", strings.ReplaceAll(string(preset), "gated_ffn = true\n", "")),
			"gated_ffn: is missing",
		},
		{write("long.json", strings.Repeat(" ", 11<<20)), "longer than"},
		{filepath.Join(dir, "none.json"), "there is no such file"},
		{os.DevNull, "regular file"},
	} {
		if _, err := lib.Model(c.name); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
