package logs

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// WarmUp is how many iterations at the start of a job do not count: kernels are tuned and
// compiled, buffers grow. The first line never counts, whatever it averages over.
const WarmUp = 5

// Bounds of a job that is measured.
const (
	leastLines = 3 // after the warm-up
	jump       = 5 // times the median, or a part of it: the clock was set, or the job stood still
)

// Measured is the step time of a job.
type Measured struct {
	Seconds float64 // median
	Spread  float64 // median of |seconds / median - 1|
	Lines   int     // that count
	Warm    int     // lines of the warm-up
}

// Errors of jobs that have no step time.
var (
	ErrNothing = errors.New("no iteration of a known launcher")
	ErrFew     = fmt.Errorf("fewer than %d iterations were logged after the warm-up", leastLines)
)

// CrashError reports a job that ended by itself.
type CrashError struct {
	Line int
	OOM  bool
}

// Error says where.
func (e *CrashError) Error() string {
	if e.OOM {
		return fmt.Sprintf("line %d: out of memory", e.Line)
	}
	return fmt.Sprintf("line %d: the job crashed before its first iteration", e.Line)
}

// Batch is what turns throughput into time: sequences per iteration, tokens per sequence, GPUs.
type Batch struct{ GBS, Seq, GPUs int }

// step returns the seconds of an iteration; 0: the line does not say them.
func (b Batch) step(s *Sample) float64 {
	switch {
	case s.Seconds != 0:
		return s.Seconds
	case s.TokensPerGPU > 0:
		return float64(b.GBS) * float64(b.Seq) / float64(b.GPUs) / s.TokensPerGPU
	case s.Samples > 0:
		return float64(b.GBS) / s.Samples
	}
	return 0
}

// Measure returns the median step time of a job after its warm-up, and the lines that were left
// out with the reason.
func (j *Job) Measure(b Batch) (m Measured, left []Problem, err error) {
	switch {
	case j.OOM > 0:
		return m, nil, &CrashError{j.OOM, true}
	case len(j.Samples) == 0 && j.Crash > 0:
		return m, nil, &CrashError{j.Crash, false}
	case len(j.Samples) == 0:
		return m, nil, ErrNothing
	}
	leave := func(s *Sample, format string, args ...any) {
		if len(left) < maxProblems {
			left = append(left, Problem{s.Line, fmt.Sprintf(format, args...)})
		}
	}
	var steps, all []float64
	var counted []*Sample
	for i := range j.Samples {
		s := &j.Samples[i]
		t := b.step(s)
		switch {
		case i == 0 || s.Iteration < j.Samples[0].Iteration+WarmUp:
			m.Warm++
		case s.Batch > 0 && math.Abs(s.Batch/float64(b.GBS)-1) > 0.005: // nanotron rounds it
			leave(s, "global batch %.0f, the setup has %d: left out", s.Batch, b.GBS)
		case !(t > 0):
			leave(s, "%.4g s for an iteration: left out, the clock was set", t)
		default:
			all, counted = append(all, t), append(counted, s)
		}
	}
	middle := median(all)
	for i, t := range all {
		if t > jump*middle || t < middle/jump {
			leave(counted[i],
				"%.4g s where the median is %.4g: left out, the clock was set or the job stood still", t,
				middle)
			continue
		}
		steps = append(steps, t)
	}
	if len(steps) < leastLines {
		return m, left, ErrFew
	}
	m.Seconds, m.Lines = median(steps), len(steps)
	for i := range steps {
		steps[i] = math.Abs(steps[i]/m.Seconds - 1)
	}
	m.Spread = median(steps)
	return m, left, nil
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	n := len(sorted)
	return (sorted[n/2] + sorted[(n-1)/2]) / 2
}
