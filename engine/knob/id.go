package knob

// ID is the name of a knob: that of its flag, without the dashes.
type ID string

// The knobs. A knob that only its own row names needs no constant.
const (
	DP   ID = "dp"
	TP   ID = "tp"
	PP   ID = "pp"
	VPP  ID = "vpp"
	CP   ID = "cp"
	EP   ID = "ep"
	ETP  ID = "etp"
	SP   ID = "sp"
	ZeRO ID = "zero"
	HSDP ID = "hsdp"

	MBS          ID = "mbs"
	MicroBatches ID = "microbatches"
	GBS          ID = "gbs"
	Seq          ID = "seq"

	Nodes ID = "nodes"
	GPUs  ID = "gpus"

	Schedule    ID = "schedule"
	GroupSize   ID = "group-size"
	MaxInFlight ID = "max-in-flight"
	Split       ID = "split"
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

	Tokens  ID = "tokens"
	Price   ID = "price"
	Power   ID = "power"
	PUE     ID = "pue"
	Goodput ID = "goodput"
)
