package search

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/report"
	"meshscope/ui/screen"
	"meshscope/ui/screens/explore"
)

// TestVerdictsAgree: eval, the page to decide by, advice, a row of Search and the explorer's sentence name
// the state that README's rule gives, whatever the setup and however close it is to its memory.
func TestVerdictsAgree(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	draws.CheckFew(t, 4, func(r *rapid.T) {
		s := drawnSetup(r)
		give := func(usable units.Bytes) {
			gpu := &s.Cluster.GPU
			gpu.MemoryUsable, gpu.MemoryNominal = usable, max(gpu.MemoryNominal, usable)
		}
		give(engine.Evaluate(s).Memory.Peak)
		at := engine.Evaluate(s).Memory // its band is that of a GPU with another memory
		for _, state := range []struct {
			want        string
			least, most float64 // bands that the usable memory is over the peak
		}{{"over", -3, -1.001}, {"tight", -0.999, 0.999}, {"fits", 1.001, 3}} {
			away := rapid.Float64Range(state.least, state.most).Draw(r, state.want)
			give(at.Peak * units.Bytes(math.Pow(1+at.ErrorBand, away)))
			verdictsAre(r, in, s, state.want)
		}
	})
}

// verdictsAre holds all who name the state of a setup to the one that it is to have.
func verdictsAre(r *rapid.T, in *screen.Context, s engine.Setup, want string) {
	now := engine.Evaluate(s)
	m := now.Memory
	is := "tight"
	switch up := 1 + m.ErrorBand; {
	case float64(m.Peak)*up <= float64(m.Usable):
		is = "fits"
	case float64(m.Peak)/up > float64(m.Usable):
		is = "over"
	}
	if is != want {
		r.Fatalf("peak %v ±%v of %v is %s, drawn as %s", m.Peak, m.ErrorBand, m.Usable, is, want)
	}
	in.Setup, in.Report = &s, &now
	for where, text := range named(r, in.Setup, in.Report, ansi.Strip(explore.Headline(in, 200))) {
		if got := stateOf(text); got != want {
			r.Fatalf("%s says %q, which is %s; peak %v ±%v of %v is %s", where, text, got, m.Peak,
				m.ErrorBand, m.Usable, want)
		}
	}
	if row := report.NewCandidate(&s, &now, 0, 1); strings.HasPrefix(row.Doubt("±"),
		"tight") != (want == "tight" && m.Fits) {
		r.Fatalf("a row of Search: %q, %s", row.Doubt("±"), want)
	}
	v := prepared(in)
	if got := stateOf(v.besideOwn(in, &v.answer.rows[0])); got != want {
		r.Fatalf("Search's status: %s, want %s", got, want)
	}
	gauges := fmt.Sprint(explore.Brief(in, explore.Vital{}))
	if strings.Contains(gauges, "reach") != (want == "over") || stateOf(gauges) != want {
		r.Fatalf("the gauges say %s, want %s", gauges, want)
	}
}

func drawnSetup(r *rapid.T) engine.Setup {
	model, err := presets.Default().Model(rapid.SampledFrom([]string{
		"llama3.1-8b", "llama3.1-70b",
		"mixtral-8x7b", "qwen3-30b-a3b",
	}).Draw(r, "model"))
	if err != nil {
		r.Fatal(err)
	}
	cluster, err := presets.Default().Cluster(rapid.SampledFrom([]string{"dgx-h100", "dgx-a100"}).Draw(r,
		"cluster"))
	if err != nil {
		r.Fatal(err)
	}
	s, err := knob.DraftOf(model, cluster, knob.Given{
		knob.GPUs: 64, knob.GBS: 128, knob.TP: rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(r, "tp"),
		knob.PP:   rapid.SampledFrom([]int{1, 2, 4}).Draw(r, "pp"),
		knob.ZeRO: rapid.SampledFrom([]int{0, 1}).Draw(r, "zero"),
	}).Resolve()
	if err != nil || !engine.Legal(s) {
		r.Skip()
	}
	return s
}

// named returns the sentences that say whether a setup fits, by who says them.
func named(r *rapid.T, s *engine.Setup, now *engine.Report, headline string) map[string]string {
	out := map[string]string{"the explorer": headline, "report's headline": report.Headline(now)}
	lead := func(where string, d *report.Document, heading string) {
		for i := range d.Sections {
			if d.Sections[i].Heading == heading {
				out[where] = d.Sections[i].Lead
			}
		}
		if out[where] == "" {
			r.Fatalf("%s has no section %s", where, heading)
		}
	}
	of := report.NewEvaluation("", *s, *now)
	lead("eval", of.Answer().Document(), "Memory")
	page := report.NewDecision(*s, *now)
	page.Library = presets.Default()
	lead("report", page.Document(), "Fit")
	advice, ok := advise.For(*s, advise.Options{Alone: true, Stop: func() bool { return false }})
	if !ok {
		r.Fatal("no advice")
	}
	for _, section := range (&report.Advice{
		Advice:  &advice,
		Library: presets.Default(),
	}).Document().Sections {
		if slot := strings.ToLower(section.Heading); slot == "fits" || slot == "tight" || slot == "over" {
			out["advise"] = slot
		}
	}
	return out
}

// stateOf returns the state that a sentence names.
func stateOf(text string) string {
	text = strings.ToLower(text)
	switch {
	case strings.Contains(text, "tight"):
		return "tight"
	case strings.Contains(text, "does not fit"), strings.Contains(text, "over"):
		return "over"
	}
	return "fits"
}
