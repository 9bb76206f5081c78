package ui

import (
	"encoding/csv"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/ui/state"
)

// exported is what x writes on a screen, in a format.
func exported(t *testing.T, m *Model, into *[]*report.Evaluation, f report.Format) (text string,
	d *report.Evaluation,
) {
	t.Helper()
	*into = nil
	_, cmd := m.Update(press("x"))
	finishAll(m, cmd)
	for _, other := range report.Formats() {
		if other == f {
			break
		}
		m.Update(press("down"))
	}
	_, cmd = m.Update(press("enter"))
	finishAll(m, cmd)
	if len(*into) != 1 {
		t.Fatalf("%d documents written:\n%s", len(*into), screenText(m))
	}
	var b strings.Builder
	if err := report.Write(&b, f, (*into)[0].Answer()); err != nil {
		t.Fatal(err)
	}
	return b.String(), (*into)[0]
}

// TestExportWritesTheScreen: x writes the tables of the screen it is pressed on, in
// every format, with the figures that the engine gives.
func TestExportWritesTheScreen(t *testing.T) {
	setup := setupOf(t, "llama3.1-8b", "dgx-h100",
		knob.Given{knob.GPUs: 8, knob.TP: 1, knob.PP: 4, knob.ZeRO: 2})
	var written []*report.Evaluation
	m := sample(t, 120, 36, func(o *Options) {
		o.Setup, o.Evaluate = setup, engine.Evaluate
		o.Export = func(_ report.Format, d *report.Evaluation) (string, error) {
			written = append(written, d)
			return "x", nil
		}
	})
	plainText, _ := exported(t, m, &written, report.CSV)
	if strings.Contains(plainText, "memory over a step") {
		t.Error("Explore writes the tables of Memory")
	}
	reach := func(tab state.Tab, more ...string) {
		finishAll(m, m.do(state.Action{Verb: state.GoTab, N: int(tab)}))
		for _, k := range more {
			_, cmd := m.Update(press(k))
			finishAll(m, cmd)
		}
	}
	reach(MemoryTab)
	text, _ := exported(t, m, &written, report.CSV)
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	r := engine.Evaluate(setup)
	find := func(part, item, name string) string {
		for _, row := range rows {
			if row[0] == part && row[1] == item && row[2] == name {
				return row[3]
			}
		}
		return ""
	}
	table := "memory per GPU at each rank's peak"
	if got, _ := strconv.ParseFloat(find(table, "rank 1", "activations"),
		64); got != float64(r.Memory.Ranks[1].Activations) {
		t.Errorf("activations of rank 1: %g, want %g", got, r.Memory.Ranks[1].Activations)
	}
	sum, _ := strconv.ParseFloat(find(table, "sum", "total"), 64)
	without, _ := strconv.ParseFloat(find(table, "sum without ZeRO", "total"), 64)
	if sum <= 0 || without <= sum {
		t.Errorf("%g with ZeRO, %g without", sum, without)
	}
	if find("memory over a step", "rank 0", "later passes") == "" ||
		find("largest with the safety margin", "micro-batch", "needs") == "" ||
		!strings.Contains(text, "inside a layer on one GPU,MLP up,") {
		t.Errorf("tables are missing:\n%s", text[:2000])
	}

	reach(CompareTab, "v")
	if text, _ = exported(t, m, &written, report.Markdown); !strings.Contains(text, "## each method alone") ||
		!strings.Contains(text, "| ZeRO-2 |") {
		t.Errorf("no table of the methods:\n%.1500s", text)
	}
	m.do(state.Action{Verb: state.Pin})
	m.do(state.Action{Verb: state.SetKnob, ID: "zero", Text: "1"})
	reach(state.ExploreTab)
	reach(CompareTab, "v", "v")
	text, d := exported(t, m, &written, report.Markdown)
	if !strings.Contains(text, "## figures of A and B") || len(d.Screen) != 2 {
		t.Errorf("no table of A and B:\n%.1500s", text)
	}

	reach(PipelineTab)
	text, d = exported(t, m, &written, report.CSV)
	line := engine.Evaluate(m.state.Setup).Timeline
	if !strings.Contains(text, "pipeline ranks,rank 0,busy,"+figure.Digits(line.Ranks[0].Busy)) ||
		len(d.Screen[0].Rows) != len(line.Ranks) {
		t.Errorf("no ranks of the pipeline:\n%.800s", text)
	}
	reach(SearchTab)
	text, d = exported(t, m, &written, report.Markdown)
	if len(d.Screen) != 1 || len(d.Screen[0].Rows) < 3 ||
		!strings.Contains(text, "## layouts, the best first") {
		t.Fatalf("no ranked layouts:\n%.800s", text)
	}
	for i := range d.Screen[0].Rows {
		if len(d.Screen[0].Rows[i]) != len(d.Screen[0].Head) {
			t.Errorf("row %d has %d cells", i, len(d.Screen[0].Rows[i]))
		}
	}

	reach(ScanTab)
	text, d = exported(t, m, &written, report.JSON)
	var document struct {
		Screen []struct {
			Title string
			Rows  [][]any
		}
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil || len(document.Screen) != 1 ||
		!strings.HasPrefix(document.Screen[0].Title, "scan of ") {
		t.Fatalf("%v: %+v", err, document)
	}
	for i, row := range d.Screen[0].Rows {
		if value, ok := document.Screen[0].Rows[i][1].(float64); ok &&
			(value != row[1].Value || row[1].Text != figure.Of(row[1].Unit, value)) {
			t.Errorf("point %d: %v beside %v", i, document.Screen[0].Rows[i], row)
		}
	}
}

// TestExportNetworkAndEvidence: x on Network writes traffic, ratios and the step at
// other bandwidths, the lanes of the step and its variants, ring attention and collectives, on
// Evidence the groups and the runs that are shown.
func TestExportNetworkAndEvidence(t *testing.T) {
	setup := setupOf(t, "llama3.1-8b", "dgx-h100", knob.Given{knob.GPUs: 16, knob.TP: 4, knob.PP: 2})
	var written []*report.Evaluation
	m := sample(t, 120, 36, func(o *Options) {
		o.Setup, o.Evaluate = setup, engine.Evaluate
		o.Export = func(_ report.Format, d *report.Evaluation) (string, error) {
			written = append(written, d)
			return "x", nil
		}
	})
	number := func(c report.Cell) float64 {
		if !c.Number {
			t.Errorf("%q is no number", c.Text)
		}
		return c.Value
	}
	finishAll(m, m.do(state.Action{Verb: state.GoTab, N: int(NetworkTab)}))
	text, d := exported(t, m, &written, report.CSV)
	r := engine.Evaluate(setup)
	if len(d.Screen) != 7 || len(d.Screen[0].Rows) != len(r.Communication) || len(d.Screen[1].Rows) == 0 ||
		len(d.Screen[2].Rows) != 7 {
		t.Fatalf("%d tables of Network:\n%.1500s", len(d.Screen), text)
	}
	for i, c := range r.Communication {
		row := d.Screen[0].Rows[i]
		if row[0].Text != c.Dimension || number(row[4]) != float64(c.Bytes) ||
			number(row[6]) != float64(c.Exposed) {
			t.Errorf("%s: %+v", c.Dimension, row)
		}
	}
	if middle := d.Screen[2].Rows[3]; number(middle[2]) != float64(r.Time.Step) ||
		number(middle[1]) != float64(setup.Cluster.Inter.Bandwidth) {
		t.Errorf("at the bandwidth there is: %+v, want %v", middle, r.Time.Step)
	}
	for _, table := range d.Screen {
		for _, row := range table.Rows {
			if len(row) != len(table.Head) {
				t.Errorf("%s: %d cells of %d", table.Title, len(row), len(table.Head))
			}
		}
	}
	finishAll(m, m.do(state.Action{Verb: state.GoTab, N: int(EvidenceTab)}))
	text, d = exported(t, m, &written, report.Markdown)
	if len(d.Screen) != 2 || len(d.Screen[0].Rows) < 10 ||
		!strings.Contains(text, "## published runs by group") {
		t.Fatalf("tables of Evidence:\n%.1500s", text)
	}
	all := d.Screen[0].Rows[0]
	if runs := len(d.Screen[1].Rows); all[0].Text != "all" || number(all[2]) != float64(runs) || runs < 500 {
		t.Errorf("%d runs, the first group is %+v", runs, all)
	}
	sum := 0.0
	for _, row := range d.Screen[1].Rows {
		measured, predicted := number(row[5]), number(row[6])
		if e := predicted/measured - 1; e-number(row[7]) > 1e-9 || number(row[7])-e > 1e-9 {
			t.Errorf("%s: error %v of %v and %v", row[0].Text, row[7].Value, measured, predicted)
		}
		sum += max(row[7].Value, -row[7].Value)
	}
	if mean := sum / float64(len(d.Screen[1].Rows)); mean-number(all[3]) > 1e-9 ||
		number(all[3])-mean > 1e-9 {
		t.Errorf("the mean error is %v, the group says %v", mean, all[3].Value)
	}
}
