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
