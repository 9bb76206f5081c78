package ui

import (
	"context"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/engine/units"
	"meshscope/presets"
	"meshscope/report"
	"meshscope/report/figure"
)

// spoken is what a screen reader is given of a setup.
func spoken(t *testing.T, s engine.Setup) string {
	t.Helper()
	answer := report.Answer{Document: func() *report.Document {
		return Document(t.Context(), s, engine.Evaluate(s), presets.Default())
	}}
	var b strings.Builder
	if err := report.Write(&b, report.Speech, &answer); err != nil {
		t.Fatal(err)
	}
	linear(t, b.String())
	return b.String()
}

// linear checks that a text is headings and sentences in ASCII, nothing drawn, no
// heading twice.
func linear(t *testing.T, text string) {
	t.Helper()
	seen := map[string]bool{}
	for _, block := range strings.Split(text, "\n\n") {
		lines := strings.Split(strings.TrimSuffix(block, "\n"), "\n")
		if strings.HasSuffix(lines[0], ".") || len(lines) < 2 || seen[lines[0]] {
			t.Errorf("a block without a heading of its own: %q", block)
		}
		seen[lines[0]] = true
		for i, line := range lines {
			if strings.IndexFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) >= 0 ||
				strings.Contains(line, "  ") || strings.HasSuffix(line, " ") {
				t.Errorf("not linear: %q", line)
			}
			if i > 0 && !strings.HasSuffix(line, ".") {
				t.Errorf("not a sentence: %q", line)
			}
		}
	}
}

// small is a setup whose search is answered at once.
func small(t *testing.T) engine.Setup {
	return setupOf(t, "llama3.2-1b", "dgx-h100", knob.Given{knob.GPUs: 8, knob.TP: 2, knob.PP: 2})
}

// TestSaysEachScreen: a document has the tables of all eight screens, with every rank
// and every dimension of traffic.
func TestSaysEachScreen(t *testing.T) {
	s := small(t)
	text, r := spoken(t, s), engine.Evaluate(s)
	for _, want := range []string{
		"\nStep\n", "\nThroughput\n", "\nmemory per GPU at each rank's peak\n", "\nmemory over a step\n",
		"\ninside a layer on one GPU\n", "\nlargest with the safety margin\n",
		"\npipeline ranks\n", "\ntraffic per GPU and step\n", "\noverlap: ", "\nstep at other bandwidths ",
		"\nlayouts, the best first\n", "\nmethods in use\n",
		"\nscan of ", "\npublished runs by group", "\nruns of all groups", "\nAssumed\n", "\nNot modelled\n",
		" more are not listed.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for i, rank := range r.Timeline.Ranks {
		if want := figure.Seconds(units.Seconds(rank.Idle)); !strings.Contains(text, "idle "+want) {
			t.Errorf("rank %d does not wait %s:\n%s", i, want, text)
		}
		m := &r.Memory.Ranks[i]
		if want := "activations " + figure.Memory(m.Activations); !strings.Contains(text, want) ||
			!strings.Contains(text, "driver context ") {
			t.Errorf("rank %d: no %q", i, want)
		}
	}
	for _, c := range r.Communication {
		if !strings.Contains(text, "sent "+figure.Traffic(c.Bytes)) {
			t.Errorf("%s is not there", c.Dimension)
		}
	}
}

// TestSaysAnything: illegal setups, names that would steer a terminal, many ranks.
func TestSaysAnything(t *testing.T) {
	illegal := small(t)
	illegal.TP = 7
	if text := spoken(t, illegal); !strings.Contains(text, "\nIllegal\n") ||
		strings.Contains(text, "\nMemory\n") {
		t.Errorf("illegal:\n%s", text)
	}
	hostile := small(t)
	hostile.Model.Name = "evil\x1b]0;x\x07 × name"
	spoken(t, hostile)
	many := setupOf(t, "llama3.2-1b", "dgx-h100",
		knob.Given{knob.GPUs: 64, knob.PP: 16, knob.MicroBatches: 64})
	many.Model.Layers, many.PP, many.DP = 64, 64, 1
	many.GBS = 64
	if r := engine.Evaluate(many); !r.Legal {
		t.Fatal(r.Problems)
	}
	text := spoken(t, many)
	if !strings.Contains(text, "\nrank 63: ") || strings.Contains(text, "\nrank 20: ") ||
		!strings.Contains(text, "ranks more are not listed.") {
		t.Errorf("64 ranks:\n%s", text)
	}
}

// TestSaysFixes: of a setup that does not fit each single-knob change that makes it fit
// is there, and where there is none, what tries more.
func TestSaysFixes(t *testing.T) {
	s := presets.DefaultSetup()
	s.PP, s.DP, s.MicroBatches = 1, 8, 64
	r := engine.Evaluate(s)
	fixes := advise.Fixes(s, nil)
	if r.Memory.Fits || len(fixes) == 0 {
		t.Fatalf("fits %v, %d fixes", r.Memory.Fits, len(fixes))
	}
	text := func() string {
		answer := report.Answer{Document: func() *report.Document { return report.Overview(&s, &r) }}
		var b strings.Builder
		if err := report.Write(&b, report.Speech, &answer); err != nil {
			t.Fatal(err)
		}
		linear(t, b.String())
		return b.String()
	}
	for i := range fixes {
		if !strings.Contains(text(), "\n"+fixes[i].Turns()+": ") {
			t.Errorf("it does not say %s:\n%s", fixes[i].Turns(), text())
		}
	}
	s.Cluster.GPU.MemoryUsable = units.GiB / 8
	r = engine.Evaluate(s)
	if !strings.Contains(text(), "No single-knob change makes it fit") {
		t.Errorf("nothing makes it fit:\n%s", text())
	}
}

// TestSaysWhatIsMissing: a document names the screens whose work was stopped.
func TestSaysWhatIsMissing(t *testing.T) {
	s := small(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var b strings.Builder
	answer := report.Answer{Document: func() *report.Document {
		return Document(ctx, s, engine.Evaluate(s), presets.Default())
	}}
	if err := report.Write(&b, report.Speech, &answer); err != nil {
		t.Fatal(err)
	}
	linear(t, b.String())
	for _, screen := range []string{"Memory", "Search"} {
		if !strings.Contains(b.String(), "\n"+screen+" screen\nIncomplete: ") {
			t.Errorf("%s is not said to be incomplete:\n%s", screen, b.String())
		}
	}
}
