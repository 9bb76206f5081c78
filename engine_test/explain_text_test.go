package engine_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine/record"
	"meshscope/engine_test/draws"

	"pgregory.net/rapid"
)

// interval is a number that was written with a few digits: what was meant lies
// in it.
type interval struct{ low, high float64 }

// reader evaluates the text of an explanation's numbers as a reader would.
type reader struct {
	rest string
	err  error
}

// quantity is a number with its unit.
var quantity = regexp.MustCompile(
	`^(-?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?(?:e[+-][0-9]+)?)( (?:GiB|MiB|KiB|GB|MB|kB|B|TB/s|GB/s|B/s|TFLOP/s|FLOP/s|TFLOP|GFLOP|MFLOP|FLOP|tokens/s|hours|days|USD|kWh|W|ms|us|s|%)\b| %)?(/s)?`,
)

func unitOf(word string, of record.Unit) float64 {
	scale := map[string]float64{
		"": 1, "B": 1, "s": 1, "FLOP": 1, "FLOP/s": 1, "B/s": 1, "tokens/s": 1, "%": 0.01,
		"hours": 1, "days": 1, "USD": 1, "kWh": 1, "W": 1,
		"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "GB": 1e9, "MB": 1e6, "kB": 1e3, "TB/s": 1e12,
		"GB/s":  1e9,
		"TFLOP": 1e12, "GFLOP": 1e9, "MFLOP": 1e6, "TFLOP/s": 1e12, "ms": 1e-3, "us": 1e-6,
	}[word]
	if of == record.TFLOPS && word == "TFLOP/s" {
		return 1
	}
	return scale
}

func (r *reader) fail(format string, args ...any) interval {
	if r.err == nil {
		r.err = fmt.Errorf(format+" at %q", append(args, r.rest)...)
	}
	r.rest = ""
	return interval{}
}

func (r *reader) takes(s string) bool {
	var ok bool
	r.rest, ok = strings.CutPrefix(r.rest, s)
	return ok
}

func (r *reader) sum() interval {
	v := r.product()
	for r.err == nil {
		switch {
		case r.takes(" + "):
			w := r.product()
			v = interval{v.low + w.low, v.high + w.high}
		case r.takes(" - "):
			w := r.product()
			v = interval{v.low - w.high, v.high - w.low}
		default:
			return v
		}
	}
	return v
}

func (r *reader) product() interval {
	v := r.raised()
	for r.err == nil {
		switch {
		case r.takes(" x "):
			v = corners(v, r.raised(), func(a, b float64) float64 { return a * b })
		case r.takes(" / "):
			v = corners(v, r.raised(), func(a, b float64) float64 { return a / b })
		default:
			return v
		}
	}
	return v
}

func (r *reader) raised() interval {
	v := r.atom()
	if r.takes("^") {
		return corners(v, r.atom(), math.Pow)
	}
	return v
}

// corners is an operation that is monotone in both operands.
func corners(v, w interval, f func(a, b float64) float64) interval {
	a, b, c, d := f(v.low, w.low), f(v.low, w.high), f(v.high, w.low), f(v.high, w.high)
	return interval{min(a, b, c, d), max(a, b, c, d)}
}

func (r *reader) atom() interval {
	if r.takes("(") {
		v := r.sum()
		if !r.takes(")") {
			return r.fail("bracket not closed")
		}
		return v
	}
	for _, name := range []string{"max", "min", "ceil", "log2"} {
		if r.takes(name + "(") {
			return r.call(name)
		}
	}
	m := quantity.FindStringSubmatch(r.rest)
	if m == nil {
		return r.fail("no number")
	}
	r.rest = r.rest[len(m[0]):]
	v, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
	scale := unitOf(strings.TrimSpace(m[2])+m[3], "")
	if err != nil || scale == 0 {
		return r.fail("number %q", m[0])
	}
	slack := 0.0
	if strings.ContainsAny(m[1], ".e") || m[2] != "" { // whole numbers without a unit are exact
		slack = math.Abs(v) * 1e-5
	} else if math.Abs(v) >= 1e5 {
		slack = 0.5 // of six digits none is left behind the point: 126,797.6 bytes are written 126,798
	}
	return interval{(v - slack) * scale, (v + slack) * scale}
}

func (r *reader) call(name string) interval {
	v := r.sum()
	for r.takes(", ") {
		w := r.sum()
		if name == "max" {
			v = interval{max(v.low, w.low), max(v.high, w.high)}
		} else {
			v = interval{min(v.low, w.low), min(v.high, w.high)}
		}
	}
	if !r.takes(")") {
		return r.fail("%s( not closed", name)
	}
	switch name {
	case "ceil":
		return interval{math.Ceil(v.low), math.Ceil(v.high)}
	case "log2":
		return interval{math.Log2(v.low), math.Log2(v.high)}
	}
	return v
}

// What is written can be worked out by hand: the numbers as printed, brackets
// and all, give the result within their last digit.
func TestExplanationsCanBeWorkedOutByHand(t *testing.T) {
	whole := wholeWorld()
	draws.CheckFew(t, 8, func(t *rapid.T) {
		s, ok := whole.likely(t)
		for range 20 {
			if ok {
				break
			}
			s, ok = whole.likely(t)
		}
		if !ok {
			t.Skip("no legal setup drawn")
		}
		b := book(t, s)
		for _, id := range b.IDs() {
			if !strings.Contains(id, ".") {
				t.Fatalf("%s has no dot: the command line takes it for no figure", id)
			}
			e, _ := b.Explain(id)
			r := reader{rest: e.Numbers}
			v := r.sum()
			if r.err != nil || r.rest != "" {
				t.Fatalf("%s cannot be read: %v, left %q\n%s", id, r.err, r.rest, e.Numbers)
			}
			slack := 1e-9*math.Abs(e.Result) + 1e-15
			if math.IsNaN(v.low) || e.Result < v.low-slack || e.Result > v.high+slack {
				t.Fatalf("%s: read as %g to %g, the result is %g\n%s", id, v.low, v.high, e.Result, e.Numbers)
			}
		}
	})
}
