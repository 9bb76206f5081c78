package schedule

import "strings"

// Info describes a schedule.
type Info struct {
	Kind           Kind
	Name           string // as people say it
	Paper          string // where it was published
	Code           string // where it runs
	Placement      Placement
	SplitsBackward bool // runs input and weight gradients apart
	WeightCopies   int  // how often each parameter is stored over the ranks
}

// descriptor is everything the package needs to know about a schedule. Each is
// made by one function in the schedule's own file and listed in find.
type descriptor struct {
	Info

	// generate writes the whole order; Ops and Start are empty and have room.
	generate func(o *Order)
	// check says what cannot be executed and what some launcher refuses,
	// beyond the rules that all schedules share.
	check func(s Spec) []Issue
	// idle is the exact idle time of the worst rank for equal chunks and no
	// hand-over latency; false where no exact form is known.
	idle func(s Spec, t ChunkTimes) (float64, bool)
}

// ChunkTimes are the durations of one micro-batch on one chunk when all chunks
// are equal.
type ChunkTimes struct{ F, B, I, W float64 }

// schedules is the table: a new schedule is its file and its line here.
func schedules() [4]func() descriptor {
	return [...]func() descriptor{naive, afab, oneFOneB, interleaved}
}

// find looks a schedule up.
func find(k Kind) (descriptor, bool) {
	for _, describe := range schedules() {
		if d := describe(); d.Kind == k {
			return d, true
		}
	}
	return descriptor{}, false
}

// Kinds lists the schedules in the order of the table.
func Kinds() []Info {
	var infos []Info
	for _, describe := range schedules() {
		infos = append(infos, describe().Info)
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
	for _, info := range Kinds() {
		names = append(names, string(info.Kind))
	}
	return strings.Join(names, ", ")
}

// opsPerChunk is how many operations one micro-batch is on one chunk.
func (i Info) opsPerChunk() int {
	if i.SplitsBackward {
		return 3
	}
	return 2
}
