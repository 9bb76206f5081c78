package report

import (
	"fmt"
	"strings"

	"meshscope/engine"
	"meshscope/engine/record"
	"meshscope/engine/units"
	"meshscope/report/figure"
)

// runSection describes the whole training run of a token budget.
func runSection(s *engine.Setup, report *engine.Report) Section {
	t, r := &Table{Head: []string{"", "", ""}}, report.Run
	late, usual := lateRun(s, report, engine.PessimisticStep(s, report)), engine.TypicalRun(s, report.Time)
	if usual != nil {
		t.Head = append(t.Head, "typical")
	}
	add := func(name string, of func(*engine.Run) float64, unit record.Unit, write func(float64) string) {
		row := []Cell{
			Word(name), written(write(of(r)), unit, of(r)),
			Word(runRange(r, late, "", "", of, write)), Word(""),
		}
		if usual != nil {
			row[3] = written(write(of(usual)), unit, of(usual))
		}
		t.add(row[:len(t.Head)]...)
	}
	t.add([]Cell{Word("steps"), fine(record.Tokens, r.Steps), Word(""), Word("")}[:len(t.Head)]...)
	add("days", func(r *engine.Run) float64 { return r.Days }, record.Days, figure.Three)
	add("GPU-hours", func(r *engine.Run) float64 { return r.GPUHours }, record.Hours, figure.Short)
	if r.Cost != nil {
		add("cost", func(r *engine.Run) float64 { return *r.Cost }, record.Dollars, figure.Dollars)
	}
	if r.Energy != nil {
		add("energy", func(r *engine.Run) float64 { return *r.Energy }, record.Energy, figure.Energy)
	}
	return Section{
		Heading: "Run",
		Lead: fmt.Sprintf("%s tokens: %s %s, %s GPU-hours", figure.FineCount(r.Tokens),
			figure.Days(r.Days), r.Band("±"), figure.FineCount(r.GPUHours)),
		Blocks: []Block{
			t, Sentence(layoutOnly(r)), namedFacts(append(typicalWords(usual), r.Assumptions...)),
		},
	}
}

// namedFacts returns texts that begin with their names ("price: 2.5 $ ...") as facts.
func namedFacts(texts []string) (facts Facts) {
	for _, text := range texts {
		name, value, named := strings.Cut(text, ": ")
		if !named {
			name, value = "steps", text
		}
		facts = append(facts, Fact{name, value})
	}
	return facts
}

// layoutOnly says what the error band of a whole run covers.
func layoutOnly(r *engine.Run) string {
	if r == nil {
		return ""
	}
	return r.Band("±") + " is the band of the step, and so of this layout only: not of goodput, price, " +
		"power or PUE"
}

// typicalWords name the public figures that a whole run has where none are given; none where there is no such
// run.
func typicalWords(r *engine.Run) (list []string) {
	if r == nil {
		return nil
	}
	for _, a := range r.Assumptions {
		list = append(list, "typical "+a)
	}
	return list
}

// PowerOverGPUs says what the energy of a run counts: "GPUs alone", "all power 1.90 times the GPUs'".
func PowerOverGPUs(r *engine.Run) string {
	if r.PUE == 1 {
		return "GPUs alone"
	}
	return "all power " + figure.Three(r.PUE) + " times the GPUs'"
}

// RunBrief writes days, cost and energy of a run: "85.1 days, $1.3 M, 12 GWh".
func RunBrief(r *engine.Run) string {
	text := figure.Days(r.Days)
	if r.Cost != nil {
		text += ", " + figure.Dollars(*r.Cost)
	}
	if r.Energy != nil {
		text += ", " + figure.Energy(*r.Energy)
	}
	return text
}

// lateRun returns the whole run of steps that take that long; nil where they are no longer than
// predicted.
func lateRun(s *engine.Setup, r *engine.Report, step units.Seconds) *engine.Run {
	if step <= r.Time.Step {
		return nil
	}
	slow := *r.Time
	slow.Step = step
	return engine.WholeRun(s, &slow)
}

// runRange writes both ends of a figure of a run between two signs, and what it is where no
// unproven overlap works.
func runRange(r, late *engine.Run, open, end string, of func(*engine.Run) float64,
	write func(float64) string,
) string {
	text := fmt.Sprintf("%s%s to %s%s", open, write(of(r)/(1+r.ErrorBand)), write(of(r)*(1+r.ErrorBand)), end)
	if late != nil {
		text += "; " + write(of(late)) + " where no unproven overlap works"
	}
	return text
}
