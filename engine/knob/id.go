package knob

import "meshscope/engine/knob/id"

// ID is the name of a knob: that of its flag, without the dashes.
type ID = id.ID

// The knobs. A knob that only its own row names needs no constant.
const (
	DP   = id.DP
	TP   = id.TP
	PP   = id.PP
	VPP  = id.VPP
	CP   = id.CP
	EP   = id.EP
	ETP  = id.ETP
	SP   = id.SP
	ZeRO = id.ZeRO
	HSDP = id.HSDP

	MBS          = id.MBS
	MicroBatches = id.MicroBatches
	GBS          = id.GBS
	Seq          = id.Seq

	Nodes ID = "nodes"
	GPUs     = id.GPUs

	Schedule       = id.Schedule
	GroupSize      = id.GroupSize
	MaxInFlight    = id.MaxInFlight
	Split          = id.Split
	Recompute   ID = "recompute"
	Precision   ID = "precision"
	GradDtype   ID = "grad-dtype"
	Optimizer   ID = "optimizer"
	Offload     ID = "offload"
	Loss        ID = "loss"
	Imbalance   ID = "imbalance"
	Attention   ID = "attention"
	MTP         ID = "mtp"
	Calibration ID = "calibration"
	MFU         ID = "mfu"
	LoRA        ID = "lora"
	DoRA        ID = "dora"
	InBackward  ID = "optimizer-in-backward"
	WeightDtype ID = "weight-dtype"
	BaseDtype   ID = "base-dtype"
	HPZ         ID = "hpz"
	QWZ         ID = "qwz"
	QGZ         ID = "qgz"
	CPComm      ID = "cp-comm"

	Tokens ID = "tokens"
	Price  ID = "price"
	Power  ID = "power"
	PUE    ID = "pue"
	// FacilityPUE is the power of a data centre over that of its machines, which PUE holds too.
	FacilityPUE ID = "facility-pue"
	Goodput     ID = "goodput"
)
