package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/presets"
	"meshscope/presets/input"
	"meshscope/presets/setupdoc"
	"meshscope/report"
)

// job is one line of a batch; its answer goes to done.
type job struct {
	line    []byte
	number  int // from 1, empty lines included
	tooLong bool
	done    chan<- []byte
}

// errNoFiles is the error for a line of a batch that names a model file: the lines may
// not be the user's own.
var errNoFiles = errors.New("a line of a batch may name a model file only with --allow-files")

// evalBatch answers every line of a file with one line, in order. Lines are evaluated in
// parallel, one worker per core. With allowFiles, lines may name a model file.
func (a *app) evalBatch(ctx context.Context, name string, flags *setupFlags, allowFiles bool) error {
	lib := a.lib
	if !allowFiles && !flags.gives("model") { // a model of the command line may be a file
		lib = lib.ReadingModels(func(string) ([]byte, error) { return nil, errNoFiles })
	}
	called := name
	if name == "-" {
		called = "standard input"
	}
	in, err := a.open(name)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	l := liner{flags, lib, report.Preface{Notices: a.notices}}
	workers := runtime.GOMAXPROCS(0)
	jobs := make(chan job)
	stop := make(chan struct{}) // closed when nobody takes the answers
	defer close(stop)
	order := make(chan (<-chan []byte), 4*workers)
	for range workers {
		go func() {
			var e engine.Evaluator
			for j := range jobs {
				j.done <- l.answer(ctx, &e, j)
			}
		}()
	}
	readErr := make(chan error, 1)
	go func() {
		number := 0
		err := input.Lines(in, func(line []byte, tooLong bool) bool {
			number++
			done := make(chan []byte, 1)
			select {
			case order <- done:
				jobs <- job{line, number, tooLong, done}
				return true
			case <-stop:
				return false
			}
		})
		if readErr <- err; err == nil && number == 0 {
			a.sayf("meshscope: %s is empty: a batch has a JSON setup on each line\n", escape.Name(called))
		}
		close(jobs)
		close(order)
	}()
	if err := writeInOrder(a.stdout, order); err != nil {
		return err
	}
	return fileError(called, <-readErr)
}

// writeInOrder writes the answers in the order of their lines. It flushes when no other
// line is waiting, so that a caller can send one line and read its answer.
func writeInOrder(to io.Writer, order <-chan (<-chan []byte)) error {
	out := bufio.NewWriter(to)
	for done := range order {
		if _, err := out.Write(append(<-done, '\n')); err != nil {
			return err
		}
		if len(order) == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// liner answers lines.
type liner struct {
	flags   *setupFlags
	lib     *presets.Library
	preface report.Preface
}

// answer returns the answer to one line: a report or an error.
func (l *liner) answer(ctx context.Context, e *engine.Evaluator, j job) (text []byte) {
	defer func() {
		if r := recover(); r != nil {
			*e = engine.Evaluator{} // its scratch memory may be half-written
			text = errorLine(fmt.Errorf("internal error: %v", r), j.number)
		}
	}()
	if j.tooLong {
		return errorLine(&usageError{fmt.Sprintf("line %d is longer than %d bytes", j.number,
			input.MaxDocument)}, j.number)
	}
	doc, err := setupdoc.ParseLine(j.line)
	if err != nil {
		return errorLine(err, j.number)
	}
	b, err := l.flags.beginOver(doc, l.lib)
	if err != nil {
		return errorLine(err, j.number)
	}
	s, chosen, err := b.Choose(ctx, 1)
	if err != nil {
		return errorLine(err, j.number)
	}
	r := e.Evaluate(s)
	if doc.BatchInSequences() {
		r.Problems = knob.GivenBatch(r.Problems, &s)
	}
	if givesNoGPUs(doc) && r.Legal {
		r.Assumptions = slices.Insert(r.Assumptions, 0, gpusTaken(&s))
	}
	of := report.NewEvaluation(version, s, r)
	of.Chosen = chosen
	text, err = json.Marshal(l.preface.Before(of))
	if err != nil {
		return errorLine(err, j.number)
	}
	return text
}

// lineError is an error as a document.
type lineError struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Field   string   `json:"field,omitempty"`
	Given   string   `json:"given,omitempty"`
	Allowed string   `json:"allowed,omitempty"`
	Nearest []string `json:"nearest,omitempty"`
	Line    int      `json:"line"`             // of the file, from 1
	Column  int      `json:"column,omitempty"` // of the line, from 1
}

// errorLine returns an error as the answer to a line. The parser saw a document of one
// line, so its line number becomes that of the file.
func errorLine(err error, number int) []byte {
	if document := (*input.Error)(nil); errors.As(err, &document) && document.File == "" &&
		document.Line > 0 {
		document.Line = number
	}
	document := struct {
		SchemaVersion int       `json:"schema_version"`
		Error         lineError `json:"error"`
	}{report.SchemaVersion, newLineError(err, number)}
	text, failed := json.Marshal(document)
	if failed != nil {
		return []byte(
			`{"schema_version":1,"error":{"code":"internal","message":"the error cannot be written"}}`,
		)
	}
	return text
}

func newLineError(err error, number int) lineError {
	out := lineError{Code: "error", Message: err.Error(), Line: number}
	if exitCode(err) == exitUsage {
		out.Code = "usage"
	}
	var (
		value    *knob.ValueError
		conflict *knob.ConflictError
		key      *setupdoc.KeyError
		unknown  *presets.UnknownError
		document *input.Error
	)
	if errors.As(err, &document) && document.File == "" {
		out.Code, out.Column = "syntax", document.Column
	}
	switch {
	case errors.As(err, &value):
		out.Code, out.Field, out.Given, out.Allowed = "value", escape.Clip(value.Field),
			escape.Clip(value.Given), value.Allowed
		if value.Nearest != "" {
			out.Nearest = []string{value.Nearest}
		}
	case errors.As(err, &conflict):
		out.Code, out.Field = "contradiction", strings.Join(conflict.Fields[:], ",")
	case errors.As(err, &key):
		out.Code, out.Field, out.Nearest = "unknown-key", escape.Clip(key.Key), key.Nearest
		switch {
		case key.Twice:
			out.Code = "key-twice"
		case key.Beside != "":
			out.Code = "misplaced-key"
		case key.Instead != "":
			out.Code, out.Nearest = "key-without-effect", []string{key.Instead}
		case key.Names != "":
			out.Code, out.Nearest = "fixed-key", []string{key.Names}
		}
	case errors.Is(err, errNoFiles):
		out.Code, out.Field, out.Allowed = "forbidden", "model", "an id of 'presets models'"
	case errors.As(err, &unknown):
		out.Code, out.Field, out.Given, out.Nearest = "unknown-id", strings.ToLower(unknown.Kind),
			escape.Clip(unknown.ID), unknown.Nearest
	}
	return out
}
