// Package id names the knobs that the packages below the registry speak of in
// their problems.
package id

// ID is the name of a knob: that of its flag, without the dashes.
type ID string

// Knobs of layout and schedule.
const (
	DP           ID = "dp"
	TP           ID = "tp"
	PP           ID = "pp"
	VPP          ID = "vpp"
	CP           ID = "cp"
	EP           ID = "ep"
	ETP          ID = "etp"
	SP           ID = "sp"
	ZeRO         ID = "zero"
	HSDP         ID = "hsdp"
	MBS          ID = "mbs"
	MicroBatches ID = "microbatches"
	GBS          ID = "gbs"
	Seq          ID = "seq"
	GPUs         ID = "gpus"
	Schedule     ID = "schedule"
	GroupSize    ID = "group-size"
	MaxInFlight  ID = "max-in-flight"
	Split        ID = "split"
)
