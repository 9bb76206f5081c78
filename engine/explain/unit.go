package explain

import "meshscope/engine"

// Unit is what a figure is measured in; values are always in the base unit.
type Unit = engine.Unit

// Units. Memory is written in powers of 1024, traffic in powers of 1000.
const (
	Count     = engine.UnitCount
	Share     = engine.UnitShare // of 1
	Memory    = engine.UnitMemory
	Traffic   = engine.UnitTraffic
	Seconds   = engine.UnitSeconds
	FLOPs     = engine.UnitFLOPs
	Rate      = engine.UnitRate
	TFLOPS    = engine.UnitTFLOPS // where the report has it in this unit
	Bandwidth = engine.UnitBandwidth
	Tokens    = engine.UnitTokens
	Days      = engine.UnitDays
	Hours     = engine.UnitHours
	Dollars   = engine.UnitDollars
	Watts     = engine.UnitWatts
	Energy    = engine.UnitEnergy
)

// Figure is one number of a report that has an explanation.
type Figure = engine.Figure
