package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Fine writes a figure with its unit for a table: more digits than a sentence has, and
// as many behind the point in every row.
func Fine(u record.Unit, v float64) string {
	switch u {
	case record.Memory:
		return strconv.FormatFloat(units.Bytes(v).GiB(), 'f', 2, 64) + " GiB"
	case record.Traffic:
		return strconv.FormatFloat(units.Bytes(v).GB(), 'f', 3, 64) + " GB"
	case record.Seconds:
		return FineSeconds(units.Seconds(v))
	case record.Share:
		return FinePercent(v)
	case record.Tokens:
		return FineCount(v)
	case record.TFLOPS:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case record.Count:
		return Trim(v)
	default:
		return u.Text(v)
	}
}

// FineCount writes a count with two digits behind the point: 70.55 B, 4.19 M, 909.
func FineCount(n float64) string {
	for _, unit := range []struct {
		from, size float64
		name       string
	}{{1e12, 1e12, " T"}, {1e9, 1e9, " B"}, {1e6, 1e6, " M"}, {1e4, 1e3, " k"}} {
		if math.Abs(n) >= unit.from {
			return record.Thousands(strconv.FormatFloat(n/unit.size, 'f', 2, 64)) + unit.name
		}
	}
	return strconv.FormatFloat(n, 'f', 0, 64)
}

// FinePercent writes a fraction as 41.30 %. What is less than the whole never reads as
// the whole.
func FinePercent(fraction float64) string {
	const most = 14 // digits that a float64 has behind those of 99
	for digits := 2; ; digits++ {
		text := strconv.FormatFloat(100*fraction, 'f', digits, 64)
		if fraction >= 1 || digits == most || !strings.HasPrefix(text, "100") {
			return text + " %"
		}
	}
}

// FineSeconds writes 14.910 s, 3.20 ms, 12.0 us.
func FineSeconds(t units.Seconds) string {
	switch abs := math.Abs(float64(t)); {
	case abs == 0:
		return "0"
	case abs < 1e-3:
		return fmt.Sprintf("%.1f us", float64(t)*1e6)
	case abs < 1:
		return fmt.Sprintf("%.2f ms", float64(t)*1e3)
	}
	return fmt.Sprintf("%.3f s", float64(t))
}

// Headline writes a time with four significant digits: 63.97 s, 467.2 ms.
func Headline(t units.Seconds) string {
	v, unit := float64(t), " s"
	switch abs := math.Abs(v); {
	case !ok(v):
		return Unknown
	case abs == 0:
		return "0 s"
	case abs < 999.95e-6:
		v, unit = v*1e6, " us"
	case abs < 0.99995:
		v, unit = v*1e3, " ms"
	}
	digits := 3
	for size := math.Abs(v); size >= 9.9995 && digits > 0; size /= 10 {
		digits--
	}
	return record.Thousands(strconv.FormatFloat(v, 'f', digits, 64)) + unit
}

// Trim writes a number without needless digits: 2, 1.5, 0.333.
func Trim(n float64) string {
	const small, digits = 0.1, 3
	if n != 0 && math.Abs(n) < small {
		return strconv.FormatFloat(n, 'g', digits, 64)
	}
	return strconv.FormatFloat(math.Round(n*1000)/1000, 'g', -1, 64)
}

// Digits writes a number with all its digits, without a power of ten where people read
// it: bytes and tokens.
func Digits(v float64) string {
	if a := math.Abs(v); a >= 1 && a < 1e21 || v == 0 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
