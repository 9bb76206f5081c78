package schedule

import (
	"strings"
	"sync"
)

// Info describes a schedule. The texts are for people: p ranks, m
// micro-batches, v chunks per rank, tF, tI, tW, tB durations on one chunk.
type Info struct {
	Kind           Kind
	Name           string // as people say it
	Paper          string // where it was published
	Code           string // where it runs
	Placement      Placement
	SplitsBackward bool // runs input and weight gradients apart
	Pairs          bool // overlaps a forward with a backward
	Automatic      bool // reads the stages' durations: see BuildFor
	Chunks         int  // stages per rank that it needs; 0 means any number
	WeightCopies   int  // how often each parameter is stored over the ranks

	// Barrierless is set where the authors say that no barrier separates the steps: the
	// optimizer's check runs afterwards (arXiv 2401.10241, section 4).
	Barrierless bool
	// Length names the closed form of the makespan for stages of any durations.
	Length LengthForm

	Constraint string // what p, m and v must be, and what the frameworks say otherwise
	Idle       string // idle time of the worst rank, where a form is exact; else empty
	// Idle in forwards and backwards of a micro-batch, as formulas write it, where it has no cases; else
	// empty
	IdlePasses string
	Memory     string // peak of chunk activations on rank r

	// What follows is known of every rank without making the order; see the methods of
	// these names. A nil function says nothing beyond what holds for every schedule.
	warmup    func(s *Spec, rank int) Warmup
	deferred  func(s *Spec, rank int) int
	group     func(s *Spec) int
	disproved func(s *Spec, t ChunkTimes) string
	uneven    func(t ChunkTimes) bool
}

// LengthForm names a closed form of a pipeline's makespan that holds for stages of any
// durations.
type LengthForm uint8

// Forms of the makespan.
const (
	LengthSimulated    LengthForm = iota // none: the order is simulated
	LengthOneByOne                       // one micro-batch goes there and back before the next one starts
	LengthBreadthFirst                   // all forwards, chunk by chunk, then all backwards
)

// descriptor is everything the package needs to know about a schedule. Each is
// made by one function in the schedule's own file and listed in schedules.
type descriptor struct {
	Info

	// generate writes the whole order; Ops and Start are empty and have room.
	generate func(o *Order)
	// search does so for an automatic schedule, from the durations; it gives up
	// with a *StoppedError soon after stop says so, and with a *SearchError where
	// its rules find no order. Nil for the others.
	search func(o *Order, t *stageTimes, stop func() bool) error
	// check says what cannot be executed and what some launcher rejects,
	// beyond the rules that all schedules share.
	check func(s Spec) []Issue
	// idle is the exact idle time of the worst rank for equal chunks and no
	// send/recv latency; false where no exact form is known.
	idle func(s Spec, t ChunkTimes) (float64, bool)
	// span is the same inside a rank's own first start and last end, what the
	// zero-bubble papers measure. Nil where no form is known.
	span func(s Spec, t ChunkTimes) (float64, bool)
	// maxOps is the bound of operations where it is below MaxOps, maxRanks that
	// of ranks where there is one; else 0.
	maxOps, maxRanks int
	// work is the ratio of an operation's cost to the written one's, if it differs from its kind's usual
	// one; see Spec.Work.
	work float64
}

// ChunkTimes are the durations of one micro-batch on one chunk when all chunks
// are equal. Saved is what an overlapped pair of F and B is shorter than both.
type ChunkTimes struct{ F, B, I, W, Saved float64 }

// entry is a line of the table.
type entry struct {
	kind     Kind
	describe func() descriptor
}

// schedules returns the table: a new schedule is its file and its line here.
func schedules() [18]entry {
	return [...]entry{
		{Naive, naive},
		{AFAB, afab},
		{OneFOneB, oneFOneB},
		{Interleaved, interleaved},
		{LoopedBFS, loopedBFS},
		{ZBH1, zbH1},
		{ZBH2, zbH2},
		{ZB1P, zb1P},
		{ZB2P, zb2P},
		{ZBAuto, zbAuto},
		{InterleavedZB, interleavedZB},
		{ZBV, zbV},
		{ZBVAuto, zbVAuto},
		{VHalf, vHalf},
		{VMin, vMin},
		{OneFOneBV, oneFOneBV},
		{DualPipe, dualPipe},
		{DualPipeV, dualPipeV},
	}
}

// described are the descriptors, in the order of the table. They are made once, because
// every evaluation asks for one several times.
//
//nolint:gochecknoglobals // built once, then only read
var described struct {
	once sync.Once
	all  []descriptor
}

// find looks a schedule up. What it returns is only to be read; an unknown schedule has an
// empty descriptor.
func find(k Kind) (*descriptor, bool) {
	described.once.Do(func() {
		for _, e := range schedules() {
			described.all = append(described.all, e.describe())
		}
	})
	for i := range described.all {
		if d := &described.all[i]; d.Kind == k {
			return d, true
		}
	}
	return &descriptor{}, false
}

// Kinds lists the schedules in the order of the table.
func Kinds() []Info {
	var infos []Info
	for _, e := range schedules() {
		infos = append(infos, e.describe().Info)
	}
	return infos
}

// Info describes the schedule; false for an unknown one.
func (k Kind) Info() (Info, bool) {
	d, ok := find(k)
	return d.Info, ok
}

// kindNames lists the known schedules for messages.
func kindNames() string {
	var names []string
	for _, e := range schedules() {
		names = append(names, string(e.kind))
	}
	return strings.Join(names, ", ")
}

// opsPerChunk returns how many operations one micro-batch is on one chunk, at most.
func (i Info) opsPerChunk() int {
	if i.SplitsBackward {
		return 3
	}
	return 2
}

// Messages returns the number of sends between ranks in one step, forwards and
// backwards: two per micro-batch for each boundary between stages on different
// ranks.
func (s Spec) Messages() int {
	info, ok := s.Kind.Info()
	if !ok || s.Ranks < 1 {
		return 0
	}
	crossings := 0
	for stage := 1; stage < s.Stages(); stage++ {
		if info.Placement.rank(s.Ranks, stage, 0) != info.Placement.rank(s.Ranks, stage-1, 0) {
			crossings++
		}
	}
	return 2 * s.MicroBatches * crossings
}

// Sends returns how many of the messages one rank sends in a step: a rank in the middle,
// to both neighbours for every micro-batch of every chunk. Of two ranks each has half
// of all.
func (s Spec) Sends() int {
	if s.Ranks > 2 {
		return 2 * s.MicroBatches * s.VirtualStages
	}
	return s.Messages() / 2
}
