// Package search finds the best layouts of a model on a cluster.
//
// Run goes over every legal layout of a Space twice. The ranking pass bounds
// each from below (bound.Bounder: about a microsecond a layout); then layouts are
// evaluated in full, the most promising first, until no bound that is left can
// beat what has been found. What is returned is what evaluating everything
// would have returned, in the same order, on any number of cores.
package search

import (
	"math"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/engine/search/bound"
	"meshscope/engine/units"
)

// Problem is what to search, by what to rank, and what a layout must meet.
type Problem struct {
	// Setup is everything that no layout changes: model, cluster, number
	// formats, software. Of its layout the global batch, the sequence and the
	// number of GPUs count where Space does not list others.
	Setup     engine.Setup
	Space     Space
	Objective Objective
	Top       int  // how many layouts to return; 0 means DefaultTop
	Front     bool // return the Pareto front of memory and speed too

	Headroom float64 // share of the usable memory that must stay free, 0 to 1
	// Margin puts layouts that leave their margin free (engine.Memory.HasMargin) before all
	// others, unless the objective is the least memory. The first place goes to the fastest with
	// an ample one (engine.Memory.HasAmpleMargin) of those that are too close to the best to call.
	Margin bool
	// A layout slower than this for the whole run at the slow end of its step (engine.Time.SlowEnd)
	// is left out; 0: any speed. It is time on the clock: of it only the goodput of Setup advances
	// the run. Tokens is the run.
	Deadline units.Seconds
	Tokens   float64

	Workers int // goroutines; 0 means 1. The answer does not depend on it
	// Stop ends the search as the end of its context does, for callers that have
	// none; nil: never. Every worker calls it.
	Stop func() bool
	// Collect is called when tens of megabytes are not needed any more, after an evaluation of
	// a very long pipeline; nil: the collector finds them when it next runs.
	Collect func()
	// Stack returns the stack of the goroutine that calls it, for the Crash of a worker; nil: it has none.
	Stack func() []byte

	// AnyMemory ranks layouts whether they fit or not, where no headroom is asked
	// for.
	AnyMemory bool

	legalOnly  bool // of constraints: only what makes a layout illegal
	marginOnly bool // leaves out what has no margin

	fastestFirst bool // an ample margin takes no first place

	given   []knob.ID                         // of Named
	refuses func(knob.ID, *engine.Setup) bool // that of Query
}

// Why the first layout is not the fastest (Found.ForMargin): in words that follow its name, and in as few
// as a heading has room for.
const (
	MarginRule = "not the fastest: of those too close to call it is the fastest that leaves twice its " +
		"margin of memory free"
	MarginBrief = "first for its margin"
)

// DefaultTop is how many layouts a search returns where nobody says.
const DefaultTop = 10

// Space lists the values that each knob may take. An empty list means every
// legal value within the named bounds (MaxPP and the others), in the numbers that divide.
type Space struct {
	GPUs, GBS, Seq               []int
	DP, TP, PP, VPP, CP, EP, ETP []int
	ZeRO, MBS, MicroBatches      []int
	SP                           []bool
	Recompute                    []recipe.Recompute
	Schedules                    []schedule.Kind

	// Splits are tried next to the balanced one where it is set (layout.LighterEnds); else the setup's stays.
	Splits bool

	// Others are values of further knobs; an empty list leaves the setup's.
	Others []Other

	// FollowGBS takes, in place of GBS, of each number of GPUs the global batch that a
	// search of it alone takes where nobody gave one (DefaultGBS).
	FollowGBS bool

	// Refused lets in what some launcher rejects although it could run: ZeRO-2
	// and 3 together with a pipeline, TP of experts without SP, fewer
	// micro-batches than pipeline ranks where the schedule's own code wants them.
	Refused bool

	// Accepts says which legal layouts a launcher runs; nil: all of them. With Refused its
	// rules alone count. It is called by all workers. Launcher is its name.
	Accepts  func(*engine.Setup) bool
	Launcher string
	Unbuilt  string // why it does not build the model, whatever the layout is
	// WriteSplit writes into a layout that is evaluated what the launcher must be told of its
	// stages, which stay what they are; nil: nothing.
	WriteSplit func(*engine.Setup)
	// Instead returns the nearest setup that the launcher runs where it refuses what a search keeps, such as
	// the precision; false: it refuses none of that. nil: nobody's rules count.
	Instead func(engine.Setup) (engine.Setup, bool)
}

// Objective is what is best.
type Objective string

// Objectives. All but the first two put something before speed. A GPU costs the same
// by the hour whatever it does, so that the cheapest run is the one with the most
// tokens per GPU: cost ranks as throughput does, and is requested by another name.
const (
	Throughput Objective = "throughput"  // most tokens per second per GPU
	Cost       Objective = "cost"        // least GPU-hours for a token, and so least money
	FewestGPUs Objective = "fewest-gpus" // that meet the deadline
	LargestMBS Objective = "largest-mbs" // sequences per micro-batch
	LongestSeq Objective = "longest-seq" // tokens per sequence
	// LeastMemory ranks by engine.Memory.Needs.
	LeastMemory Objective = "least-memory"
)

// Objectives lists them.
func Objectives() []Objective {
	return []Objective{Throughput, Cost, FewestGPUs, LargestMBS, LongestSeq, LeastMemory}
}

// Found is one layout with its full report.
type Found struct {
	Setup  engine.Setup
	Report engine.Report // without timeline
	Free   units.Bytes   // of the usable memory on the fullest rank
	// PessimisticStep is the step without unproven overlap (engine.Pessimistic), by which
	// layouts are ranked; it is the report's step where all overlap is proven, or where the
	// problem's setup says how much overlap works.
	PessimisticStep units.Seconds
	// ForMargin: it has the first place for its ample margin (engine.Memory.HasAmpleMargin); a faster one
	// that is too close to call has none.
	ForMargin bool

	tight bool // without the margin that the problem wants
}

// Result is the answer.
type Result struct {
	Best  []Found `json:"-"` // ranked, the best first; with Problem.Margin those without one last
	Front []Found `json:"-"` // from the fastest to the one with the least memory; nil unless requested

	// GPUs are the numbers of GPUs that Fewest tried, in ascending order.
	GPUs []int `json:"gpus_tried,omitempty"`

	// Partial says that the search was stopped. Share is how much of the space
	// was resolved, 0 to 1; what was found may then not be the best.
	Partial bool    `json:"partial"`
	Share   float64 `json:"share_searched"`

	// layouts that can run at all, and that no launcher rejects unless requested
	Legal int `json:"legal"`
	// of these, those whose bound alone shows that they do not fit or miss the deadline
	Excluded  int `json:"excluded_by_bound"`
	Evaluated int `json:"evaluated"` // evaluated in full
	Fitting   int `json:"fitting"`   // of the evaluated, those that fit and meet the deadline

	// Near are the layouts within NearShare of the best, Band those within the error
	// band of what the objective ranks by (Objective.Evidence); that has no share where
	// it is not validated.
	Near Near `json:"-"`
	Band Near `json:"-"`
}

// Progress is how far a search is.
type Progress struct {
	Ranked    float64 // share of the ranking pass, 0 to 1
	Legal     int     // layouts so far
	Evaluated int
}

func (p *Problem) top() int {
	if p.Top <= 0 {
		return DefaultTop
	}
	return p.Top
}

// limit returns the memory that the fullest rank may take.
func (p *Problem) limit() units.Bytes {
	if p.AnyMemory && p.Headroom == 0 {
		return units.Bytes(math.MaxFloat64)
	}
	return p.Setup.Cluster.GPU.MemoryUsable * units.Bytes(1-p.Headroom)
}

// fits reports whether a layout with that peak, the larger one of both ends of its step, is within
// the limits.
func (p *Problem) fits(m *engine.Memory, peak units.Bytes) bool {
	return peak <= p.limit() && (p.AnyMemory || m.HostOver() == 0)
}

// alike returns up to which peak two layouts are ranked alike: 0 where any difference counts.
func (p *Problem) alike() units.Bytes {
	switch {
	case p.Front || p.Objective == LeastMemory:
		return 0
	case p.wantsMargin():
		return min(p.limit(), p.Setup.Cluster.GPU.MemoryUsable*(1-engine.DefaultHeadroom))
	}
	return p.limit()
}

// inTime reports whether steps of that length end the run before the deadline.
func (p *Problem) inTime(step units.Seconds, tokens float64) bool {
	training := p.Deadline
	if g := p.Setup.Goodput; g > 0 {
		training *= units.Seconds(g / 100) // percent
	}
	return p.Deadline <= 0 || p.Tokens <= 0 || float64(step)*(p.Tokens/tokens) <= float64(training)
}

// score is what layouts are ranked by, smaller before larger: those with a margin, then
// what the objective puts first, then GPU-seconds per token.
type score struct {
	tight      bool // without the margin that is asked for: behind all others
	lead, rate float64
}

func (a score) less(b score) bool {
	if a.tight != b.tight {
		return b.tight
	}
	if a.lead != b.lead {
		return a.lead < b.lead
	}
	return a.rate < b.rate
}

// wantsMargin reports whether layouts without a margin come last.
func (p *Problem) wantsMargin() bool { return p.Margin && p.Objective != LeastMemory }

// score of a setup with that step and peak; of bounds from below it is one too. Whether a
// layout is tight beyond that the margin is at least DefaultHeadroom the report tells.
func (p *Problem) score(s *engine.Setup, f bound.Bound) score {
	out := score{rate: float64(f.Step) * float64(s.GPUs) / s.Tokens()}
	out.tight = p.wantsMargin() && f.Peak > s.Cluster.GPU.MemoryUsable*(1-engine.DefaultHeadroom)
	switch p.Objective {
	case FewestGPUs:
		out.lead = float64(s.GPUs)
	case LargestMBS:
		out.lead = -float64(s.MBS)
	case LongestSeq:
		out.lead = -float64(s.Seq)
	case LeastMemory:
		out.lead = float64(f.Peak)
	case Throughput, Cost:
	}
	return out
}
