package scan

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/figures"
	"meshscope/engine/knob"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// MaxPoints bounds a scan.
const MaxPoints = 4096

// Axis is a knob and the values that it is turned to, as the command line writes
// them; none: its legal ones.
type Axis struct {
	ID     knob.ID  `json:"knob"`
	Values []string `json:"values"`
}

// Query is a question: one figure of the report while one or two knobs turn.
type Query struct {
	Setup  engine.Setup
	X      Axis
	By     Axis // a row for each of its values; without an ID there is one row
	Figure string
	Locks  knob.Locks
}

// Grid is the answer: a row for each value of By, a point for each of X.
type Grid struct {
	X, By  Axis
	Unit   record.Unit // of the figure; where no point has it, a plain number
	Usable units.Bytes // the capacity line of figures of memory
	Rows   [][]Point
}

// Verdict is what became of a point.
type Verdict string

// Verdicts.
const (
	Fits       Verdict = "fits"
	DoesNotFit Verdict = "does-not-fit" // the figure is there all the same
	Illegal    Verdict = "illegal"
)

// Point is one setup of a scan.
type Point struct {
	X       string       `json:"x"`
	By      string       `json:"by,omitempty"`
	Setup   engine.Setup `json:"-"`
	Verdict Verdict      `json:"verdict"`
	// Tight tells that its memory is as near to the usable one as the error band of memory
	// (engine.Tight).
	Tight bool     `json:"tight,omitempty"`
	Value *float64 `json:"value"` // nil where it is illegal or its report has no such figure
	// ErrorBand is the relative error that nine of ten published runs stay below; nil: of what
	// nobody measures.
	ErrorBand *float64 `json:"error_band,omitempty"`
	Current   bool     `json:"current"` // the setup of the query
	// of an illegal point, and of one that host memory is too small for: what is wrong, in a sentence
	Why string `json:"why,omitempty"`

	// illegal because its two values cannot both hold, see knob.ContradictionError
	Contradicts bool `json:"-"`
}

// StoppedError says that work was stopped before it had an answer.
type StoppedError struct{}

func (StoppedError) Error() string { return "stopped before it was done" }

// PointsError says that a scan has more points than MaxPoints.
type PointsError struct{ Points int }

func (e PointsError) Error() string {
	return strconv.Itoa(e.Points) + " points, a scan has at most " + strconv.Itoa(MaxPoints)
}

// Run goes through the points, row by row. In a point both knobs have the values that
// it is named by, or it is illegal and says why they cannot. The error is a
// PointsError, or, once stop says true (nil: never), a StoppedError.
func (c Query) Run(stop func() bool) (Grid, error) {
	g := Grid{X: c.X, By: c.By, Usable: c.Setup.Cluster.GPU.MemoryUsable}
	if c.By.ID != "" && len(c.By.Values) == 0 {
		g.By.Values = ladderTexts([]engine.Setup{c.Setup}, c.By.ID, c.Locks)
	}
	rows := g.By.Values
	if c.By.ID == "" {
		rows = []string{""}
	}
	if len(c.X.Values) == 0 {
		g.X.Values = c.ladder(rows)
	}
	if n := len(rows) * len(g.X.Values); n > MaxPoints {
		return Grid{}, PointsError{n}
	}
	e := engine.Evaluator{SkipTimeline: true}
	for _, by := range rows {
		row := make([]Point, 0, len(g.X.Values))
		for _, x := range g.X.Values {
			p := c.turned(x, by)
			if p.Why == "" && !c.ask(&e, &p, &g.Unit, stop) {
				return Grid{}, StoppedError{}
			}
			row = append(row, p)
		}
		g.Rows = append(g.Rows, row)
	}
	if len(c.X.Values) == 0 {
		g.dropIllegalColumns()
	}
	return g, nil
}

// ladder returns the values of the knob across that are legal on at least one row, were it
// turned after the row's. What it would take back of the row's value is found out point
// by point.
func (c *Query) ladder(rows []string) []string {
	var starts []engine.Setup
	for _, by := range rows {
		s, err := c.Setup, error(nil)
		if c.By.ID != "" {
			s, err = knob.Turn(c.Setup, c.By.ID, by, c.Locks)
		}
		if err == nil {
			starts = append(starts, s)
		}
	}
	return ladderTexts(starts, c.X.ID, c.Locks)
}

// dropIllegalColumns leaves out values that nobody requested and that are legal in no
// row, where there are others.
func (g *Grid) dropIllegalColumns() {
	legal := make([]bool, len(g.X.Values))
	for _, row := range g.Rows {
		for i := range row {
			legal[i] = legal[i] || row[i].Current || row[i].Verdict != Illegal
		}
	}
	if !slices.Contains(legal, true) {
		return
	}
	at := 0
	g.X.Values = slices.DeleteFunc(g.X.Values, func(string) bool { at++; return !legal[at-1] })
	for i := range g.Rows {
		g.Rows[i] = slices.DeleteFunc(g.Rows[i],
			func(p Point) bool { return !slices.Contains(g.X.Values, p.X) })
	}
}

// turned returns the setup with the knobs turned; what cannot be is said.
func (c *Query) turned(x, by string) Point {
	p := Point{X: x, By: by, Verdict: Illegal}
	var err error
	if c.By.ID == "" {
		p.Setup, err = knob.Turn(c.Setup, c.X.ID, x, c.Locks)
	} else {
		p.Setup, err = knob.TurnBoth(c.Setup, c.X.ID, x, c.By.ID, by, c.Locks)
	}
	if err != nil {
		p.Why = err.Error()
		_, p.Contradicts = errors.AsType[*knob.ContradictionError](err)
	}
	return p
}

// Spread is how far a number goes among the legal points of a scan.
type Spread struct{ Low, High int }

// GPUs returns the spread of the number of GPUs; zero where no point is legal.
func (g *Grid) GPUs() Spread { return g.spread(func(s *engine.Setup) int { return s.GPUs }) }

// Batch returns the spread of the global batch, in sequences; zero where no point is legal.
func (g *Grid) Batch() Spread { return g.spread(func(s *engine.Setup) int { return s.GBS }) }

func (g *Grid) spread(of func(*engine.Setup) int) (out Spread) {
	for _, row := range g.Rows {
		for i := range row {
			if row[i].Verdict == Illegal {
				continue
			}
			n := of(&row[i].Setup)
			out.Low, out.High = cmp.Or(min(out.Low, n), n), max(out.High, n)
		}
	}
	return out
}

// ask evaluates a point; false when it was stopped.
func (c *Query) ask(e *engine.Evaluator, p *Point, unit *record.Unit, stop func() bool) bool {
	p.Current = p.Setup == c.Setup
	r, done := e.EvaluateUntil(p.Setup, stop)
	if !done || stop != nil && stop() {
		return false
	}
	if !r.Legal {
		p.Why = firstError(r.Problems)
		return true
	}
	p.Verdict, p.Tight = Fits, r.Memory.Fit == engine.Tight
	if !r.Memory.Fits {
		p.Verdict = DoesNotFit
		if r.Memory.HostOver() > 0 {
			p.Why = r.Memory.Reason
		}
	}
	if f, ok := figures.Find(&r, c.Figure); ok {
		*unit, p.Value = f.Unit, &f.Value
		if of := figures.Evidence(&r, c.Figure); of != nil {
			band := of.ErrorBand
			p.ErrorBand = &band
		}
	}
	return true
}

func firstError(problems []engine.Problem) string {
	for i := range problems {
		if problems[i].Severity == "error" {
			return problems[i].Message
		}
	}
	return "illegal"
}

// ladderTexts returns the values of a knob that are legal on at least one of the
// setups: numbers in ascending order, words in their own.
func ladderTexts(of []engine.Setup, id knob.ID, l knob.Locks) []string {
	var texts []string
	numbers := true
	for _, s := range of {
		for _, step := range knob.Steps(s, id, l) {
			if !slices.Contains(texts, step.Text) {
				texts = append(texts, step.Text)
			}
			_, err := strconv.Atoi(step.Text)
			numbers = numbers && err == nil
		}
	}
	if numbers {
		slices.SortFunc(texts,
			func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	}
	return texts
}
