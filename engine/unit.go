package engine

import "meshscope/engine/record"

// Unit is what a figure is measured in; values are always in the base unit.
type Unit = record.Unit

// Units. Memory is written in powers of 1024, traffic in powers of 1000.
const (
	UnitCount   = record.Count
	UnitShare   = record.Share // of 1
	UnitMemory  = record.Memory
	UnitTraffic = record.Traffic
	UnitSeconds = record.Seconds
	UnitFLOPs   = record.FLOPs
	UnitTFLOPS  = record.TFLOPS // where the report has it in this unit
	UnitTokens  = record.Tokens
	UnitDays    = record.Days
	UnitHours   = record.Hours
	UnitDollars = record.Dollars
	UnitWatts   = record.Watts
	UnitEnergy  = record.Energy
)
