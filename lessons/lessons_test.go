package lessons

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meshscope/engine/figures"
	"meshscope/engine/record"
	"meshscope/presets"
)

// TestBuilt: every lesson of the program holds against the engine, all are in the course, and
// each has three to six acts of five to eight minutes.
func TestBuilt(t *testing.T) {
	all, errs := All("", presets.Default())
	for _, err := range errs {
		t.Error(err)
	}
	if len(all) != len(order()) {
		t.Errorf("%d lessons, %d in the course", len(all), len(order()))
	}
	for i, l := range all {
		if l.ID != order()[i] || len(l.Acts) < 3 || len(l.Acts) > 6 || l.Minutes < 5 || l.Minutes > 8 {
			t.Errorf("%s: %d acts, %d minutes, place %d", l.ID, len(l.Acts), l.Minutes, i)
		}
	}
	demos, err := Demos(presets.Default())
	if err != nil || len(demos) < 9 {
		t.Errorf("%d demonstrations: %v", len(demos), err)
	}
	named := map[string]bool{}
	for _, d := range demos {
		if named[d.ID] {
			t.Errorf("two demonstrations are named %s", d.ID)
		}
		named[d.ID] = true
		if s := newSide(d.Setup); !s.Report.Legal {
			t.Errorf("%s is illegal", d.ID)
		}
	}
}

// TestTemplate: what 'lesson new' prints passes the check.
func TestTemplate(t *testing.T) {
	if _, errs := Parse("my-lesson.toml", []byte(Template()), presets.Default()); len(errs) > 0 {
		t.Error(errs)
	}
}

// faulty is a lesson with one act, in which a test changes a line.
const faulty = `id = "x"
title = "X"
minutes = 5
source = "s"
setup = { model = "llama3.1-8b", gpus = 8, dp = 8, gbs = 8, seq = 4096, zero = 1 }
[[act]]
show = "memory"
ask = "Which?"
kind = "choice"
figure = "memory.peak"
turn = { zero = 2 }
options = [
  { say = "down", is = "after < before" },
  { say = "up", is = "after > before", no = "No." },
]
rule = "{peak}"
`

// TestFaults: a faulty lesson is refused with file, line and key.
func TestFaults(t *testing.T) {
	if _, errs := Parse("x.toml", []byte(faulty), presets.Default()); len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, c := range []struct{ name, old, to, want string }{
		{
			"unknown figure", "after < before", "nonsense(after) < before",
			"x.toml:13:19: act 1 options.0.is: unknown figure nonsense",
		},
		{"no side", "after < before", "peak < before", "unknown name peak"},
		{
			"division by zero", "after < before", "after / 0 < before",
			"x.toml:13:19: act 1 options.0.is: divides by zero\n",
		},
		{"figure that is zero", "after < before", "after / bubble(after) < before", "divides by zero"},
		{"two true", "after > before", "before > 1", "2 options are true; exactly one has to be; after < " +
			"before with after = 58.4 GiB, before = 82.6 GiB is true; before > 1 with before = 82.6 GiB is " +
			"true\n"},
		{"two true whatever the figures", "after > before", "2 > 1", "; 2 > 1 is true\n"},
		{
			"figure nearly known", `figure = "memory.peak"`, `figure = "memory.peek"`,
			"x.toml:10:1: act 1 figure: unknown figure memory_peek: did you mean memory_peak?",
		},
		{"none true", "after < before", "after < 1", "0 options are true"},
		{"builtin", "after < before", "max(after, 1) < before", "only figures, before, after, numbers"},
		{"text", "after < before", "'a' == 'a'", "only figures"},
		{"loop", "after < before", "all(1..9, # > 0)", "is not allowed"},
		{"or", "after < before", "after < before or after > before", "is not allowed"},
		{"power", "after < before", "after ** 2 < before", "is not allowed"},
		{"member", "after < before", "before.Setup == 1", "only figures"},
		{"no condition", "after < before", "after + before", "expected bool"},
		{"too long", "after < before", strings.Repeat("1 + ", 80) + "1 < before", "characters"},
		{"too many parts", "after < before", strings.Repeat("1+", 70) + "1<before", "parts"},
		{"no sentence", `, no = "No."`, "", "needs its own sentence"},
		{
			"typed number", `rule = "{peak}"`, `rule = "It is 62.4 GiB."`,
			`x.toml:16:1: act 1 rule: has the typed number "62.4 GiB"`,
		},
		{"unknown figure in prose", "{peak}", "{peek}", "unknown figure peek: did you mean peak?"},
		{
			"unknown key", `kind = "choice"`, "kind = \"choice\"\nkinds = 1",
			"x.toml:10:1: act.kinds: unknown key",
		},
		{"unknown kind", `kind = "choice"`, `kind = "guess"`, "act 1 kind: is \"guess\""},
		{"unknown screen", `show = "memory"`, `show = "memories"`, "x.toml:7:1: act 1 show: unknown screen"},
		{"illegal turn", "{ zero = 2 }", "{ tp = 3 }", "x.toml:11:1: act 1 turn"},
		{"no turn", "{ zero = 2 }", "{ zero = 1 }", "changes nothing"},
		{"unknown knob", "{ zero = 2 }", "{ zeros = 1 }", "is no knob"},
		{"unknown model", "llama3.1-8b", "llama9", "x.toml:5:1: setup"},
		{"wrong value", "zero = 1", "zero = 7", "x.toml:5:73: setup.zero"},
		{"not TOML", "[[act]]", "[[act", "x.toml:6"},
		{
			"claim", `rule =`, "claim.that = \"after > before\"\nrule =",
			"act 1 claim.that: after > before does not hold",
		},
		{
			"unknown price", `rule =`, "paid = \"peek\"\nrule =",
			"x.toml:16:1: act 1 paid: unknown figure peek",
		},
		{
			"masked in the question", `ask = "Which?"`,
			"ask = \"Which? {memory.peak}\"\nmask = [\"memory.peak\"]", "which is masked",
		},
		{"id", `id = "x"`, `id = "y"`, "the file is named"},
		{
			"id of another form", `id = "x"`, `id = "../x"`,
			"x.toml:1:1: id: is \"../x\"; allowed: small letters",
		},
		{
			"control characters", `title = "X"`, `title = "X\u001b[2J"`,
			`x.toml:2:1: title: has control characters: X\u001b[2J`,
		},
		{"right to left", `say = "up"`, `say = "u\u202ep"`, "act 1 options.1.say: has control characters"},
		{
			"long title", `title = "X"`, `title = "` + strings.Repeat("x", 61) + `"`,
			"has 61 letters; allowed: at most 60",
		},
		{"no rule", `rule = "{peak}"`, "", "act 1 rule: is missing"},
		{
			"many options", `  { say = "up"`,
			strings.Repeat("  { say = \"more\", is = \"after == 1\", no = \"No.\" },\n",
				8) + `  { say = "up"`, "there are 10; allowed: at most 8",
		},
		{
			"many acts", "[[act]]", strings.Repeat("[[act]]\n", 50) + "[[act]]",
			"act: there are 51 acts; allowed: 1 to 40",
		},
		{"slow setup", "gbs = 8,", "gbs = 8000000,", "x.toml:5:1: setup"},
		{
			"deep expression", "after < before",
			strings.Repeat("(", 140) + "after < before" + strings.Repeat(")", 140), "",
		},
		{
			"deeper expression", "after < before", strings.Repeat("not ", 70) + "after < before",
			"more than 60 parts",
		},
		{
			"no number", `kind = "choice"`,
			"kind = \"number\"\nnear = nan\nno = { low = \"l\", high = \"h\" }",
			"act 1 near: is NaN",
		},
		{"masked goal", `kind = "choice"`, "kind = \"goal\"\nmask = [\"peak\"]", "act 1 mask: hides figures"},
		{
			"sentences beside a goal's options", `kind = "choice"`, "kind = \"goal\"\nno = { low = \"l\" }",
			`act 1 no: is for the other kinds: each option of a goal has its own no = "..."`,
		},
		{
			"one sentence for a goal", `kind = "choice"`, "kind = \"goal\"\nno = \"text\"",
			"is a TOML string; allowed: a table { key = value }",
		},
		{"goal without a way", `kind = "choice"`, `kind = "goal"`, "changes nothing: the way to a goal"},
		{"point without a star", `kind = "choice"`, `kind = "point"`, "act 1 figure: needs one *"},
		{
			"a cursor for no point", `kind = "choice"`, "kind = \"choice\"\npoint = \"There.\"",
			"x.toml:10:1: act 1 point: is for questions of kind point",
		},
		{
			"point at nothing", "kind = \"choice\"\nfigure = \"memory.peak\"",
			"kind = \"point\"\nfigure = \"memory.ranks.7.*\"", "unknown figure",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(faulty, c.old, c.to, 1)
			_, errs := Parse("x.toml", []byte(text), presets.Default())
			said := ""
			for _, err := range errs {
				said += err.Error() + "\n"
			}
			if !strings.Contains(said, c.want) {
				t.Errorf("said %q, wanted %q", said, c.want)
			}
		})
	}
}

// TestHostile: what no lesson is ends soon and names its file.
func TestHostile(t *testing.T) {
	for name, text := range map[string]string{
		"acts":      `id = "x"` + "\n" + strings.Repeat("[[act]]\n", 10_000),
		"large":     `title = "` + strings.Repeat("x", 1<<20) + `"`,
		"nested":    "setup = " + strings.Repeat("{ a = ", 5_000),
		"arrays":    "mask = " + strings.Repeat("[", 5_000),
		"binary":    "\x00\xff\xfe\x1b[31m",
		"empty":     "",
		"no tables": "act = 3\nsetup = \"all\"\n",
	} {
		l, errs := Parse("x.toml", []byte(text), presets.Default()) // for ever: the limit of go test
		if l != nil || len(errs) == 0 {
			t.Errorf("%s: %d errors", name, len(errs))
		}
		for _, err := range errs {
			if !strings.HasPrefix(err.Error(), "x.toml") || len(err.Error()) > 600 ||
				strings.ContainsAny(err.Error(), "\x00\x1b") {
				t.Errorf("%s: %.700q", name, err)
			}
		}
	}
}

// TestOwn: lessons of a folder come after the built-in ones or in their place; a faulty one is
// left out.
func TestOwn(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"x.toml": faulty, "bad.toml": "id = 3\n",
		"zero.toml": strings.Replace(faulty, `id = "x"`, `id = "zero"`, 1), "notes.txt": "no lesson",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, errs := All(dir, presets.Default())
	if len(all) != len(order())+1 || len(errs) != 1 || !strings.Contains(errs[0].Error(), "bad.toml:1") {
		t.Errorf("%d lessons, %v", len(all), errs)
	}
	own, err := Find(all, "zero")
	if err != nil || !own.Own || len(own.Acts) != 1 {
		t.Errorf("the built-in lesson is not replaced: %v", err)
	}
}

// TestPlay goes through a lesson: what cannot be read is asked again, the turn comes after the
// answer, masks hold until it is made.
func TestPlay(t *testing.T) {
	all, _ := All("", presets.Default())
	l, err := Find(all, "second-step")
	if err != nil {
		t.Fatal(err)
	}
	p := Begin(l)
	if _, err := p.Answer("z"); err == nil || len(p.Masked()) == 0 {
		t.Errorf("an answer that is none is taken, or nothing is masked")
	}
	p, _ = p.Answer("b")
	if p.Phase != Reveal || p.Verdict.Right || p.Verdict.Says == "" {
		t.Errorf("without a turn the answer reveals: %+v", p.Verdict)
	}
	p = p.Next()
	p, _ = p.Answer("the moments of the optimizer")
	p = p.Next()
	p, _ = p.Answer("c")
	if p.Phase != Turning || !strings.Contains(p.Mask().Text(Text(p.Act().Against)), "?") ||
		p.Setup() != p.Act().Before.Setup {
		t.Errorf("the turn comes after the answer: %v", p.Phase)
	}
	if p = p.Turn(); p.Setup() != p.Act().After.Setup ||
		p.Mask().Text(Text(p.Act().Against)) != Text(p.Act().Against) {
		t.Error("the turn is made and reveals")
	}
	p = p.Next()
	for _, c := range []struct {
		text  string
		right bool
	}{{"100", false}, {"300 GiB", false}, {"150", true}} {
		if v, err := p.Act().Check(c.text); err != nil || v.Right != c.right || v.Says == "" != c.right {
			t.Errorf("%s: %+v, %v", c.text, v, err)
		}
	}
	p, _ = p.Answer("168 gib")
	p, _ = p.Turn().Next().Answer("b")
	if p = p.Turn().Next(); p.Phase != Over || p.Right != 4 {
		t.Errorf("%d right of 5, phase %v", p.Right, p.Phase)
	}
}

// TestGoal: a goal is checked by what the knobs reach, what is held and how many turned.
func TestGoal(t *testing.T) {
	all, _ := All("", presets.Default())
	l, err := Find(all, "capstone")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ answer, says string }{
		{"tp=8 pp=2", ""},
		{"zero=3", "It does not fit yet"},
		{"tp=16", "TP leaves the node"},
		{"tp=4 pp=4", ""},
		{"tp=8 zero=2 recompute=full", "3 knobs turned, more than 2"},
		{"gpus=128 tp=8", "GPUs is held"},
	} {
		v, err := l.Acts[0].Check(c.answer)
		if err != nil || v.Right != (c.says == "") || !strings.Contains(v.Says, c.says) {
			t.Errorf("%s: %+v, %v", c.answer, v, err)
		}
	}
	if _, err := l.Acts[0].Check("make it fit"); err == nil {
		t.Error("an answer without knobs is taken")
	}
	for _, knobs := range []string{"zero=3", "recompute=full", "vpp=2"} {
		if v, err := l.Acts[1].Check("gbs=512 " + knobs); err != nil || !strings.Contains(v.Says, "is held") {
			t.Errorf("the batch with %s: %+v, %v", knobs, v, err)
		}
	}
	if v, err := l.Acts[2].Check("mfu=full"); err != nil || !strings.Contains(v.Says, "is held") {
		t.Errorf("another convention of MFU: %+v, %v", v, err)
	}
}

// TestGoalHoldsModelAndMachine: a goal is not met by another model or machine, which are no knobs.
func TestGoalHoldsModelAndMachine(t *testing.T) {
	l := one(t, "capstone")
	for _, other := range []Settings{{"model": "llama3.2-1b"}, {"cluster": "dgx-b200"}} {
		all := Settings{
			"model": "llama3.1-70b", "gpus": 64, "tp": 8, "pp": 2, "gbs": 128, "seq": 4096,
			"zero": 1,
		}
		maps.Copy(all, other)
		s, _, err := resolve(all, presets.Default())
		if err != nil {
			t.Fatal(err)
		}
		if v := l.Acts[0].Reached(s); v.Right || v.Says != "The model and the machine are held" {
			t.Errorf("%v: %+v", other, v)
		}
	}
}

// TestGoalReached: a goal that is reached otherwise tells its own figures, and the lesson's way only where
// that is another one.
func TestGoalReached(t *testing.T) {
	p := Begin(one(t, "capstone"))
	for answer, want := range map[string]string{
		"tp=8 pp=2": "Reached with TP 8, PP 2.",
		"TP=8 pp=4": "Reached with TP 8, PP 4, a step takes <step>; with TP 8, PP 2 it takes <own>.",
	} {
		own, err := p.Answer(answer)
		found, way := Text(own.Act().After.step()), Text(p.Act().After.step())
		want = strings.NewReplacer("<step>", found, "<own>", way).Replace(want)
		if err != nil || own.Reached() != want || own.Right != 1 ||
			strings.Contains(want, " takes ") == (found == way) {
			t.Errorf("%s: %q, %v", answer, own.Reached(), err)
		}
		if peak, err := own.Act().After.figure("peak"); err != nil ||
			!strings.Contains(own.Act().Rule, Text(peak)) ||
			own.Setup().PP != int(answer[len(answer)-1]-'0') {
			t.Errorf("%s: the peak is %s, told is %q", answer, Text(peak), own.Act().Rule)
		}
	}
	for answer, want := range map[string]string{
		"batch=512": "global batch is gbs",
		"m=2":       "micro-batches is microbatches", "zro=1": "did you mean zero?",
		"xyzzy=1": "knobs are dp, tp,",
		"=1":      `no knob ""; knobs are`,
	} {
		if _, err := p.Answer(answer); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// TestGoalPrice: a goal that names its price shows it.
func TestGoalPrice(t *testing.T) {
	l := one(t, "capstone")
	for at := range l.Acts {
		if c, ok := l.Acts[at].Price(); ok != (l.Acts[at].Paid != "") {
			t.Errorf("act %d: %+v, %t", at+1, c, ok)
		}
	}
}

// TestTotal: a lesson that begins at a later act counts from that on; one before that is asked counts too.
func TestTotal(t *testing.T) {
	l := one(t, "capstone")
	if p := From(l, 2); p.Total() != 1 || p.Back().Skip().Next().Total() != 2 || Begin(l).Total() != 3 {
		t.Errorf("%d acts from the last on, %d with the one before, %d in all", p.Total(),
			p.Back().Skip().Next().Total(), Begin(l).Total())
	}
}

// one is a lesson of the program.
func one(t *testing.T, id string) *Lesson {
	t.Helper()
	all, errs := All("", presets.Default())
	l, err := Find(all, id)
	if err != nil || len(errs) > 0 {
		t.Fatal(err, errs)
	}
	return l
}

// TestChanged: an act with another setup than the act before ended with says what changed, in words; after a
// goal that was reached otherwise, what it goes on with.
func TestChanged(t *testing.T) {
	for _, c := range []struct {
		id   string
		act  int
		says string
	}{
		{"second-step", 0, ""},
		{"second-step", 2, ""},
		{"batch", 2, "setup changed: micro-batch 1"},
		{"bubble", 4, "setup changed: VPP 1, schedule 1f1b"},
		{"long-context", 2, "setup changed: DP 32, TP 2, global batch 32, full recompute"},
	} {
		if got := From(one(t, c.id), c.act).Changed(); got != c.says {
			t.Errorf("%s, act %d: %q, wanted %q", c.id, c.act+1, got, c.says)
		}
	}
	for answer, want := range map[string]string{"tp=8 pp=2": "", "tp=8 pp=4": "we go on with TP 8, PP 2"} {
		p, err := Begin(one(t, "capstone")).Answer(answer)
		if p = p.Next(); err != nil || p.Changed() != want || p.Setup() != p.Act().Before.Setup {
			t.Errorf("%s: %q, wanted %q, %v", answer, p.Changed(), want, err)
		}
	}
}

// TestPointAt: where each rank has one stage, all of its row is that stage; an operation counts whatever its
// row.
func TestPointAt(t *testing.T) {
	a := &one(t, "bubble").Acts[0]
	for _, c := range []struct {
		figure string
		rank   int
		want   string
	}{
		{"stage.3.forward", 3, "stage 3"},
		{"pipeline.idle.2", 2, "stage 2"},
		{"", 1, "stage 1"},
		{"", -1, ""},
		{"", 9, ""},
	} {
		if got := a.PointAt(c.figure, c.rank); got != c.want {
			t.Errorf("%q in row %d: %q, wanted %q", c.figure, c.rank, got, c.want)
		}
	}
}

// TestComputed: arithmetic in prose has the unit of the figures with which it grows, and no figure without
// one.
func TestComputed(t *testing.T) {
	a := &one(t, "tensor-sequence").Acts[2]
	was, is := a.Before.Report.Time.Step, a.After.Report.Time.Step
	for text, want := range map[string]figures.Figure{
		"step(before) / microbatches(before)": {Value: float64(was) / 16, Unit: record.Seconds},
		"step(after) / step(before)":          {Value: float64(is / was)},
		"step(after) - step(before)":          {Value: float64(is - was), Unit: record.Seconds},
		"100 * exposed(after) / step(after)": {Value: float64(100 * a.After.Report.Time.Exposed /
			is)},
		"2 * tp(after) - 1": {Value: 31},
		"peak(after) - peak(before) + 2 * peak(before)": {Value: float64(a.After.Report.Memory.Peak +
			a.Before.Report.Memory.Peak), Unit: record.Memory},
	} {
		if f, err := computed(text, a); err != nil || Text(f) != Text(want) {
			t.Errorf("%s: %s, %v; wanted %s", text, Text(f), err, Text(want))
		}
	}
	for text, want := range map[string]string{
		"step(after) * step(before)": "has no unit", "step(after) + tp(after)": "has no unit",
		"nonsense(after)": "unknown figure", "step(after) > 1": "expected float64",
	} {
		if _, err := computed(text, a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; wanted %q", text, err, want)
		}
	}
}
