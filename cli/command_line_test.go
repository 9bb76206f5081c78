package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/presets"
	"meshscope/presets/own"
	"meshscope/presets/setupdoc"
)

// TestCommandLine: a pasted command line gives the setup that the program starts with by it; of what is
// no flag of a setup, and of files where none is read, it says so.
func TestCommandLine(t *testing.T) {
	lib := presets.Default()
	a := &app{lib: lib.ReadingModels(own.ReadModel), closed: lib}
	for _, line := range []string{
		"--model llama3.1-70b --cluster dgx-h100 --gpus 64 --tp 4 --pp 2 --gbs 512",
		"eval --model llama3.1-70b --gpus=64 --tp 4 --pp 2 --gbs 512 --sp on",
		"explain --tp 4 --pp 2 --gpus 64 --set gbs=512",
	} {
		b, err := a.pasted(true)(strings.Fields(line))
		s := b.Setup
		if err != nil || b.Query != nil || !b.Fixed.Has(knob.TP) || b.Fixed.Has(knob.DP) || s.TP != 4 ||
			s.PP != 2 || s.GPUs != 64 || s.GBS != 512 || !s.SP {
			t.Errorf("%s: tp %d, pp %d, %d GPUs, %v", line, s.TP, s.PP, s.GPUs, err)
		}
	}
	if b, err := a.pasted(true)([]string{"--model", "llama3.1-8b", "--gpus", "8"}); err != nil ||
		b.Query == nil || b.Query.Setup.GPUs != 8 {
		t.Errorf("searched: %+v, %v", b.Setup.Layout, err)
	}
	line, _ := setupdoc.Share(presets.StartSetup(), lib, lib)
	if b, err := a.commandLine([]string{"eval", line}, false); err != nil ||
		b.Setup != presets.StartSetup() || b.Fixed != (knob.Set{}) {
		t.Errorf("a share string: %v", err)
	}
	for line, want := range map[string]string{
		"":                            "without a flag",
		"serve":                       "without a flag",
		"rm -rf --tp 4":               "unknown flag -rf",
		"rm --tp 4":                   `unknown command "rm"`,
		"evel --tp 4":                 `unknown command "evel": did you mean eval?`,
		"--theme dark":                "unknown flag --theme",
		"--tp":                        "--tp needs a value",
		"--tp x":                      `given "x"`,
		"compare tp=4 --tp 8":         `"tp=4" is no flag`,
		"--tp 4 \x1b[2J":              `"\x1b[2J" is no flag`,
		"--setup - --tp 4":            "--setup - is not read here",
		"--setup run.toml --tp 4":     "--setup run.toml is not read here",
		"--calibration x.toml --tp 4": "a file is read when the program starts",
		"--model /etc/passwd --tp 4":  "unknown model",
	} {
		guest := &app{lib: lib, closed: lib}
		if b, err := guest.pasted(false)(strings.Fields(line)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: tp %d, %v", line, b.Setup.TP, err)
		}
	}
}

// TestDropped: the name of a dropped file is read as terminals write it, with backslashes or quotes;
// a file of the very name comes first, and the error is that of the name as it was given.
func TestDropped(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"my setup (1).toml", "it's.toml", `a\ b.toml`, "tp=4.toml"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("tp = 4\n"), 0o600); err != nil {
			t.Skip(err) // no name of a file here
		}
	}
	a := &app{lib: presets.Default()}
	for given, want := range map[string]string{
		"my setup (1).toml":         "my setup (1).toml",
		`my\ setup\ \(1\).toml`:     "my setup (1).toml",
		`"my setup (1).toml"`:       "my setup (1).toml",
		`'my setup (1).toml'`:       "my setup (1).toml",
		`my' setup '"(1)".toml`:     "my setup (1).toml",
		`it\'s.toml`:                "it's.toml",
		`it'\''s.toml`:              "it's.toml", // without the quotes around it
		`a\ b.toml`:                 `a\ b.toml`,
		"tp=4.toml":                 "tp=4.toml",
		`my\ setup.toml`:            "",
		`'my setup (1).toml`:        "",
		`my\ setup\ (1).toml` + `\`: "",
		`"my\\\ setup\ \(1\).toml`:  "",
	} {
		r, file, err := a.readDropped(folder + string(filepath.Separator) + given)
		switch {
		case want == "" && (err == nil || !strings.Contains(err.Error(), "there is no file")):
			t.Errorf("%s: %q, %v", given, file, err)
		case want != "" && (err != nil || file != filepath.Join(folder, want) || len(r.Problems) > 0):
			t.Errorf("%s: %q, %v", given, file, err)
		}
	}
}

// TestBesideOpened: the explorer opens a script with what lies beside it.
func TestBesideOpened(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"sft.sh": "accelerate launch --config_file fsdp2.yaml trl/scripts/sft.py --bf16 --max_length 4096 " +
			"--model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size 2\n",
		"fsdp2.yaml": "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n  fsdp_version: 2\n" +
			"  fsdp_offload_params: true\n  fsdp_reshard_after_forward: true\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := &app{lib: presets.Default()}
	r, err := a.openFile(filepath.Join(folder, "sft.sh"), &setupFlags{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Setup["gpus"] != 8 || r.Setup["zero"] != 3 || r.Setup["offload"] != "weights" || len(r.Unknown) > 0 {
		t.Errorf("%v, unknown %v", r.Setup, r.Unknown)
	}
	said := strings.Join(a.notices, "\n")
	if !strings.Contains(said, " settings are not in the file "+folder) {
		t.Errorf("a notice without its subject: %s", said)
	}
	if r, _, err := a.readDropped(filepath.Join(folder, "sft.sh")); err != nil || r.Setup["zero"] != 3 {
		t.Errorf("dropped: %v, %v", r.Setup, err)
	}
}

// TestOtherStackOpened: the explorer tells that another stack is predicted than that of the file.
func TestOtherStackOpened(t *testing.T) {
	name := filepath.Join(t.TempDir(), "axolotl.yaml")
	text := "base_model: Qwen/Qwen2.5-7B\nmicro_batch_size: 1\nbf16: true\nfsdp_version: 2\n" +
		"dp_shard_size: 4\ndp_replicate_size: 2\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &app{lib: presets.Default()}
	if _, err := a.openFile(name, &setupFlags{}); err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(a.notices, "\n"); !strings.Contains(said, "predicted as Megatron-Core") {
		t.Error(said)
	}
}
