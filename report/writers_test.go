package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/compare"
	"meshscope/engine/explain"
	"meshscope/engine/figures"
	"meshscope/engine/knob"
	"meshscope/engine/scan"
	"meshscope/engine/search"
	"meshscope/presets"
	"meshscope/presets/curves"
	"meshscope/presets/published"
)

// drafted returns a setup of a preset model and cluster.
func drafted(t *testing.T, model, cluster string, given knob.Given) engine.Setup {
	t.Helper()
	lib := presets.Default()
	m, err := lib.Model(model)
	if err != nil {
		t.Fatal(err)
	}
	c, err := lib.Cluster(cluster)
	if err != nil {
		t.Fatal(err)
	}
	s, err := knob.DraftOf(m, c, given).Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wellFormed writes an answer in all formats and holds each to the rules of its kind.
func wellFormed(t *testing.T, name string, a *Answer) {
	t.Helper()
	for _, f := range formats() {
		if f.Format == TOML && a.Setup == nil || f.Format == JSON && a.Data == nil ||
			f.records && a.Records == nil {
			continue
		}
		for _, width := range []int{0, 80, 160} {
			if width > 0 && f.Format != Text {
				continue
			}
			a.Width = width
			var out bytes.Buffer
			if err := Write(&out, f.Format, a); err != nil {
				t.Errorf("%s, %s: %v", name, f.Format, err)
				continue
			}
			text := out.String()
			if strings.TrimSpace(text) == "" || !utf8.ValidString(text) {
				t.Errorf("%s, %s: empty or no UTF-8: %q", name, f.Format, text)
			}
			for _, slip := range []string{"%!", "NaN", "Inf ", "<nil>", "(MISSING)"} {
				if at := strings.Index(text, slip); at >= 0 {
					around := text[max(at-60, 0):min(at+40, len(text))]
					t.Errorf("%s, %s: %q in %q", name, f.Format, slip, around)
				}
			}
			ruleOf(t, name, f.Format, width, text)
		}
	}
}

// ruleOf holds a text to the rules of its format.
func ruleOf(t *testing.T, name string, f Format, width int, text string) {
	t.Helper()
	switch f {
	case CSV:
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll() // refuses rows of another length
		if err != nil || len(rows) == 0 {
			t.Errorf("%s, csv: %d rows, %v", name, len(rows), err)
		}
	case JSON:
		if !json.Valid([]byte(text)) {
			t.Errorf("%s: no JSON", name)
		}
	case Markdown:
		bars := 0 // of the row above
		for line := range strings.Lines(text) {
			n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
			if strings.HasPrefix(line, "|") && bars > 0 && n != bars {
				t.Errorf("%s, markdown: %d cells below %d: %q", name, n, bars, line)
			}
			if bars = n; !strings.HasPrefix(line, "|") {
				bars = 0
			}
		}
	case Text:
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if strings.TrimRight(line, " ") != line {
				t.Errorf("%s, text: blanks at the end of %q", name, line)
			}
			breaks := strings.Contains(strings.TrimSpace(line), " ") &&
				!strings.HasPrefix(line, "    meshscope ")
			if width > 0 && utf8.RuneCountInString(line) > width && breaks {
				t.Errorf("%s, text: wider than %d: %q", name, width, line)
			}
		}
	case Speech:
		for _, r := range text {
			if r != '\n' && (unicode.Is(unicode.So, r) || unicode.IsControl(r)) {
				t.Errorf("%s, speech: %q is no word", name, r)
				break
			}
		}
	case HTML:
		for _, tag := range []string{"table", "section", "svg", "details"} {
			if open, end := strings.Count(text, "<"+tag), strings.Count(text, "</"+tag+">"); open != end {
				t.Errorf("%s, html: %d %s, %d ends", name, open, tag, end)
			}
		}
	case TOML:
	}
}

// setups are one of each kind of answer of eval: fits, over, tight mixture, a fine-tuned ledger,
// a whole run, and one that is illegal.
func setups(t *testing.T) map[string]engine.Setup {
	of := func(model string, given knob.Given) engine.Setup {
		return drafted(t, model, "dgx-h100", given)
	}
	illegal := of("llama3.1-8b", knob.Given{knob.GPUs: 8, knob.TP: 8, knob.GBS: 64})
	illegal.TP = 3
	return map[string]engine.Setup{
		"fits": of("llama3.1-8b", knob.Given{
			knob.GPUs: 16, knob.TP: 2, knob.PP: 2, knob.VPP: 4, knob.GBS: 128,
		}),
		"over": of("llama3.1-70b", knob.Given{knob.GPUs: 16, knob.TP: 8, knob.GBS: 64}),
		"mixture": of("mixtral-8x7b", knob.Given{
			knob.GPUs: 32, knob.TP: 2, knob.PP: 2, knob.EP: 8, knob.GBS: 256,
		}),
		"lora": of("llama3.1-8b", knob.Given{
			knob.GPUs: 8, knob.DP: 8, knob.Calibration: "transformers", knob.LoRA: 16, knob.GBS: 16,
		}),
		"run": of("llama3.1-8b", knob.Given{
			knob.GPUs: 16, knob.TP: 2, knob.GBS: 128, knob.Tokens: "15T",
		}),
		"illegal": illegal,
	}
}

// TestEveryAnswerInEveryFormat: each answer of the program is well-formed in each format, and its text
// takes the width of a terminal.
func TestEveryAnswerInEveryFormat(t *testing.T) {
	t.Parallel()
	lib := presets.Default()
	for name, s := range setups(t) {
		r := engine.Evaluate(s)
		d := NewEvaluation("test", s, r)
		wellFormed(t, "eval "+name, d.Answer())
		if name != "fits" && name != "over" && name != "illegal" { // what follows differs in no more
			continue
		}
		if r.Memory != nil { // the commands answer an illegal layout as eval does
			page := Decide(t.Context(), s, r, search.Space{}, 2)
			page.Library, page.Version = lib, "test"
			wellFormed(t, "decision "+name, page.Answer())
		}
		if got, ok := advise.For(s, advise.Options{Moves: 5}); ok {
			advice := Advice{Advice: &got, Library: lib}
			wellFormed(t, "advise "+name, advice.Answer("test"))
		}
		if book, ok := explain.Of(s); ok {
			for _, f := range book.Figures() {
				if e, ok := book.Explain(f.ID); ok && (f.ID == "time.step" || f.ID == "memory.peak") {
					wellFormed(t, "explain "+name, &Answer{
						Document: func() *Document { return Explanation(e, 3) },
					})
				}
			}
		}
		for _, by := range []knob.ID{"", knob.VPP} {
			question := scan.Query{
				Setup: s, X: scan.Axis{ID: knob.Seq}, By: scan.Axis{ID: by}, Figure: "time.step",
			}
			of := Scan{Query: question, Bars: NewGlyphs(true)}
			_, of.Name = figures.ByWord("step")
			var err error
			if of.Grid, err = question.Run(nil); err != nil {
				t.Fatal(err)
			}
			wellFormed(t, "scan "+name+" by "+string(by), of.Answer("test"))
		}
	}
}

// TestComparisonsInEveryFormat: two setups, alike and not.
func TestComparisonsInEveryFormat(t *testing.T) {
	all := setups(t)
	for _, pair := range [][2]string{
		{"fits", "over"}, {"fits", "fits"}, {"mixture", "illegal"}, {"lora", "run"},
	} {
		c := compare.Setups(all[pair[0]], all[pair[1]])
		of := Comparison{
			Comparison: &c, Way: compare.ChangePath(c.A.Setup, c.B.Setup, nil), Words: pair[:],
			Library: presets.Default(),
		}
		wellFormed(t, "compare "+strings.Join(pair[:], " "), of.Answer("test"))
	}
}

// TestSearchesInEveryFormat: a search that finds layouts, one that looks for the largest micro-batch,
// and one that nothing meets, with its reasons.
func TestSearchesInEveryFormat(t *testing.T) {
	for name, c := range map[string]struct {
		model     string
		gpus      int
		objective search.Objective
		seq       int
	}{
		"found":   {"llama3.1-8b", 16, search.Throughput, 8192},
		"mixture": {"mixtral-8x7b", 32, search.Throughput, 4096},
		"sizes":   {"llama3.1-8b", 8, search.LargestMBS, 8192},
		"nothing": {"llama3.1-405b", 8, search.Throughput, 8192},
	} {
		q := search.NewQuery()
		q.Setup = drafted(t, c.model, "dgx-h100", knob.Given{knob.GPUs: c.gpus, knob.Seq: c.seq})
		q.Objective = c.objective
		for id, n := range map[knob.ID]int{knob.GPUs: c.gpus, knob.Seq: c.seq, knob.GBS: 128} {
			if err := q.Set(id, strconv.Itoa(n)); err != nil {
				t.Fatal(err)
			}
		}
		p, err := q.Problem()
		if err != nil {
			t.Fatal(err)
		}
		p.Workers, p.Front = 2, true
		of := Search{Query: q, Problem: p, Library: presets.Default()}
		of.Result = search.Run(t.Context(), p, nil)
		if (len(of.Result.Best) == 0) != (name == "nothing") {
			t.Fatalf("%s: %d layouts", name, len(of.Result.Best))
		}
		if len(of.Result.Best) == 0 {
			of.Conflict = search.Explain(t.Context(), p, nil)
		}
		wellFormed(t, "search "+name, of.Answer("test"))
	}
}

// TestValidationInEveryFormat: the published runs of two groups and all measured curves, with and without
// their rows.
func TestValidationInEveryFormat(t *testing.T) {
	groups, err := published.Groups(presets.Default())
	if err != nil {
		t.Fatal(err)
	}
	e := &engine.Evaluator{SkipTimeline: true}
	v := Validation{Header: NewHeader("test"), Fits: CalibrationErrors(presets.Default().Calibrations())}
	for i := range groups[:2] {
		results, rows := published.Compare(e, &groups[i])
		v.Groups, v.Rows = append(v.Groups, results...), append(v.Rows, rows...)
	}
	if v.Curves, err = curves.All(e, presets.Default()); err != nil {
		t.Fatal(err)
	}
	for _, rows := range []bool{false, true} {
		wellFormed(t, "validate", &Answer{
			Document: func() *Document { return v.Document(rows) }, Data: func() any { return &v },
		})
	}
}
