package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Plural writes a count with its noun: 1 node, 8 nodes, 2 micro-batches.
func Plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch"):
		return Comma(n) + " " + noun + "es"
	}
	return Comma(n) + " " + noun + "s"
}

// Ranges writes ascending numbers: 0-10, 15.
func Ranges(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		switch j - i {
		case 0:
			parts = append(parts, strconv.Itoa(list[i]))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", list[i], list[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// OnOff writes a switch.
func OnOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Memory writes memory in GiB with one digit, in smaller units below a tenth of one.
func Memory(b units.Bytes) string {
	const least = 0.1
	for _, unit := range []struct {
		size units.Bytes
		name string
	}{{units.GiB, " GiB"}, {units.MiB, " MiB"}} {
		if b >= least*unit.size || b <= 0 {
			return strconv.FormatFloat(float64(b/unit.size), 'f', 1, 64) + unit.name
		}
	}
	return strconv.FormatFloat(float64(b/units.KiB), 'f', 1, 64) + " KiB"
}

// Lasting writes how long a run may take, in the largest unit of which it is one or
// more: 1 day, 1.5 days, 12 hours.
func Lasting(t units.Seconds) string {
	const day = 86400
	p := reached(float64(t), prefix{day, "day"}, prefix{3600, "hour"}, prefix{60, "minute"},
		prefix{1, "second"})
	n, name := float64(t)/p.size, p.name
	text := Trim(n)
	if math.Abs(n) >= 1e4 {
		text = strconv.FormatFloat(n, 'f', 0, 64)
	}
	if text != "1" {
		name += "s"
	}
	return record.Thousands(text) + " " + name
}

// YesNo writes the answer to a question.
func YesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
