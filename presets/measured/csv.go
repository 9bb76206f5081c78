package measured

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/presets/input"
)

// Columns of a table of runs that are measurements; every other one is a key of a setup document,
// or a field such as model.layers. A run has one of the first four.
const (
	stepColumn      = "step_seconds"
	tokensColumn    = "tokens_per_second"
	perGPUColumn    = "tokens_per_second_per_gpu"
	tflopsColumn    = "tflops_per_gpu"
	allocatedColumn = "allocated_GiB"
	reservedColumn  = "reserved_GiB"
	nameColumn      = "name"
)

// Columns lists the columns that are measurements.
func Columns() []string {
	return []string{
		stepColumn, tokensColumn, perGPUColumn, tflopsColumn, allocatedColumn, reservedColumn,
		nameColumn,
	}
}

// IsTable reports whether a text begins like a table of runs: a header with a measurement.
func IsTable(text []byte) bool {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	for cell := range strings.SplitSeq(string(line), ",") {
		if slices.Contains(Columns()[:4], strings.Trim(cell, "\" \r\ufeff")) {
			return true
		}
	}
	return false
}

// Cell is what a row says of a key.
type Cell struct{ Key, Value string }

// maxProblems is how many wrong rows of a table are named.
const maxProblems = 50

// ReadTable reads a table of runs as CSV with a header. setup makes a setup of what a row says of
// it. A row that is wrong is left out and named in problems; an error ends the reading and leaves
// the rows before it.
func ReadTable(name string, from io.Reader, e *engine.Evaluator,
	setup func([]Cell) (engine.Setup, error),
) (runs []Run, problems []error, err error) {
	r := csv.NewReader(input.Bounded(from, input.MaxLog))
	r.TrimLeadingSpace, r.Comment = true, '#'
	head, err := r.Read()
	if err != nil {
		return nil, nil, tableError(name, r, err)
	}
	for i := range head {
		head[i] = strings.TrimSpace(strings.TrimPrefix(head[i], "\ufeff"))
		if line, column := r.FieldPos(i); slices.Index(head, head[i]) < i {
			return nil, nil, &input.Error{
				File: name, Line: line, Column: column, Key: head[i],
				Err: errors.New("comes twice in the header"),
			}
		}
	}
	if !slices.ContainsFunc(head, func(h string) bool { return slices.Contains(Columns()[:4], h) }) {
		return nil, nil,
			&input.Error{
				File: name, Line: 1, Column: 1,
				Err: fmt.Errorf("no measurement; the header needs one of %s",
					strings.Join(Columns()[:4], ", ")),
			}
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return runs, problems, nil
		}
		if errors.Is(err, csv.ErrFieldCount) {
			err = nil
			row = slices.Concat(row, make([]string, max(0, len(head)-len(row))))
		}
		if err != nil {
			return runs, problems, tableError(name, r, err)
		}
		if len(runs) == MaxRuns || len(problems) == maxProblems {
			return runs, problems,
				tableError(name, r, fmt.Errorf("more than %d runs, or %d wrong ones", MaxRuns, maxProblems))
		}
		run, err := rowOf(head, row, e, setup)
		line, _ := r.FieldPos(0)
		if run.Name == "" {
			run.Name = fmt.Sprintf("%s:%d", name, line)
		}
		if err != nil {
			problems = append(problems, &input.Error{File: name, Line: line, Column: 1, Err: err})
			continue
		}
		runs = append(runs, run)
	}
}

// tableError gives an error of the CSV library its place.
func tableError(name string, r *csv.Reader, err error) error {
	if errors.Is(err, io.EOF) {
		return &input.Error{
			File: name, Line: 1, Column: 1,
			Err: errors.New("empty: a table of runs has a header"),
		}
	}
	at := &input.Error{File: name, Line: 1, Column: 1, Err: err}
	if wrong := (*csv.ParseError)(nil); errors.As(err, &wrong) {
		at.Line, at.Column, at.Err = wrong.Line, max(wrong.Column, 1), wrong.Err
	} else if r.InputOffset() > 0 {
		at.Line, _ = r.FieldPos(0)
	}
	return at
}

// mostMeasured is the largest value of a measured column.
const mostMeasured = 1e15

// rowOf returns the run of a row of at least as many cells as the header.
func rowOf(head, row []string, e *engine.Evaluator, setup func([]Cell) (engine.Setup, error)) (run Run,
	err error,
) {
	if len(row) > len(head) {
		return run, fmt.Errorf("%d cells, and the header has %d: a number has no commas for thousands",
			len(row), len(head))
	}
	values, cells := map[string]float64{}, []Cell{}
	for i, key := range head {
		text := strings.TrimSpace(row[i])
		switch {
		case text == "" || key == "":
		case key == nameColumn:
			run.Name = text
		case slices.Contains(Columns(), key):
			if _, err := input.Text([]byte(text)); err != nil {
				return run, err
			}
			v, err := strconv.ParseFloat(text, 64)
			if tooLarge := v > mostMeasured; tooLarge || err != nil || !(v > 0) {
				wrong := &knob.ValueError{
					Field: key, Given: text,
					Allowed: fmt.Sprintf("a number above 0, at most %v", mostMeasured),
				}
				if tooLarge {
					wrong.Nearest = fmt.Sprint(mostMeasured)
				}
				return run, wrong
			}
			values[key] = v
		default:
			if _, err := input.Text([]byte(text)); err != nil {
				return run, err
			}
			cells = append(cells, Cell{key, text})
		}
	}
	if run.Setup, err = setup(cells); err != nil {
		return run, err
	}
	run.Allocated, run.Reserved = values[allocatedColumn], values[reservedColumn]
	run.Seconds = seconds(values, &run.Setup, e)
	return run, nil
}

// seconds returns the step time that a row gives, directly or by throughput. TFLOP/s count as the
// setup's --mfu does.
func seconds(values map[string]float64, s *engine.Setup, e *engine.Evaluator) float64 {
	tokens := float64(s.GBS) * float64(s.Seq)
	switch {
	case values[stepColumn] > 0:
		return values[stepColumn]
	case values[tokensColumn] > 0:
		return tokens / values[tokensColumn]
	case values[perGPUColumn] > 0:
		return tokens / float64(s.GPUs) / values[perGPUColumn]
	case values[tflopsColumn] > 0:
		if r := e.Evaluate(*s); r.Throughput != nil && r.Time != nil {
			return float64(r.Time.Step) * r.Throughput.ModelTFLOPSPerGPU / values[tflopsColumn]
		}
	}
	return 0
}
