package engine

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/units"
)

// MaxPoints bounds a scan.
const MaxPoints = 4096

// Axis is a knob and the values that it is turned to, as the command line writes
// them; none: its legal ones.
type Axis struct {
	ID     ParamID  `json:"knob"`
	Values []string `json:"values"`
}

// Scan is a question: one figure of the report while one or two knobs turn.
type Scan struct {
	Setup  Setup
	X      Axis
	By     Axis // a row for each of its values; without an ID there is one row
	Figure string
	Locks  Locks
}

// Grid is the answer: a row for each value of By, a point for each of X.
type Grid struct {
	X, By  Axis
	Unit   Unit        // of the figure; where no point has it, a plain number
	Usable units.Bytes // the capacity line of figures of memory
	Rows   [][]Point
}

// Verdict is what became of a point.
type Verdict string

// Verdicts.
const (
	PointFits    Verdict = "fits"
	PointNoFit   Verdict = "does-not-fit" // the figure is there all the same
	PointIllegal Verdict = "illegal"
)

// Point is one setup of a scan.
type Point struct {
	X, By   string
	Setup   Setup
	Verdict Verdict
	Why     string   // of an illegal point: what is wrong, in a sentence
	Value   *float64 // nil where it is illegal or its report has no such figure
	Current bool     // the setup that was asked about
}

// StoppedError says that work was stopped before it had an answer.
type StoppedError struct{}

func (StoppedError) Error() string { return "stopped before it was done" }

// PointsError says that a scan has more points than MaxPoints.
type PointsError struct{ Points int }

func (e PointsError) Error() string {
	return strconv.Itoa(e.Points) + " points, a scan has at most " + strconv.Itoa(MaxPoints)
}

// Run goes through the points, row by row. The error is a PointsError, or, once
// stop says true (nil: never), a StoppedError.
func (c Scan) Run(stop func() bool) (Grid, error) {
	g := Grid{X: c.X, By: c.By, Usable: c.Setup.Cluster.GPU.MemoryUsable}
	if c.By.ID != "" && len(c.By.Values) == 0 {
		g.By.Values = ladderTexts([]Setup{c.Setup}, c.By.ID, c.Locks)
	}
	rows := g.By.Values
	if c.By.ID == "" {
		rows = []string{""}
	}
	starts := make([]Point, len(rows))
	var legalStarts []Setup
	for i, by := range rows {
		starts[i] = c.turned(c.Setup, c.By.ID, by)
		if starts[i].Why == "" {
			legalStarts = append(legalStarts, starts[i].Setup)
		}
	}
	if len(c.X.Values) == 0 {
		g.X.Values = ladderTexts(legalStarts, c.X.ID, c.Locks)
	}
	if n := len(rows) * len(g.X.Values); n > MaxPoints {
		return Grid{}, PointsError{n}
	}
	e := Evaluator{Brief: true}
	for i, by := range rows {
		row := make([]Point, 0, len(g.X.Values))
		for _, x := range g.X.Values {
			p := starts[i]
			if p.Why == "" {
				p = c.turned(p.Setup, c.X.ID, x)
			}
			p.X, p.By = x, by
			if p.Why == "" && !c.ask(&e, &p, &g.Unit, stop) {
				return Grid{}, StoppedError{}
			}
			row = append(row, p)
		}
		g.Rows = append(g.Rows, row)
	}
	return g, nil
}

// turned is a setup with a knob turned; a value that cannot be taken is said.
func (c *Scan) turned(s Setup, id ParamID, text string) Point {
	p := Point{Setup: s, Verdict: PointIllegal}
	if id == "" {
		return p
	}
	var err error
	if p.Setup, err = Turn(s, id, text, c.Locks); err != nil {
		p.Why = err.Error()
	}
	return p
}

// ask evaluates a point; false when it was stopped.
func (c *Scan) ask(e *Evaluator, p *Point, unit *Unit, stop func() bool) bool {
	p.Current = p.Setup == c.Setup
	r, done := e.EvaluateUntil(p.Setup, stop)
	if !done || stop != nil && stop() {
		return false
	}
	if !r.Legal {
		p.Why = firstError(r.Problems)
		return true
	}
	p.Verdict = PointFits
	if !r.Memory.Fits {
		p.Verdict = PointNoFit
	}
	if f, ok := FindFigure(&r, c.Figure); ok {
		*unit, p.Value = f.Unit, &f.Value
	}
	return true
}

func firstError(problems []Problem) string {
	for i := range problems {
		if problems[i].Severity == "error" {
			return problems[i].Message
		}
	}
	return "illegal"
}

// ladderTexts are the values of a knob that are legal on at least one of the
// setups: numbers in ascending order, words in their own.
func ladderTexts(of []Setup, id ParamID, l Locks) []string {
	var texts []string
	numbers := true
	for _, s := range of {
		for _, step := range Steps(s, id, l) {
			if !slices.Contains(texts, step.Text) {
				texts = append(texts, step.Text)
			}
			_, err := strconv.Atoi(step.Text)
			numbers = numbers && err == nil
		}
	}
	if numbers {
		slices.SortFunc(texts, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	}
	return texts
}
