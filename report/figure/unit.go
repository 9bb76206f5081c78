package figure

import (
	"meshscope/engine"
	"meshscope/engine/units"
)

// Of writes a figure of a report with its unit in few cells.
func Of(u engine.Unit, v float64) string {
	switch u {
	case engine.UnitMemory:
		return GiB(units.Bytes(v)) + " GiB"
	case engine.UnitSeconds:
		return Seconds(units.Seconds(v))
	case engine.UnitTraffic:
		if v < 0 {
			return "-" + Traffic(units.Bytes(-v))
		}
		return Traffic(units.Bytes(v))
	case engine.UnitShare:
		return Percent(v)
	case engine.UnitTokens, engine.UnitTFLOPS:
		return Three(v)
	default:
		if v == float64(int64(v)) && v < 1e6 && v > -1e6 {
			return Comma(int(v))
		}
		return Short(v)
	}
}
