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
const trained = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 " +
	"--num-attention-heads 32 --seq-length 4096 " +
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
	{"set -e; set -- 4; shift 2; TP=8\n@$TP", "", false},
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
	{"TP=4; : <<< $((TP=8))\n@$TP", "8", false},
	{"TP=4; [[ TP=8 -eq 8 ]]\n@$TP", "8", false},
	{"TP=4; Y=abc; : ${Y:TP=8}\n@$TP", "8", false},
	{"TP=4; Y[TP=8]=1\n@$TP", "8", false},
	{"TP=4; : ${Y[TP=8]}\n@$TP", "8", false},
	{"TP=4; Y=([TP=8]=1)\n@$TP", "8", false},
	{"TP=4; Y=abc; : ${Y:0:TP=8}\n@$TP", "8", false},
	{"shopt -s expand_aliases\nalias go='TP=8'\nTP=4\ngo\n@$TP", "8", false},
	{"TP=4; set -o posix; TP=8 :\n@$TP", "8", false},
	{"TP=4; TP=8 :\n@$TP", "4", true},
	{"TP=4; trap 'TP=8' USR1; kill -USR1 $$\n@$TP", "8", false},
	{"TP=4; set -- $TP 8; shift\n@$1", "8", true},
	{"set -- 8; TP=$1; set -- 4\n@$TP", "8", true},
	{"f(){ @$1; }; f 8", "8", true},
	{"f(){ shift; @\"$@\"; }; f 4 8", "8", true},
	{"f(){ local TP=8; g; }; g(){ @$TP; }; TP=4; f", "8", true},
	{"f(){ TP=8; return; TP=4; }; f\n@$TP", "8", true},
	{"TP=4; if [ $TP = 4 ]; then TP=8; else TP=2; fi\n@$TP", "8", true},
	{"TP=4; [ $TP -gt 2 ] && TP=8\n@$TP", "8", true},
	{"TP=4; [[ $TP == 2 || $TP == 4 ]] && TP=8\n@$TP", "8", true},
	{"TP=4; [ $TP = 2 ] || TP=8\n@$TP", "8", true},
	{"TP=4; [ -n \"$NONE\" ] && TP=8\n@$TP", "4", false},
	{"TP=7B; case $TP in 1B) TP=2;; *B) TP=8;; esac\n@$TP", "8", true},
	{"TP=1; for i in 1 2 3; do TP=$((TP * 2)); done\n@$TP", "8", true},
	{"TP=1; while [ $TP -lt 8 ]; do TP=$((TP * 2)); done\n@$TP", "8", true},
	{"TP=1; for ((i = 0; i < 3; i++)); do ((TP *= 2)); done\n@$TP", "8", true},
	{"for TP in 2 4 8; do [ $TP = 4 ] && break; done\n@$TP", "4", true},
	{"IFS=, read -r PP TP <<< 2,8\n@$TP", "8", true},
	{"X=tp8; TP=${X#tp}\n@$TP", "8", true},
	{"X=a/8; TP=${X##*/}\n@$TP", "8", true},
	{"X=abcdefgh; TP=${#X}\n@$TP", "8", true},
	{"X=4_8; TP=${X/4_/}\n@$TP", "8", true},
	{"X=18; TP=${X:1}\n@$TP", "8", true},
	{"X=1; TP=${X:+8}\n@$TP", "8", true},
	{"TP=$(echo 8)\n@$TP", "8", true},
	{"A=(1 2 8); TP=${A[-1]}\n@$TP", "8", false},
	{"A=(1 8); TP=${A[@]:1}\n@$TP", "8", false},
	{"A=(1 2); TP=${#A[@]}\n@$TP", "2", false},
	{"X=TP; TP=8\n@${!X}", "8", false},
	{"printf -v TP %d 8\n@$TP", "8", true},
	{"CMD=\"@8\"\n$CMD", "8", true},
	{"CMD=\"@8\"\neval $CMD", "8", true},
	{"A=(@8)\n\"${A[@]}\"", "8", true},
	{"bash <<'E'\nTP=8\n@$TP\nE\n", "8", false},
	{"TP=4; . ./inc || true\n@$TP", "8", false},
	{"TP=$((4 > 2 ? 8 : 4))\n@$TP", "8", true},
	{"TP=$((1 << 3))\n@$TP", "8", true},
	{"TP=$((2 ** 3))\n@$TP", "8", true},
	{"TP=4; unset -f TP\n@$TP", "4", false},
	{"TP=8; f(){ unset TP; }; f\n@${TP:-4}", "4", true},
	{"TP=4; { TP=8; } < /dev/null\n@$TP", "8", true},
	{"TP=4; time TP=8\n@$TP", "8", true},
	{"TP=4; ! TP=8\n@$TP", "8", true},
}

// mayEnd are scripts that do not train where a test fails, or a variable is not given: that is said.
var mayEnd = []struct{ text, says string }{
	{"set -e; test -d /nope\n@8", "the script ends here where this test fails"},
	{"set -e; [ -f /nope ]\n@8", "the script ends here where this test fails"},
	{"set -e; shift\n@8", "the script ends here where this test fails"},
	{": ${Q:?}\n@8", "--env Q=VALUE"},
	{"[ -n \"$1\" ] || exit 1\n@8", "the script may end here"},
	{"if [ $# -lt 1 ]; then exit 1; fi\n@8", "the script may end here"},
}

// TestScriptsThatMayEnd: that a script may end before it trains is said.
func TestScriptsThatMayEnd(t *testing.T) {
	for _, c := range mayEnd {
		got, r := read(trains(c.text) + "\n")
		if !strings.Contains(fmt.Sprint(r.Ignored), c.says) {
			t.Errorf("%q: tp %q, %q is not said: %+v", c.text, got, c.says, r.Ignored)
		}
	}
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

// trains returns a script with the command of training for each @ that is no array's or argument's.
func trains(text string) string {
	return strings.NewReplacer("$@", "$@", "[@]", "[@]", "@", trained).Replace(text)
}

// TestChangedVariables: of what a script may have changed the right value is stated, or none.
func TestChangedVariables(t *testing.T) {
	for _, c := range changed {
		got, r := read(trains(c.text) + "\n")
		if got != "" && got != c.want || c.right && got != c.want {
			t.Errorf("%q: tp %q, bash passes %q: %+v %+v", c.text, got, c.want, r.Problems, r.Ignored)
		}
	}
}

// passed runs a script in bash with a stub in place of torchrun, and returns the degree that the first call
// gets.
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
	cmd.Dir, cmd.Env = dir,
		[]string{"PATH=" + dir + ":/usr/bin:/bin", "PASSED=" + filepath.Join(dir, "passed")}
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
		text := trains(c.text) + "\n"
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
		"TP=4", "TP=2", "export TP=8", "TP=${TP:-2}", "((TP+=2))", "TP=$((TP * 2))", "TP=$((010))",
		"unset TP", "(TP=8)", "TP=8 &", "true | TP=8", "f", "g",
		"f(){ TP=8; }", "g(){ f; }", "read TP <<< 8", "if true; then TP=8; fi", "if false; then TP=8; fi",
		"for TP in 1 2; do :; done", "A=($TP 4)", "A[0]=2", "TP=${A[0]}",
		"TP=${A[1]:-2}", ". ./inc", "declare -i TP", "TP+=2", "declare -n R=TP", "R=4", "readonly TP",
		"eval TP=2", "X=$((TP++))", "true && TP=2", "false && TP=2",
		"false || TP=4", "trap 'TP=2' DEBUG", "set -e", "false", "{ TP=4; }", "{ TP=2; } | cat", ": ${TP:=4}",
		"local TP=1", "TP=1 true", "case $TP in 4) TP=8;; esac", "exit",
		"bash -c 'TP=2'", "declare TP=2", "TP=08", "A+=(8)", "TP=${A[2]}", "let TP=4", "printf -v TP 2",
		"TP=$TP", "TP=\"$TP\"", "export TP", "f(){ . ./inc; }", "g(){ local TP=2; }", "f(){ unset TP; }",
		"readonly TP=2; TP=4",
		"if [ $TP = 4 ]; then TP=8; else TP=2; fi", "[ $TP -gt 2 ] && TP=8", "[[ $TP == 2 ]] || TP=4",
		"for TP in 2 4; do :; done", "for i in 1 2; do TP=$((TP * 2)); done",
		"while [ $TP -lt 8 ]; do TP=$((TP * 2)); [ $TP = 0 ] && break; done", "f(){ TP=$1; }", "f 8", "g 2 4",
		"g(){ shift; TP=$1; }", "set -- 2 4", "TP=${1:-8}", "shift", "TP=${TP#4}2", "TP=${TP:0:1}",
		"TP=${#TP}",
		"TP=$(echo 4)", "IFS=, read -r TP X <<< 4,2", "read X TP <<< '2 8'", "[[ TP=8 -eq 8 ]]",
		": ${A[TP=4]}", "TP=$((TP > 2 ? 2 : 8))", "if f; then TP=4; fi", "f || TP=2", "f(){ return 1; }",
		"f(){ if [ $TP = 2 ]; then return; fi; TP=2; }",
		"case $TP in [24]) TP=8;; *) TP=2;; esac", "case $TP in 2|4) TP=8;; esac", "eval \"TP=\\$TP\"",
		"A=(2 4 8); TP=${A[1]}", "A+=($TP)", "TP=${A[@]}", "TP=${A[*]}", "X=TP; TP=${!X}", "unset 'A[0]'",
		"set -o posix", "TP=8 :", "f(){ local TP; TP=4; }",
		"until [ $TP = 8 ]; do TP=8; done",
		"for i in 1 2 3; do if [ $i = 2 ]; then continue; fi; TP=$i; done", "TP=${TP/2/4}", "TP=${TP:+4}",
		"{ read TP; } <<< 2", "[ -z \"$TP\" ] && TP=4", "[ -n \"$1\" ] && TP=$1", "[ $# -gt 1 ] && TP=$2",
	}
	stated := 0
	draws.CheckFew(t, scripts(), func(r *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom(parts), 1, 8).Draw(r, "lines")
		text := "f(){ :; }\ng(){ :; }\n" + strings.Join(lines, "\n") + "\n" + trained + "$TP\n"
		got, _ := read(text)
		if got == "" {
			return
		}
		stated++
		want := passed(t, text)
		// something failed, as shift does without arguments, which are not known
		if want == "" && strings.Contains(text, "set -e") &&
			(strings.ContainsAny(strings.Join(lines, ""), "(|.") || slices.Contains(lines, "shift")) {
			return
		}
		if got != want && got != strings.TrimLeft(want, "0") { // a launcher reads 08 as 8
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
		"M=(--pipeline-model-parallel-size 2); . ./inc\n@2 \"${M[@]}\"": "depends on whether the " +
			"source of ./inc of line 1 changes $M",
		"alias torchrun=echo; shopt -s expand_aliases\nalias torchrun=echo\n@2": "depends on whether the " +
			"alias torchrun runs it as it is",
		"TP=4; exit\n@$TP": "the script ends here, before training starts",
	} {
		_, r := read(strings.ReplaceAll(text, "\n@", "\n"+trained))
		if !slices.ContainsFunc(lacking(&r),
			func(p launch.Problem) bool { return strings.Contains(p.Message, want) }) {
			t.Errorf("%q: %+v, want %s", text, r.Problems, want)
		}
	}
}

// scripts is how many scripts are made for each seed: 500 in all where all cases are tried.
func scripts() int {
	if draws.Deep() {
		return 500 / len(draws.Seeds())
	}
	return 25
}
