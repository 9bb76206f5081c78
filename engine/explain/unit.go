package explain

import (
	"meshscope/engine"
	"meshscope/engine/record"
)

// Unit is what a figure is measured in; values are always in the base unit.
type Unit = record.Unit

// Units. Memory is written in powers of 1024, traffic in powers of 1000.
const (
	Count     = record.Count
	Share     = record.Share // of 1
	Memory    = record.Memory
	Traffic   = record.Traffic
	Seconds   = record.Seconds
	FLOPs     = record.FLOPs
	Rate      = record.Rate
	TFLOPS    = record.TFLOPS // where the report has it in this unit
	Bandwidth = record.Bandwidth
	Tokens    = record.Tokens
	Days      = record.Days
	Hours     = record.Hours
	Dollars   = record.Dollars
	Watts     = record.Watts
	Energy    = record.Energy
)

// Figure is one number of a report that has an explanation.
type Figure = engine.Figure
