package launch_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meshscope/engine_test/draws"
	"meshscope/launch"

	"pgregory.net/rapid"
)

// trained is the command of a test's script.
const trained = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 " +
	"--micro-batch-size 1 --global-batch-size 64 --tensor-model-parallel-size "

// changed are scripts that change $TP before they train with it, and the value that bash passes; "" for
// one that does not train. right says that the value has to be read.
var changed = []struct {
	text, want string
	right      bool
}{
	{"TP=4\n@$TP", "4", true},
	{"TP=4; source ./inc\n@$TP", "8", false},
	{"TP=4; . ./inc\n@$TP", "8", false},
	{". ./inc\n@${TP:-4}", "8", false},
	{"TP=4; [ -f inc ] && . ./inc\n@$TP", "8", false},
	{". ./inc; TP=4\n@$TP", "4", true},
	{"TP=1; ((TP+=7))\n@$TP", "8", false},
	{"TP=1; ((TP=8))\n@$TP", "8", false},
	{"TP=7; ((TP++))\n@$TP", "8", false},
	{"TP=4; let TP=8\n@$TP", "8", false},
	{"TP=4; let 'TP = 8'\n@$TP", "8", false},
	{"f(){ TP=8; }; TP=4; f\n@$TP", "8", false},
	{"f(){ TP=8; }; g(){ f; }; TP=4; g\n@$TP", "8", false},
	{"f(){ TP=8; }; g(){ h; }; h(){ f; }; TP=4; if true; then g; fi\n@$TP", "8", false},
	{"f(){ ((TP=8)); }; TP=4; f\n@$TP", "8", false},
	{"f(){ . ./inc; }; TP=4; f\n@$TP", "8", false},
	{"f(){ read TP <<< 8; }; TP=4; f\n@$TP", "8", false},
	{"f(){ local TP=8; }; TP=4; f\n@$TP", "4", true},
	{"if true; then f(){ TP=8; }; fi; TP=4; f\n@$TP", "8", false},
	{"A=(8 4); A[0]=4\n@${A[0]}", "4", false},
	{"A=(8 4); A[1]=2\n@${A[1]}", "2", false},
	{"A=(8 4); A[2]=2\n@${A[2]}", "2", false},
	{"I=0; A=(8 4); A[I]=4\n@${A[0]}", "4", false},
	{"A=($NONE 4)\n@${A[1]:-2}", "2", false},
	{"A=($NONE 4); A[0]=2\n@${A[1]:-8}", "8", false},
	{"A=(8 4); A=2\n@${A[1]}", "4", false},
	{"A=([1]=8 [0]=4)\n@${A[0]}", "4", false},
	{"declare -A A=([tp]=8)\n@${A[tp]}", "8", false},
	{"TP=4; read TP <<< 8\n@$TP", "8", false},
	{"TP=4; read TP <<E\n8\nE\n@$TP", "8", false},
	{"TP=4; IFS=, read -r TP PP <<< 8,2\n@$TP", "8", false},
	{"TP=4; while read TP; do break; done <<< 8\n@$TP", "8", false},
	{"TP=4; mapfile -t TP <<< 8\n@$TP", "8", false},
	{"TP=4; printf -v TP 8\n@$TP", "8", false},
	{"TP=4; for TP in 2 8; do :; done\n@$TP", "8", false},
	{"TP=4; case x in x) TP=8;; esac\n@$TP", "8", false},
	{"TP=4; (TP=8)\n@$TP", "4", true},
	{"TP=4; (TP=8; @$TP)", "8", true},
	{"TP=4; TP=8 &\n@$TP", "4", true},
	{"TP=4; true | TP=8\n@$TP", "4", true},
	{"TP=4; { TP=8; } | cat\n@$TP", "4", true},
	{"TP=4; { TP=8; }\n@$TP", "8", true},
	{"shopt -s lastpipe; TP=4; true | TP=8\n@$TP", "8", false},
	{"TP=8; unset TP\n@${TP:-4}", "4", true},
	{"TP=8; unset -v TP\n@${TP:-4}", "4", true},
	{"TP=8; true && unset TP\n@${TP:-4}", "4", false},
	{"declare -n R=TP; TP=4; R=8\n@$TP", "8", false},
	{"declare -n R=TP; R=8; TP=4\n@$R", "4", false},
	{"f(){ local -n R=$1; R=8; }; TP=4; f TP\n@$TP", "8", false},
	{"readonly TP=8; TP=4\n@$TP", "8", true},
	{"TP=8; readonly TP; TP=4\n@$TP", "8", true},
	{"declare -r TP=8; unset TP\n@$TP", "8", true},
	{"X=4; TP=$((X++ + 0))\n@$X", "5", false},
	{"X=4; TP=$((X++ + 0))\n@$TP", "4", false},
	{"X=4; : $((X=8))\n@$X", "8", false},
	{"trap 'TP=8' DEBUG; TP=4\n@$TP", "8", false},
	{"f(){ TP=8; }; trap f DEBUG; TP=4\n@$TP", "8", false},
	{"trap 'TP=8' ERR; TP=4; false\n@$TP", "8", false},
	{"trap 'echo done' EXIT; TP=4\n@$TP", "4", true},
	{"torchrun(){ command torchrun \"$@\" --tensor-model-parallel-size 8; }\n@4", "8", false},
	{"TP=$((010))\n@$TP", "8", true},
	{"TP=$((0x8))\n@$TP", "8", true},
	{"X=010; TP=$((X))\n@$TP", "8", true},
	{"TP=$((2#1000))\n@$TP", "8", false},
	{"declare -i TP=4; TP+=4\n@$TP", "8", true},
	{"declare -i TP; TP=4+4\n@$TP", "8", false},
	{"TP=4; exit 0\n@$TP", "", false},
	{"TP=4; exit\n@$TP", "", false},
	{"@2\nexit\n@8", "2", true},
	{"TP=8; [ -n \"$TP\" ] || exit 1\n@$TP", "8", true},
	{"(exit 0)\n@8", "8", true},
	{"TP=8; set -e; false\n@$TP", "", false},
	{"TP=8; set -euo pipefail; false\n@$TP", "", false},
	{"TP=8; set -e; ! true\n@$TP", "8", true},
	{"TP=8; set -e; set +e; false\n@$TP", "8", true},
	{"TP=8; false\n@$TP", "8", true},
	{"set -n\n@8", "", false},
	{": ${TP:=8}\n@$TP", "8", true},
	{"TP=4; TP=8 true\n@$TP", "4", true},
	{"TP=4; eval TP=8\n@$TP", "8", true},
	{"TP=4; eval \"$(echo TP=8)\"\n@$TP", "8", false},
	{"TP=4; X=TP=8; eval $X\n@$TP", "8", true},
	{"TP=4; bash -c TP=8\n@$TP", "4", true},
	{"export TP=8; bash -c '@$TP'", "8", true},
	{"TP=4; bash -c '@${TP:-8}'", "8", true},
	{"export TP=4; TP=8 bash -c '@$TP'", "8", false},
	{"export TP=4; env TP=8 bash -c '@$TP'", "8", false},
	{"TP=$'\\x38'\n@$TP", "8", false},
	{"IFS=,; X='8,1'\n@$X", "1", false},
	{"declare -u X=a; TP=8\n@$TP", "8", true},
	{"TP=2; TP+=4\n@$TP", "24", true},
	{"A=(8); A+=4\n@${A[0]}", "84", false},
	{"exec 3>&1; TP=8\n@$TP", "8", true},
}

// read imports a script, and returns the degree of tensor parallelism that it states; "" where it refuses.
func read(text string) (string, launch.Reading) {
	r, _ := launch.Read("train.sh", []byte(text))
	for _, p := range lacking(&r) {
		if p.Key == "tensor-model-parallel-size" || p.Key == "" {
			return "", r
		}
	}
	if v, ok := r.Setup["tp"]; ok {
		return fmt.Sprint(v), r
	}
	return "", r
}

// TestChangedVariables: of what a script may have changed the right value is stated, or none.
func TestChangedVariables(t *testing.T) {
	for _, c := range changed {
		got, r := read(strings.ReplaceAll(c.text, "@", trained) + "\n")
		if got != "" && got != c.want || c.right && got != c.want {
			t.Errorf("%q: tp %q, bash passes %q: %+v %+v", c.text, got, c.want, r.Problems, r.Ignored)
		}
	}
}

// passed runs a script in bash with a stub in place of torchrun, and returns the degree that the first call gets.
func passed(t testing.TB, text string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("torchrun", "#!/bin/sh\nfor a; do last=$a; done\nprintf '%s\\n' \"$last\" >> \"$PASSED\"\n", 0o700)
	write("inc", "TP=8\n", 0o600)
	write("train.sh", text, 0o600)
	cmd := exec.CommandContext(t.Context(), "bash", "train.sh")
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + dir + ":/usr/bin:/bin", "PASSED=" + filepath.Join(dir, "passed")}
	_ = cmd.Run() // some end with an error
	out, err := os.ReadFile(filepath.Join(dir, "passed"))
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return first
}

// TestBashAgrees: what the table says of bash is what bash does.
func TestBashAgrees(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	for _, c := range changed {
		text := strings.ReplaceAll(c.text, "@", trained) + "\n"
		if got := passed(t, text); got != c.want {
			t.Errorf("%q: bash passes %q, not %q", c.text, got, c.want)
		}
	}
}

// TestRandomScripts: scripts of random parts state what bash passes, or nothing.
func TestRandomScripts(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	parts := []string{
		"TP=4", "TP=2", "export TP=8", "TP=${TP:-2}", "((TP+=2))", "TP=$((TP * 2))", "TP=$((010))", "unset TP", "(TP=8)", "TP=8 &", "true | TP=8", "f", "g",
		"f(){ TP=8; }", "g(){ f; }", "read TP <<< 8", "if true; then TP=8; fi", "if false; then TP=8; fi", "for TP in 1 2; do :; done", "A=($TP 4)", "A[0]=2", "TP=${A[0]}",
		"TP=${A[1]:-2}", ". ./inc", "declare -i TP", "TP+=2", "declare -n R=TP", "R=4", "readonly TP", "eval TP=2", "X=$((TP++))", "true && TP=2", "false && TP=2",
		"false || TP=4", "trap 'TP=2' DEBUG", "set -e", "false", "{ TP=4; }", "{ TP=2; } | cat", ": ${TP:=4}", "local TP=1", "TP=1 true", "case $TP in 4) TP=8;; esac", "exit",
		"bash -c 'TP=2'", "declare TP=2", "TP=08", "A+=(8)", "TP=${A[2]}", "let TP=4", "printf -v TP 2", "TP=$TP", "TP=\"$TP\"", "export TP", "f(){ . ./inc; }", "g(){ local TP=2; }", "f(){ unset TP; }", "readonly TP=2; TP=4",
	}
	stated := 0
	draws.CheckFew(t, 25, func(r *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom(parts), 1, 8).Draw(r, "lines")
		text := "f(){ :; }\ng(){ :; }\n" + strings.Join(lines, "\n") + "\n" + trained + "$TP\n"
		got, _ := read(text)
		if got == "" {
			return
		}
		stated++
		want := passed(t, text)
		if want == "" && strings.Contains(text, "set -e") && strings.ContainsAny(strings.Join(lines, ""), "(|.") { // something failed
			return
		}
		if eight := want == "08" && got == "8"; got != want && !eight {
			r.Fatalf("%q: import states %s, bash passes %q", lines, got, want)
		}
	})
	if stated == 0 {
		t.Error("no script was read")
	}
}

// TestWhatIsInDoubtIsNamed: a value that is not known is refused with what it depends on.
func TestWhatIsInDoubtIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		"TP=4; . ./inc\n@$TP": "depends on $TP",
		"M=(--pipeline-model-parallel-size 2); . ./inc\n@2 \"${M[@]}\"":         "depends on whether the source of ./inc of line 1 changes $M",
		"alias torchrun=echo; shopt -s expand_aliases\nalias torchrun=echo\n@2": "depends on whether the alias torchrun runs it as it is",
		"TP=4; exit\n@$TP": "the script ends here, before training starts",
	} {
		_, r := read(strings.ReplaceAll(text, "\n@", "\n"+trained))
		if !slices.ContainsFunc(lacking(&r), func(p launch.Problem) bool { return strings.Contains(p.Message, want) }) {
			t.Errorf("%q: %+v, want %s", text, r.Problems, want)
		}
	}
}
