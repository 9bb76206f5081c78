package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/units"
)

// name is the first name that is not empty.
func name(names ...string) string {
	for _, n := range names {
		if n != "" {
			return escape.Line(n)
		}
	}
	return "unnamed"
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// plural is "1 node", "8 nodes", "2 micro-batches".
func plural(n int, what string) string {
	ending := "s"
	if strings.HasSuffix(what, "ch") {
		ending = "es"
	}
	if n == 1 {
		ending = ""
	}
	return commas(n) + " " + what + ending
}

// commas is 16,384.
func commas(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// count is 70.55 B, 4.19 M, 909.
func count(n float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, " T"}, {1e9, " B"}, {1e6, " M"}, {1e4, " k"}} {
		if math.Abs(n) >= unit.size {
			size := unit.size
			if unit.name == " k" {
				size = 1e3
			}
			return grouped(strconv.FormatFloat(n/size, 'f', 2, 64)) + unit.name
		}
	}
	return strconv.FormatFloat(n, 'f', 0, 64)
}

// percent is 41.30 %. What is less than the whole never reads as the whole.
func percent(fraction float64) string {
	const most = 14 // digits that a float64 has beside those of 99
	for digits := 2; ; digits++ {
		text := strconv.FormatFloat(100*fraction, 'f', digits, 64)
		if fraction >= 1 || digits == most || !strings.HasPrefix(text, "100") {
			return text + " %"
		}
	}
}

// lasting is how long a run may take, in the largest unit of which it is one or more.
func lasting(t units.Seconds) string {
	for _, unit := range []struct {
		size units.Seconds
		name string
	}{{day, "day"}, {3600, "hour"}, {60, "minute"}} {
		if t >= unit.size {
			return several(float64(t/unit.size), unit.name)
		}
	}
	return several(float64(t), "second")
}

// several is 1 day, 1.5 days, 1,024 days.
func several(n float64, what string) string {
	text := trim(n)
	if math.Abs(n) >= 1e4 {
		text = strconv.FormatFloat(n, 'f', 0, 64)
	}
	if text != "1" {
		what += "s"
	}
	return grouped(text) + " " + what
}

// grouped sets commas into the whole part of a number.
func grouped(text string) string {
	whole, rest, point := strings.Cut(text, ".")
	n, err := strconv.Atoi(whole)
	if err != nil { // more digits than that, or no number
		return text
	}
	if point {
		rest = "." + rest
	}
	return commas(n) + rest
}

// room is 4.0 GiB, of less than a tenth in smaller units.
func room(b units.Bytes) string {
	const least = 0.1
	for _, unit := range []struct {
		size units.Bytes
		name string
	}{{units.GiB, "GiB"}, {units.GiB / 1024, "MiB"}} {
		if b >= least*unit.size {
			return fmt.Sprintf("%.1f %s", float64(b/unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%.1f KiB", float64(b/(units.GiB/(1024*1024))))
}

// seconds is 14.91 s, 3.20 ms, 12.0 us.
func seconds(t units.Seconds) string {
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

// trim is a number without needless digits: 2, 1.5, 0.333.
func trim(n float64) string {
	const small, digits = 0.1, 3
	if n != 0 && math.Abs(n) < small {
		return strconv.FormatFloat(n, 'g', digits, 64)
	}
	return strconv.FormatFloat(math.Round(n*1000)/1000, 'g', -1, 64)
}
