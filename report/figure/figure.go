// Package figure writes numbers for people: few digits, a unit, the same width
// from one step to the next. Exact values are the business of JSON.
package figure

import (
	"math"
	"strconv"
	"strings"

	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Unknown stands where a figure cannot be had.
const Unknown = "n/a"

// Comma writes a whole number with commas: 16,384.
func Comma(n int) string { return record.Thousands(strconv.Itoa(n)) }

// prefix is a unit from so much on.
type prefix struct {
	size float64
	name string
}

// reached returns the first of some prefixes that a value reaches, else the last.
func reached(v float64, list ...prefix) prefix {
	for _, p := range list {
		if v >= p.size {
			return p
		}
	}
	return list[len(list)-1]
}

// Short writes a count with a prefix: 70.6 B, 4.19 M, 8,192.
func Short(v float64) string {
	if !ok(v) {
		return Unknown
	}
	p := reached(math.Abs(v), prefix{1e15, " P"}, prefix{1e12, " T"}, prefix{1e9, " B"}, prefix{1e6, " M"},
		prefix{1, ""})
	if p.name == "" {
		return Comma(int(math.Round(v)))
	}
	return Three(v/p.size) + p.name
}

// Three writes a number with three significant digits: 1.23, 12.3, 123, 1,234.
func Three(v float64) string {
	if !ok(v) {
		return Unknown
	}
	switch a := math.Abs(v); {
	case a >= 99.95:
		return Comma(int(math.Round(v)))
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// GiB writes memory in GiB with one digit behind the point.
func GiB(b units.Bytes) string {
	v := b.GiB()
	if !ok(v) {
		return Unknown
	}
	if math.Abs(v) >= 999.95 {
		return Comma(int(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// Percent writes a fraction as a percentage with one digit behind the point.
func Percent(f float64) string { return PercentValue(f) + " %" }

// PercentValue is Percent without its sign.
func PercentValue(f float64) string {
	if !ok(f) {
		return Unknown
	}
	v := 100 * f
	if math.Abs(v) >= 999.5 {
		return Comma(int(math.Round(v)))
	}
	if a := math.Abs(v); a >= 0.005 && a < 0.1 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// Seconds writes a duration with its unit: 72.1 s, 350 ms, 12.4 h.
func Seconds(s units.Seconds) string {
	v := float64(s)
	switch a := math.Abs(v); {
	case !ok(v):
		return Unknown
	case v == 0:
		return "0 s"
	case a < 999.5e-6:
		return Three(v*1e6) + " us"
	case a < 0.9995:
		return Three(v*1e3) + " ms"
	case a < 3600:
		return Three(v) + " s"
	case a < 100*3600:
		return Three(v/3600) + " h"
	default:
		return Three(v/86400) + " days"
	}
}

// Days writes a time in days.
func Days(d float64) string { return Three(d) + " days" }

// Dollars writes an amount of money: $1.28 M.
func Dollars(v float64) string {
	if !ok(v) {
		return Unknown
	}
	return "$" + Short(v)
}

// Energy writes kilowatt-hours with a prefix.
func Energy(kwh float64) string {
	p := reached(kwh, prefix{1e6, " GWh"}, prefix{1e3, " MWh"}, prefix{1, " kWh"})
	if !ok(kwh) {
		return Unknown
	}
	return Three(kwh/p.size) + p.name
}

// Signed writes a change with its sign: +2.1, -0.4.
func Signed(v float64, digits int) string {
	if !ok(v) {
		return Unknown
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if v > 0 {
		return "+" + s
	}
	return s
}

// Change returns the text of a change with its sign; one that is too small to be seen has none.
func Change(text string, v float64) string {
	switch {
	case !strings.ContainsAny(text, "123456789"):
		return strings.TrimPrefix(text, "-")
	case v > 0:
		return "+" + text
	}
	return text
}

// Traffic writes bytes of traffic in decimal units.
func Traffic(b units.Bytes) string {
	v := float64(b)
	switch {
	case !ok(v):
		return Unknown
	case v == 0:
		return "0 B"
	}
	p := reached(v, prefix{1e12, " TB"}, prefix{1e9, " GB"}, prefix{1e6, " MB"}, prefix{1e3, " kB"})
	return Three(v/p.size) + p.name
}

func ok(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Round writes a figure without the zeros behind its point: those of a round value next to an axis.
func Round(text string) string {
	number, unit, spaced := strings.Cut(text, " ")
	if strings.Contains(number, ".") && !strings.Contains(number, "e") {
		number = strings.TrimSuffix(strings.TrimRight(number, "0"), ".")
	}
	if !spaced {
		return number
	}
	return number + " " + unit
}
