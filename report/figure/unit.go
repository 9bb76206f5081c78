package figure

import (
	"math"

	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Of writes a figure of a report with its unit in few cells.
func Of(u record.Unit, v float64) string {
	switch u {
	case record.Memory:
		return GiB(units.Bytes(v)) + " GiB"
	case record.Seconds:
		return Seconds(units.Seconds(v))
	case record.Traffic:
		if v < 0 {
			return "-" + Traffic(units.Bytes(-v))
		}
		return Traffic(units.Bytes(v))
	case record.Share:
		return Percent(v)
	case record.Days, record.Dollars, record.Energy:
		write := map[record.Unit]func(float64) string{
			record.Days: Days, record.Dollars: Dollars, record.Energy: Energy,
		}[u]
		sign := ""
		if v < 0 {
			sign = "-"
		}
		return sign + write(math.Abs(v))
	case record.Tokens, record.TFLOPS:
		return Three(v)
	default:
		if v == float64(int64(v)) && v < 1e6 && v > -1e6 {
			return Comma(int(v))
		}
		return Short(v)
	}
}

// Base returns how many of the base unit one is that stands in a column: GiB and percent in its head.
func Base(u record.Unit) float64 {
	switch u {
	case record.Memory:
		return float64(units.GiB)
	case record.Share:
		return 0.01
	default:
		return 1
	}
}

// Bare writes a figure without the unit that stands in the head of its column; nothing of what is unknown.
func Bare(u record.Unit, v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case u == record.Memory:
		return GiB(units.Bytes(v))
	case u == record.Share:
		return PercentValue(v)
	case u == record.Days:
		return Three(v)
	case u == record.Dollars, u == record.Hours:
		return Short(v)
	case u == record.Count:
		return Comma(int(v))
	}
	return Of(u, v)
}
