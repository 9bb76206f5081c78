// Package figure writes numbers for people: few digits, a unit, the same width
// from one step to the next. Exact values are the business of JSON.
package figure

import (
	"math"
	"strconv"
	"strings"

	"meshscope/engine/units"
)

// Unknown stands where a figure cannot be had.
const Unknown = "n/a"

// Comma writes a whole number with commas: 16,384.
func Comma(n int) string {
	s := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, r := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Short writes a count with a prefix: 70.6 B, 4.19 M, 8,192.
func Short(v float64) string {
	if !ok(v) {
		return Unknown
	}
	for _, p := range []struct {
		size float64
		name string
	}{{1e15, " P"}, {1e12, " T"}, {1e9, " B"}, {1e6, " M"}} {
		if math.Abs(v) >= p.size {
			return Three(v/p.size) + p.name
		}
	}
	return Comma(int(math.Round(v)))
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
	switch {
	case !ok(kwh):
		return Unknown
	case kwh >= 1e6:
		return Three(kwh/1e6) + " GWh"
	case kwh >= 1e3:
		return Three(kwh/1e3) + " MWh"
	default:
		return Three(kwh) + " kWh"
	}
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

// Traffic writes bytes of traffic in decimal units.
func Traffic(b units.Bytes) string {
	v := float64(b)
	switch {
	case !ok(v):
		return Unknown
	case v == 0:
		return "0 B"
	case v >= 1e12:
		return Three(v/1e12) + " TB"
	case v >= 1e9:
		return Three(v/1e9) + " GB"
	case v >= 1e6:
		return Three(v/1e6) + " MB"
	default:
		return Three(v/1e3) + " kB"
	}
}

func ok(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
