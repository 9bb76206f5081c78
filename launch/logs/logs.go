// Package logs reads what launchers print while they train: time, throughput and memory of the
// iterations, and the setup where the log has it. It executes nothing and keeps what it understood
// of a log that breaks off.
package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"meshscope/presets/input"
)

// SetupMark begins the line on which a job says its setup, a JSON setup document.
const SetupMark = "meshscope-setup:"

// Bounds of one log.
const (
	maxJobs      = 1000
	maxArguments = 4000
	maxProblems  = 50
)

// Sample is what one line says. What it does not say is 0.
type Sample struct {
	Line         int
	Iteration    float64
	Seconds      float64 // per iteration
	TokensPerGPU float64 // per second
	Samples      float64 // sequences per second
	Batch        float64 // sequences per iteration
	TFLOPs       float64 // per second and GPU, as the launcher counts them

	Allocated, Reserved, Device float64 // GiB, peaks
}

// Job is what one job of a log printed.
type Job struct {
	Line      int    // where it begins
	Launcher  string // empty: no line of a known launcher
	Setup     []byte // what follows SetupMark; nil: nothing
	SetupLine int
	// Arguments are those that Megatron-LM prints, by name, with their values as printed.
	Arguments map[string]string
	Samples   []Sample
	OOM       int // line of an allocation that failed; 0: none
	Crash     int // line of the first traceback; 0: none
	// Restart says that the job goes on with the setup of the one before it.
	Restart bool

	Allocated, Reserved, Device float64 // GiB, most of any line; 0: not printed

	rank string // of the lines that count: the first that prints an iteration
}

// Problem is a line that says something about the log itself.
type Problem struct {
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// Read reads a log. Its jobs are in their order; an error ends the reading and leaves what was
// read before it.
func Read(name string, from io.Reader) ([]Job, []Problem, error) {
	r := &reader{name: name, formats: formats(), jobs: []Job{{Line: 1}}}
	err := input.Lines(input.Bounded(from, input.MaxLog), r.line)
	if err == nil {
		err = r.err
	}
	var jobs []Job
	for i := range r.jobs {
		if j := &r.jobs[i]; j.Setup != nil || j.Arguments != nil || len(j.Samples) > 0 || j.OOM > 0 ||
			j.Crash > 0 {
			jobs = append(jobs, *j)
		}
	}
	if err != nil && r.err == nil {
		err = &input.Error{File: name, Line: r.at, Column: 1, Err: err}
	}
	return jobs, r.problems, err
}

type reader struct {
	name     string
	formats  []format
	jobs     []Job
	problems []Problem
	err      error
	at       int // line
	inside   bool
	odd      bool // a line was no UTF-8
}

func (r *reader) job() *Job { return &r.jobs[len(r.jobs)-1] }

func (r *reader) tellf(format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{r.at, fmt.Sprintf(format, args...)})
	}
}

// begin starts a job at this line, unless the current one has said nothing yet.
func (r *reader) begin(restart bool) bool {
	if len(r.jobs) == maxJobs {
		r.err = &input.Error{
			File: r.name, Line: r.at, Column: 1,
			Err: fmt.Errorf("more than %d jobs", maxJobs),
		}
		return false
	}
	r.jobs = append(r.jobs, Job{Line: r.at, Restart: restart})
	return true
}

// line reads one line.
func (r *reader) line(line []byte, tooLong bool) bool {
	r.at++
	if tooLong {
		r.tellf("longer than %d bytes: not read", input.MaxDocument)
		return true
	}
	if _, err := input.Text(line); err != nil && !r.text(line, err) {
		return false
	}
	for part := range bytes.SplitSeq(line, []byte("\r")) { // progress bars
		if !r.part(plain(part)) {
			return false
		}
	}
	return true
}

// text reports whether a line that is no UTF-8 is still one of a log: a broken character is, a
// zero byte or another format is not.
func (r *reader) text(line []byte, err error) bool {
	wrong, _ := errors.AsType[*input.Error](err)
	if wrong == nil || bytes.IndexByte(line, 0) >= 0 || r.at == 1 && wrong.Line == 0 {
		r.err = &input.Error{File: r.name, Line: r.at, Column: max(1, column(wrong)), Err: errors.Unwrap(err)}
		return false
	}
	if !r.odd {
		r.odd = true
		r.tellf("column %d: not UTF-8; such characters are skipped", column(wrong))
	}
	return true
}

func column(e *input.Error) int {
	if e == nil {
		return 0
	}
	return e.Column
}

// plain drops the colours of a terminal.
func plain(line []byte) string {
	if bytes.IndexByte(line, 0x1b) < 0 {
		return string(line)
	}
	return ansi.Strip(string(line))
}

// part reads a line without what a terminal would hide.
func (r *reader) part(line string) bool {
	if _, setup, ok := strings.Cut(line, SetupMark); ok {
		if j := r.job(); j.Setup != nil || len(j.Samples) > 0 || j.OOM > 0 || j.Crash > 0 {
			if !r.begin(false) {
				return false
			}
		}
		r.job().Setup, r.job().SetupLine = []byte(strings.TrimSpace(setup)), r.at
		return true
	}
	if more, taken := r.argument(line); taken {
		return more
	}
	switch j := r.job(); {
	case j.OOM == 0 &&
		(strings.Contains(line, "OutOfMemoryError") || strings.Contains(line, "CUDA out of memory")):
		j.OOM = r.at
	case j.Crash == 0 && strings.Contains(line, "Traceback (most recent call last)"):
		j.Crash = r.at
	}
	for i := range r.formats {
		if f := &r.formats[i]; strings.Contains(line, f.mark) &&
			(f.not == "" || !strings.Contains(line, f.not)) {
			return r.sample(f, line)
		}
	}
	return true
}

// vocabulary is the argument that a tokenizer may give instead.
const vocabulary = "vocab_size"

// argument reads the arguments that Megatron-LM prints when it starts (megatron/training/
// arguments.py, _print_args): a name, dots, a value.
func (r *reader) argument(line string) (more, taken bool) {
	switch {
	case strings.Contains(line, "--- end of arguments ---"):
		r.inside = false
		return true, true
	case strings.Contains(line, "--- arguments ---"):
		if j := r.job(); j.Arguments != nil || len(j.Samples) > 0 || j.OOM > 0 || j.Crash > 0 {
			if !r.begin(false) {
				return false, true
			}
		}
		r.job().Arguments, r.inside = map[string]string{}, true
		return true, true
	case !r.inside:
		// the tokenizer is built after they are printed
		if j := r.job(); j.Arguments != nil && j.Arguments[vocabulary] == "None" {
			if v, ok := number(line, "padded vocab (size:"); ok && v > 0 {
				j.Arguments[vocabulary] = strconv.FormatFloat(v, 'f', 0, 64)
				return true, true
			}
		}
		return true, false
	}
	name, value, ok := strings.Cut(line, " ..")
	if words := strings.Fields(name); ok && len(words) > 0 && len(r.job().Arguments) < maxArguments {
		r.job().Arguments[words[len(words)-1]] = strings.TrimSpace(strings.TrimLeft(value, "."))
		return true, true
	}
	return true, false
}

// sample reads a line of a format. Of several ranks that print the same line the first counts.
func (r *reader) sample(f *format, line string) bool {
	s := Sample{Line: r.at}
	for _, one := range f.fields {
		if v, ok := number(line, one.after); ok {
			*one.into(&s) = v * one.times
		}
	}
	j := r.job()
	if s.Iteration > 0 && (s.Seconds != 0 || s.TokensPerGPU != 0 || s.Samples != 0) {
		rank := rankOf(line)
		switch last := len(j.Samples) - 1; {
		case last < 0:
			j.Launcher, j.rank = f.launcher, rank
		case f.launcher != j.Launcher || rank != j.rank || s.Iteration == j.Samples[last].Iteration:
			return true
		case s.Iteration < j.Samples[last].Iteration:
			r.tellf("the iteration goes back from %.0f to %.0f: another job begins",
				j.Samples[last].Iteration, s.Iteration)
			if !r.begin(true) {
				return false
			}
			j = r.job()
			j.Launcher, j.rank = f.launcher, rank
		}
		j.Samples = append(j.Samples, s)
	}
	j.Allocated, j.Reserved, j.Device = max(j.Allocated, s.Allocated), max(j.Reserved, s.Reserved),
		max(j.Device, s.Device)
	return true
}

// rankOf returns the rank that a line begins with, as torchrun and srun --label write it; empty:
// none.
func rankOf(line string) string {
	word, _, ok := strings.Cut(strings.TrimSpace(line), ":")
	if !ok || len(word) > 16 {
		return ""
	}
	digits := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(word, "[default"), "[rank"), "]")
	if _, err := strconv.Atoi(digits); err != nil {
		return ""
	}
	return word
}

// number returns the number after a text of a line. Thousands may be separated by commas, and K,
// M, B and T after it multiply it.
func number(line, after string) (float64, bool) {
	at := strings.Index(line, after)
	if at < 0 {
		return 0, false
	}
	rest := strings.TrimLeft(line[at+len(after):], " \ts:")
	end := 0
	for end < len(rest) && strings.IndexByte("0123456789.,+-eE", rest[end]) >= 0 {
		end++
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimRight(rest[:end], ",.eE+-"), ",", ""), 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, false
	}
	if rest = rest[end:]; rest != "" && (len(rest) == 1 || !letter(rest[1])) {
		if i := strings.IndexByte("KMBT", rest[0]); i >= 0 {
			v *= math.Pow(1000, float64(i+1))
		}
	}
	return v, true
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
