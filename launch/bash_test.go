package launch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"meshscope/engine/knob"
	"meshscope/launch"
)

// TestScriptsParse: what is written as a script is one, to bash and to shellcheck.
func TestScriptsParse(t *testing.T) {
	setups := []knob.Given{
		{knob.GPUs: 64, knob.TP: 8, knob.PP: 2, knob.VPP: 5, knob.GBS: 128},
		{knob.GPUs: 64, knob.TP: 8, knob.GBS: 128, knob.ZeRO: 3},
		{knob.GPUs: 12, knob.TP: 2, knob.GBS: 12},
	}
	dir := t.TempDir()
	var files []string
	for _, l := range launch.Launchers() {
		for i, given := range setups {
			s := setup(t, "llama3-70b", given)
			d, refused := l.Export(&s, "test")
			if len(refused) > 0 {
				continue
			}
			texts := map[string][]byte{"torchrun": d.Sbatch(false), "srun": d.Sbatch(true)}
			if filepath.Ext(d.File) == ".sh" {
				texts["plain"] = d.Text()
			}
			for how, text := range texts {
				name := filepath.Join(dir, l.ID+"-"+how+"-"+string(rune('0'+i))+".sh")
				if err := os.WriteFile(name, text, 0o600); err != nil {
					t.Fatal(err)
				}
				files = append(files, name)
			}
		}
	}
	for _, check := range [][]string{{"bash", "-n"}, {"shellcheck", "-s", "bash"}} {
		if _, err := exec.LookPath(check[0]); err != nil {
			t.Logf("%s is not installed", check[0])
			continue
		}
		args := append(check[1:], files...)
		if check[0] == "bash" { // one file at a time, of which the first is enough here
			for _, f := range files {
				if out, err := exec.CommandContext(t.Context(), "bash", "-n",
					f).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			}
			continue
		}
		if out, err := exec.CommandContext(t.Context(), check[0], args...).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}
