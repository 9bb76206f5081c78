package record

import (
	"math"
	"strconv"
	"strings"
)

// Unit is what a figure is measured in; values are always in the base unit.
type Unit string

// Units. Memory is written in powers of 1024, traffic in powers of 1000.
const (
	Count     Unit = ""
	Share     Unit = "share" // of 1
	Memory    Unit = "bytes"
	Traffic   Unit = "bytes sent"
	Seconds   Unit = "seconds"
	FLOPs     Unit = "FLOP"
	Rate      Unit = "FLOP/s"
	TFLOPS    Unit = "TFLOP/s" // where the report has it in this unit
	Bandwidth Unit = "bytes/s"
	Tokens    Unit = "tokens/s"
	Days      Unit = "days"
	Hours     Unit = "hours"
	Dollars   Unit = "USD"
	Watts     Unit = "W"
	Energy    Unit = "kWh"
)

type prefix struct {
	size float64
	name string
}

// Text writes a value with its unit, with about six digits.
func (u Unit) Text(v float64) string {
	switch u {
	case Share:
		return digits(100*v) + " %"
	case Memory:
		return scale(v, " B", prefix{1 << 30, " GiB"}, prefix{1 << 20, " MiB"}, prefix{1 << 10, " KiB"})
	case Traffic:
		return scale(v, " B", prefix{1e9, " GB"}, prefix{1e6, " MB"}, prefix{1e3, " kB"})
	case Seconds:
		return small(v)
	case FLOPs:
		return scale(v, " FLOP", prefix{1e12, " TFLOP"}, prefix{1e9, " GFLOP"}, prefix{1e6, " MFLOP"})
	case Rate:
		return scale(v, " FLOP/s", prefix{1e12, " TFLOP/s"})
	case Bandwidth:
		return scale(v, " B/s", prefix{1e12, " TB/s"}, prefix{1e9, " GB/s"})
	case TFLOPS, Tokens, Days, Hours, Dollars, Watts, Energy:
		return digits(v) + " " + string(u)
	default:
		return digits(v)
	}
}

func scale(v float64, base string, prefixes ...prefix) string {
	for _, p := range prefixes {
		if math.Abs(v) >= p.size {
			return digits(v/p.size) + p.name
		}
	}
	return digits(v) + base
}

func small(v float64) string {
	const rounding = 1e-12 // what is left of a difference of two equal times
	switch a := math.Abs(v); {
	case a < rounding:
		return "0 s"
	case a < 1e-3:
		return digits(v*1e6) + " us"
	case a < 1:
		return digits(v*1e3) + " ms"
	default:
		return digits(v) + " s"
	}
}

// digits writes whole numbers in full, with commas, and others with six
// significant digits.
func digits(v float64) string {
	a := math.Abs(v)
	if v == math.Trunc(v) && a < 1e15 {
		return Thousands(strconv.FormatFloat(v, 'f', 0, 64))
	}
	if a >= 1e15 || a < 1e-4 {
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	whole := len(strconv.FormatFloat(math.Trunc(a), 'f', 0, 64))
	if a < 1 {
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	s := strconv.FormatFloat(v, 'f', max(6-whole, 0), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return Thousands(s)
}

// Thousands sets commas into the whole part of a number in digits; other texts stay.
func Thousands(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, fraction, point := strings.Cut(s, ".")
	if strings.Trim(whole, "0123456789") != "" {
		return sign + s
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		whole += "." + fraction
	}
	return sign + whole
}
