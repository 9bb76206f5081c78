package engine

import (
	"fmt"
	"strconv"

	"meshscope/engine/hardware"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// Draft is a setup with things left out: nil means "not said". Resolve fills
// the gaps from the identities and the documented defaults.
type Draft struct {
	Model   *model.Model
	Cluster *hardware.Cluster

	Nodes, GPUs                  *int
	DP, TP, PP, VPP, CP, EP, ETP *int
	SP                           *bool
	ZeRO, HSDP                   *int

	MBS, MicroBatches, GBS, Seq *int
	Split                       *string

	Schedule    *schedule.Kind
	GroupSize   *int
	MaxInFlight *int

	Recompute *recipe.Recompute
	Precision *recipe.Precision
	GradDtype *recipe.GradDtype
	Attention *recipe.Attention
	Optimizer *recipe.Optimizer
	Loss      *recipe.Loss
	Offload   *recipe.Offload
	Imbalance *int
	TrainMTP  *bool
	Stack     *recipe.Stack
	MFU       *recipe.MFUConvention

	Budget, Price, Power, PUE, Goodput *float64
}

// Defaults of what is left out; the others are in Resolve.
const (
	DefaultNodes      = 8
	DefaultSeq        = 8192 // tokens, or the model's own length when shorter
	DefaultBatchDepth = 4    // sequences per pipeline rank and copy, in whole micro-batches
)

// BatchDepthUnit is what DefaultBatchDepth counts, in words.
const BatchDepthUnit = "sequences per pipeline rank and copy"

// ConflictError says that two things that were both said cannot both be true.
type ConflictError struct {
	Fields [2]string // the flags' names
	Why    string    // the arithmetic, with the numbers
}

// Error names both flags and shows the arithmetic.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("--%s and --%s contradict each other: %s", e.Fields[0], e.Fields[1], e.Why)
}

// Set says one parameter of the draft, in the words of the command line.
func (d *Draft) Set(id ParamID, text string) error {
	p, ok := FindParam(id)
	if !ok {
		return &ValueError{Field: string(id), Given: text, Allowed: "a known parameter"}
	}
	switch {
	case p.draftWrite != nil:
		return p.draftWrite(d, text)
	case p.draftToggle != nil:
		on, err := p.parseToggle(text)
		if err == nil {
			*p.draftToggle(d) = &on
		}
		return err
	}
	n, err := p.ParseInt(text)
	if err == nil {
		*p.draftNumber(d) = &n
	}
	return err
}

// Take gives what was said of a parameter, in the words of the command line, and
// unsays it; false where nothing was said.
func (d *Draft) Take(id ParamID) (text string, said bool) {
	p, ok := FindParam(id)
	if !ok || !p.draftGiven(d) {
		return "", false
	}
	switch {
	case p.draftTake != nil:
		return p.draftTake(d), true
	case p.draftToggle != nil:
		on := **p.draftToggle(d)
		*p.draftToggle(d) = nil
		return onOff(on), true
	}
	n := **p.draftNumber(d)
	*p.draftNumber(d) = nil
	return strconv.Itoa(n), true
}

// Resolve derives what is left out. A value out of bounds is a *ValueError, two
// values that contradict each other a *ConflictError. Degrees that do not divide
// the GPUs, or a batch that does not divide, resolve to the next lower quotient:
// such a setup is illegal and Check says why.
func (d Draft) Resolve() (Setup, error) {
	if err := d.checkBounds(); err != nil {
		return Setup{}, err
	}
	if d.Model == nil || d.Cluster == nil {
		field := "model"
		if d.Model != nil {
			field = "cluster"
		}
		return Setup{}, &ValueError{Field: field, Allowed: "a known " + field}
	}
	s := Setup{Model: *d.Model, Cluster: *d.Cluster}
	s.TP, s.PP, s.CP = or(d.TP, 1), or(d.PP, 1), or(d.CP, 1)
	s.VPP, s.EP, s.ETP = or(d.VPP, d.defaultVPP(&s)), or(d.EP, 1), or(d.ETP, 1)

	divides, err := d.resolveGPUs(&s)
	if err != nil {
		return Setup{}, err
	}
	if err := d.resolveBatch(&s, divides); err != nil {
		return Setup{}, err
	}
	d.resolveRecipe(&s)
	return s, nil
}

// Complete gives the draft as a setup when it says everything. Nothing is
// derived and the identities are not held against each other: Check does that.
// A stage split and the figures of a whole run may be left out, the number of
// nodes must be.
func (d Draft) Complete() (Setup, bool) {
	params := registry()
	for i := range params {
		p := &params[i]
		if p.ID == "nodes" || p.ID == "split" || p.Kind == FigureParam {
			continue
		}
		if !p.draftGiven(&d) {
			return Setup{}, false
		}
	}
	if d.Model == nil || d.Cluster == nil || d.Nodes != nil || d.checkBounds() != nil {
		return Setup{}, false
	}
	s := Setup{Model: *d.Model, Cluster: *d.Cluster}
	s.GPUs, s.DP, s.TP, s.PP, s.CP = *d.GPUs, *d.DP, *d.TP, *d.PP, *d.CP
	s.VPP, s.EP, s.ETP = *d.VPP, *d.EP, *d.ETP
	s.MBS, s.MicroBatches, s.GBS = *d.MBS, *d.MicroBatches, *d.GBS
	d.resolveRecipe(&s)
	return s, true
}

// checkBounds holds every number that was said against its parameter's bounds.
func (d *Draft) checkBounds() error {
	params := registry()
	for i := range params {
		p := &params[i]
		if p.draftNumber == nil {
			continue
		}
		if n := *p.draftNumber(d); n != nil && (*n < p.Min || *n > p.Max) {
			return p.outOfRange(strconv.Itoa(*n), min(max(*n, p.Min), p.Max))
		}
	}
	return nil
}

// resolveGPUs settles GPUs and DP: gpus = dp x tp x pp x cp. It says whether
// the identity holds.
func (d *Draft) resolveGPUs(s *Setup) (divides bool, err error) {
	node, replica := s.Cluster.Node(), product(s.TP, s.PP, s.CP)
	said := "gpus"
	switch {
	case d.GPUs != nil:
		s.GPUs = *d.GPUs
		if d.Nodes != nil && s.Nodes() != *d.Nodes {
			return false, &ConflictError{
				Fields: [2]string{"gpus", "nodes"},
				Why:    fmt.Sprintf("%d GPUs fill %d nodes of %d, not %d", s.GPUs, s.Nodes(), node, *d.Nodes),
			}
		}
	case d.Nodes != nil:
		said = "nodes"
		s.GPUs = product(*d.Nodes, node)
		// A last node that is only partly used is fine when dp says so.
		if world := product(or(d.DP, 0), replica); d.DP != nil && world < s.GPUs && world > s.GPUs-node {
			s.GPUs = world
		}
	case d.DP != nil:
		said = "dp"
		s.GPUs = product(*d.DP, replica)
	default:
		s.GPUs = product(defaultNodes(s.Cluster), node)
	}
	if s.GPUs > MaxGPUs {
		return false, &ValueError{
			Field: said, Given: fmt.Sprintf("%d GPUs in all", s.GPUs),
			Allowed: fmt.Sprintf("up to %d GPUs", MaxGPUs),
		}
	}
	if d.DP == nil {
		s.DP = max(1, s.GPUs/replica)
		if s.DP > MaxDegree {
			return false, &ValueError{
				Field: said, Given: fmt.Sprintf("%d GPUs in all", s.GPUs),
				Allowed: fmt.Sprintf("up to %d copies (dp) of tp x pp x cp = %d GPUs; larger ones take more of tp, pp or cp", MaxDegree, replica),
				Nearest: nearestGPUs(said, product(MaxDegree, replica), node),
			}
		}
		return s.GPUs == product(s.DP, replica), nil
	}
	s.DP = *d.DP
	if world := product(s.DP, replica); world != s.GPUs {
		return false, &ConflictError{
			Fields: [2]string{said, "dp"},
			Why: fmt.Sprintf("dp x tp x pp x cp = %d x %d x %d x %d = %d, but there are %d GPUs",
				s.DP, s.TP, s.PP, s.CP, world, s.GPUs),
		}
	}
	return true, nil
}

// nearestGPUs is so many GPUs in what was said, GPUs or nodes.
func nearestGPUs(said string, gpus, node int) string {
	if said == "nodes" {
		gpus /= node
	}
	return strconv.Itoa(gpus)
}

// defaultVPP is 1, or 2 where the schedule that was said needs or wants several
// stages per rank; of those that only want them, if the layers are enough.
func (d *Draft) defaultVPP(s *Setup) int {
	if d.Schedule == nil {
		return 1
	}
	info, ok := d.Schedule.Info()
	if ok && (info.Chunks == 2 || info.Chunks == 0 && s.PP > 1 && product(2, s.PP) <= s.Model.Layers) {
		return 2
	}
	return 1
}

// defaultNodes is 8, or the whole machine when it is smaller.
func defaultNodes(c hardware.Cluster) int {
	if c.MaxGPUs > 0 {
		return min(DefaultNodes, max(1, c.MaxGPUs/c.Node()))
	}
	return DefaultNodes
}

// resolveBatch settles micro-batches and global batch: gbs = mbs x m x dp.
func (d *Draft) resolveBatch(s *Setup, gpusDivide bool) error {
	s.MBS = or(d.MBS, 1)
	switch {
	case d.GBS != nil && d.MicroBatches != nil:
		s.GBS, s.MicroBatches = *d.GBS, *d.MicroBatches
		// Where dp is itself a rounded quotient there is nothing to hold this
		// against: the layout is illegal for that reason.
		if batch := product(s.MBS, s.MicroBatches, s.DP); batch != s.GBS && gpusDivide {
			why := fmt.Sprintf("mbs x microbatches x dp = %d x %d x %d = %d sequences, but gbs is %d",
				s.MBS, s.MicroBatches, s.DP, batch, s.GBS)
			if d.MBS == nil {
				why += " (mbs is 1 when it is left out)"
			}
			return &ConflictError{Fields: [2]string{"gbs", "microbatches"}, Why: why}
		}
		return nil
	case d.GBS != nil:
		s.GBS = *d.GBS
		s.MicroBatches = max(1, s.GBS/product(s.MBS, s.DP))
		if s.MicroBatches > MaxMicroBatches {
			return &ValueError{
				Field: "gbs", Given: strconv.Itoa(s.GBS),
				Allowed: fmt.Sprintf("up to %d micro-batches (gbs / mbs / dp)", MaxMicroBatches),
				Nearest: strconv.Itoa(min(MaxBatch, product(MaxMicroBatches, s.MBS, s.DP))),
			}
		}
		return nil
	case d.MicroBatches != nil:
		s.MicroBatches = *d.MicroBatches
	default:
		// One sequence per data-parallel rank, pipeline rank and 4 turns; in
		// whole micro-batches where mbs does not divide that.
		s.MicroBatches = min((s.PP*DefaultBatchDepth+s.MBS-1)/s.MBS, MaxMicroBatches)
	}
	s.GBS = product(s.MBS, s.MicroBatches, s.DP)
	if s.GBS > MaxBatch {
		return &ValueError{
			Field: "microbatches", Given: strconv.Itoa(s.MicroBatches),
			Allowed: fmt.Sprintf("a global batch (mbs x microbatches x dp) of up to %d sequences", MaxBatch),
			Nearest: strconv.Itoa(max(1, MaxBatch/product(s.MBS, s.DP))),
		}
	}
	return nil
}

// resolveRecipe fills in everything that is not a degree or a batch.
func (d *Draft) resolveRecipe(s *Setup) {
	s.Stack = or(d.Stack, recipe.DefaultStack)
	stack := s.Stack.Traits().Defaults

	s.Seq = or(d.Seq, DefaultSeq)
	if d.Seq == nil && s.Model.MaxSeq > 0 {
		s.Seq = min(s.Seq, s.Model.MaxSeq)
	}
	s.SP = or(d.SP, s.TP > 1 && stack.SP)
	s.ZeRO, s.HSDP = or(d.ZeRO, stack.ZeRO), or(d.HSDP, 1)
	s.Attention, s.Loss = or(d.Attention, stack.Attention), or(d.Loss, stack.Loss)
	s.Split = or(d.Split, "")
	s.Schedule = or(d.Schedule, schedule.OneFOneB)
	if d.Schedule == nil && s.VPP > 1 {
		s.Schedule = schedule.Interleaved
	}
	s.GroupSize = or(d.GroupSize, 0)
	s.MaxInFlight = or(d.MaxInFlight, 0)
	s.Recompute = or(d.Recompute, recipe.Recompute{Mode: recipe.RecomputeNone})
	s.Precision = or(d.Precision, defaultPrecision(s.Cluster.GPU))
	s.GradDtype = or(d.GradDtype, recipe.GradFP32)
	s.Optimizer = or(d.Optimizer, recipe.Adam)
	s.Offload = or(d.Offload, recipe.OffloadNone)
	s.Imbalance = or(d.Imbalance, recipe.EvenLoad)
	s.TrainMTP = or(d.TrainMTP, false)
	s.MFU = or(d.MFU, recipe.MFUCausal)
	s.RunPlan = RunPlan{
		Budget: or(d.Budget, 0), Price: or(d.Price, 0), Power: or(d.Power, 0), PUE: or(d.PUE, 0), Goodput: or(d.Goodput, 0),
	}
}

// defaultPrecision is bf16, or fp16 on a GPU that has no bf16 units (V100).
func defaultPrecision(g hardware.GPU) recipe.Precision {
	if g.PeakBF16 <= 0 && g.PeakFP16 > 0 {
		return recipe.FP16
	}
	return recipe.BF16
}

func or[T any](said *T, otherwise T) T {
	if said != nil {
		return *said
	}
	return otherwise
}
