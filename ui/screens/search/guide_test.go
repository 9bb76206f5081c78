package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	find "meshscope/engine/search"
	"meshscope/presets"
	"meshscope/ui/screen"
	"meshscope/ui/screen/screentest"
)

// guided is the guide of a small search with all methods found or ruled out.
func guided(t *testing.T) (*View, *screen.Context) {
	in := small(t)
	v := New(presets.Default())
	v.Refresh(in).Work(t.Context())()
	v.press(in, "3")
	p := &screentest.Program{Refresh: func() screen.Request { return v.Refresh(in) }}
	v.guide.jobs.Drop()
	p.Ask()
	p.Finish(t, 20)
	return v, in
}

// TestGuideChoosesAnew: what was searched for the method chosen before is not shown
// under another one. The search runs while the method is chosen.
func TestGuideChoosesAnew(t *testing.T) {
	v, in := guided(t)
	do := v.press(in, "enter") // the batches with all methods
	if do.Work == nil {
		t.Fatal("no batch is searched")
	}
	report := make(chan func())
	go func() { report <- do.Work(t.Context()) }()
	v.press(in, "left")
	for range len(v.guide.rows[fitStage]) {
		v.press(in, "up")
		if v.guide.here().found {
			break
		}
	}
	if !v.guide.here().found || v.guide.row[fitStage] == len(v.guide.rows[fitStage])-1 {
		t.Fatal("no other method is found")
	}
	(<-report)()
	if o := v.guide.rows[batchStage][0]; o.done {
		t.Errorf("the answer of another method is shown: %+v", o.row.Setup)
	}
	// The batches are searched for the method that is chosen now.
	v.press(in, "enter")
	v.guide.jobs.Drop()
	p := &screentest.Program{Refresh: func() screen.Request { return v.Refresh(in) }}
	p.Ask()
	p.Finish(t, 20)
	shown := v.guide.rows[batchStage][v.guide.own]
	fresh := option{name: shown.name, limit: shown.limit}
	fresh.look(t.Context(), v.guide.problem(batchStage, v.guide.own), &v.guide.of)
	if !shown.done || shown.found != fresh.found || shown.row.Setup != fresh.row.Setup {
		t.Errorf("shown is %+v, searched alone %+v", shown.row.Setup, fresh.row.Setup)
	}
}

// TestGuideKeepsItsStep: a line of the first step that is being searched goes on
// while the cursor moves: it does not rest on the choice.
func TestGuideKeepsItsStep(t *testing.T) {
	in := small(t)
	v := New(presets.Default())
	v.Refresh(in).Work(t.Context())()
	do := v.press(in, "3")
	if do.Work == nil {
		t.Fatal("no method is searched")
	}
	if again := v.press(in, "up"); again.Work != nil {
		t.Error("the cursor begins the search anew")
	}
	do.Work(t.Context())()
	if !v.guide.rows[fitStage][0].done {
		t.Error("the first method has no answer")
	}
}

// TestGuideNamesRules: the rules of the three steps have the names and the words that
// advise has for them.
func TestGuideNamesRules(t *testing.T) {
	v, in := guided(t)
	v.guide.rules.jobs.Drop()
	p := &screentest.Program{Refresh: func() screen.Request { return v.refreshRules() }}
	v.guide.rules.of = engine.Setup{}
	p.Ask()
	p.Finish(t, 5)
	if len(v.guide.rules.list) == 0 {
		t.Fatal("no rules")
	}
	text := strings.Join(strings.Fields(ansi.Strip(strings.Join(v.Render(in.At(200, 60)), " "))), " ")
	seen := 0
	for _, r := range v.guide.rules.list {
		if r.Step != int(v.guide.at)+1 {
			continue
		}
		seen++
		if want := r.Verdict.Words() + " " + r.ID + ": " + r.Text; !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
		if !strings.Contains(text, r.Reason()) {
			t.Errorf("%s does not say %q", r.ID, r.Reason())
		}
	}
	if seen == 0 {
		t.Error("no rule of this step")
	}
}

// TestGuideSaysDefaultBatch: the batch that a search takes where nobody says one is a
// line of the second step, in the words of the command line, next to that of the setup.
func TestGuideSaysDefaultBatch(t *testing.T) {
	in := small(t) // 32 sequences of 8,192 tokens
	v := New(presets.Default())
	v.Refresh(in).Work(t.Context())()
	v.press(in, "3", "enter")
	text := ""
	for range 8 {
		text += ansi.Strip(strings.Join(append(v.Render(in.At(120, 32)), v.Status(in.At(200, 1))), "\n"))
		v.press(in, "down")
	}
	seen := map[string]bool{}
	for _, o := range v.guide.rows[batchStage] {
		seen[o.name+": "+o.note] = true
	}
	if !seen["32 seqs, 262,144 tokens: yours"] || !seen["128 seqs, 1.05 M tokens: of published runs"] {
		t.Errorf("the batches are %v", seen)
	}
	for i := 1; i < len(v.guide.rows[batchStage]); i++ {
		if a, b := v.guide.problem(batchStage, i-1),
			v.guide.problem(batchStage, i); a.Setup.GBS >= b.Setup.GBS {
			t.Errorf("%d sequences stand before %d", a.Setup.GBS, b.Setup.GBS)
		}
	}
	if want := "default batch of search; the default of eval is 4 sequences per pipeline rank and replica"; !strings.Contains(text, want) {
		t.Errorf("it does not say %q", want)
	}
}

// TestGuideSaysWhoRefuses: a method that the software stack does not offer is ruled out
// by that, not by arithmetic.
func TestGuideSaysWhoRefuses(t *testing.T) {
	in := small(t)
	s := *in.Setup
	s.Stack = recipe.Nanotron
	const want = "nanotron: zero_stage is 0 or 1"
	for _, zero := range []int{2, 3} {
		p := find.Problem{Setup: base(&s), Top: 1, Workers: 1}
		p.Space.TP, p.Space.PP, p.Space.CP, p.Space.ZeRO = []int{1}, []int{1}, []int{1}, []int{zero}
		o := option{name: "ZeRO"}
		o.look(t.Context(), p, &query{base: p.Setup})
		if !o.done || o.found || !strings.Contains(o.why, want) {
			t.Errorf("ZeRO-%d of nanotron: %+v", zero, o.why)
		}
	}
	p := find.Problem{Setup: base(in.Setup), Top: 1, Workers: 1}
	p.Space.TP = []int{3}
	o := option{name: "TP"}
	if o.look(t.Context(), p, &query{base: p.Setup}); o.found || !strings.Contains(o.why, "TP 3") {
		t.Errorf("TP 3: %+v", o.why)
	}
}

// TestGuideGivesTrueReasons: a method is not ruled out by the batch of the setup, which
// is chosen only in the second step; what is ruled out has a reason that holds: giving
// up what it names leaves layouts.
func TestGuideGivesTrueReasons(t *testing.T) {
	in := small(t)
	lib := presets.Default()
	m, err := lib.Model("llama3.1-70b")
	if err != nil {
		t.Fatal(err)
	}
	s := knob.WithModel(*in.Setup, m)
	s.GPUs, s.TP, s.PP, s.DP, s.GBS, s.MicroBatches = 32, 8, 1, 4, 16, 4
	if s.Cluster.GPU, err = lib.GPU("a100-sxm-80g"); err != nil {
		t.Fatal(err)
	}
	r := engine.Evaluate(s)
	in.Setup, in.Report = &s, &r
	v := New(lib)
	v.Refresh(in).Work(t.Context())()
	v.press(in, "3")
	v.guide.jobs.Drop()
	p := &screentest.Program{Refresh: func() screen.Request { return v.Refresh(in) }}
	p.Ask()
	p.Finish(t, 20)
	for i, o := range v.guide.rows[fitStage] {
		switch o.name {
		case "ZeRO-3 (FSDP)":
			if !o.found || o.row.Setup.GBS == s.GBS {
				t.Errorf("%s fits with a larger batch: %+v, %q", o.name, o.row.Setup.Layout, o.why)
			}
			v.guide.choose(i)
		default:
			if strings.Contains(o.why, "divides") || !o.found && !strings.Contains(o.why, "needs at least") {
				t.Errorf("%s: %q, though a batch of 512 has legal layouts", o.name, o.why)
			}
		}
	}
	if text := v.Status(in.At(200, 1)); !strings.Contains(text, "not with your 16") {
		t.Errorf("the status: %q", text)
	}
	v.press(in, "enter")
	if o := v.guide.here(); v.guide.at != batchStage || o.gbs == s.GBS {
		t.Errorf("the second step begins with a batch of %d, which FSDP cannot have", o.gbs)
	}
	// With the batch of the setup 32 stages are refused by the launcher alone.
	g := &v.guide
	o := option{
		name:  "PP 32",
		limit: func(p *find.Problem) { p.Space.TP, p.Space.PP, p.Space.CP = []int{1}, []int{32}, []int{1} },
	}
	g.rows[speedStage], g.row[fitStage], g.row[batchStage] = []option{o}, len(g.rows[fitStage])-1, g.own
	o.look(t.Context(), g.problem(speedStage, 0), &g.of)
	if o.found || !strings.Contains(o.why, "Megatron-LM: 80 layers do not divide over 32 stages") {
		t.Errorf("PP 32: %q", o.why)
	}
}

// TestGuideSaysWhatEnterDoes: the keys of the moment are those of the step, and what is
// taken is not offered again.
func TestGuideSaysWhatEnterDoes(t *testing.T) {
	v, in := guided(t)
	hint := func() string {
		h := screen.Hints(v, in)[0]
		return h.Key + " " + h.Text
	}
	if got := hint(); got != "enter next step" {
		t.Errorf("the first step: %q", got)
	}
	if text := v.Status(in.At(200, 1)); !strings.Contains(text, "all methods fit;") {
		t.Errorf("%q", text)
	}
	v.press(in, "enter", "enter")
	v.guide.jobs.Drop()
	p := &screentest.Program{Refresh: func() screen.Request { return v.Refresh(in) }}
	p.Ask()
	p.Finish(t, 40)
	if got := hint(); got != "enter take it" {
		t.Errorf("the last step: %q", got)
	}
	do := v.press(in, "enter")
	if do.Setup == nil {
		t.Fatal("nothing is taken")
	}
	r := engine.Evaluate(*do.Setup)
	in.Setup, in.Report = do.Setup, &r
	if got := hint(); strings.HasPrefix(got, "enter") {
		t.Errorf("after it was taken: %q", got)
	}
	if text := v.Status(in.At(200, 1)); !strings.HasPrefix(text, "your current setup") {
		t.Errorf("%q", text)
	}
}

// TestMicroBatchesAreSaid: the sizes that the knob says are tried are those that are.
func TestMicroBatchesAreSaid(t *testing.T) {
	in := small(t)
	s := *in.Setup
	s.GBS, s.MicroBatches = 5040*64/16, 5040*64/16/4 // of many divisors
	p := (&query{base: base(&s)}).problem()
	want := "1 to 16 and powers of two up to 64"
	if !strings.Contains(microBatch.row().help, want) {
		t.Errorf("%q", microBatch.row().help)
	}
	tried := find.Tried(p).MBS
	for n := 1; n <= 128; n++ {
		says := s.GBS%n == 0 && (n <= 16 || n&(n-1) == 0 && n <= 64)
		if says != slices.Contains(tried, n) {
			t.Errorf("%d: tried %v", n, tried)
		}
	}
}
