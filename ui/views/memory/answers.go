package memory

import (
	"context"

	"meshscope/engine"
	"meshscope/engine/memory"
	"meshscope/engine/units"
)

// answers is what takes too long for a key press, for one setup.
type answers struct {
	known bool
	setup engine.Setup // the question

	over   engine.OverStep
	peaks  []peak // by rank
	shards engine.Shards
	kinds  []engine.LayerParts
	limits engine.MemoryLimits
	seq    stop
	mbs    stop
}

// stop is what ends a search for the largest value that fits.
type stop struct {
	known bool
	term  int         // grows most on the rank that no longer fits
	more  units.Bytes // what it adds with the next value
	rank  int
	total units.Bytes // that rank's, then
}

// fresh says whether the answers are those of the setup on screen.
func (v *View) fresh(in Input) bool {
	return v.answers.known && in.Setup != nil && v.answers.setup == *in.Setup
}

// Refresh asks for what the screen needs and does not have: call it when the
// screen is entered and when the setup has changed. It asks once per setup.
func (v *View) Refresh(in Input) Request {
	if in.memory() == nil || v.fresh(in) || v.asked == *in.Setup {
		return Request{}
	}
	setup := *in.Setup
	v.asked = setup
	return Request{Work: func(ctx context.Context) func() {
		found, ok := work(ctx, setup)
		return func() {
			switch {
			case ok:
				v.answers = found
			case v.asked == setup && ctx.Err() != nil:
				v.asked = engine.Setup{} // called off: the next call asks again
			}
		}
	}}
}

// work answers, unless it is called off.
func work(ctx context.Context, s engine.Setup) (answers, bool) {
	out := answers{known: true, setup: s}
	var ok [4]bool
	for i, ask := range []func(){
		func() { out.over, ok[0] = engine.MemoryOverStep(s) },
		func() { out.shards, ok[1] = engine.Unsharded(s) },
		func() { out.kinds, ok[2] = engine.Parts(s) },
		func() { out.limits, ok[3] = engine.Limits(s) },
	} {
		if ctx.Err() != nil {
			return answers{}, false
		}
		if ask(); !ok[i] {
			return answers{}, false
		}
	}
	out.peaks = peaksOf(&out.over)
	l := &out.limits
	if !l.SeqOpen {
		out.seq = stopAt(s, func(t *engine.Setup, more int) { t.Seq = max(l.Seq, 0) + more*l.SeqUnit }, l.Seq > 0)
	}
	if !l.MBSOpen {
		out.mbs = stopAt(s, func(t *engine.Setup, more int) { t.MBS = max(l.MBS, 0) + more }, l.MBS > 0)
	}
	return out, ctx.Err() == nil
}

// stopAt compares the largest value that fits with the next one: which term
// grows most on the rank that is the fullest then. Where nothing fits it is the
// largest term.
func stopAt(s engine.Setup, set func(t *engine.Setup, more int), some bool) stop {
	at := func(more int) *engine.Memory {
		t := s
		set(&t, more)
		t.GBS = t.MBS * t.MicroBatches * t.DP
		return engine.Evaluate(t).Memory
	}
	next := at(1)
	if next == nil {
		return stop{}
	}
	rank := fullest(next)
	after := values(&next.Ranks[rank])
	out := stop{known: true, term: largestTerm(&next.Ranks[rank]), rank: rank, total: next.Ranks[rank].Total}
	out.more = after[out.term]
	before := (*engine.Memory)(nil)
	if some {
		before = at(0)
	}
	if before == nil || rank >= len(before.Ranks) {
		return out
	}
	was := values(&before.Ranks[rank])
	out.more = 0
	for i := range totalTerm {
		if d := after[i] - was[i]; d > out.more {
			out.term, out.more = i, d
		}
	}
	return out
}

// peak is what the series of a rank do not say themselves, for the first step
// and the later ones.
type peak struct {
	overhead [2]units.Bytes   // beyond what is allocated
	at       [2]units.Seconds // when most is allocated, the first time
}

func peaksOf(over *engine.OverStep) []peak {
	list := make([]peak, len(over.Ranks))
	for i := range over.Ranks {
		r := &over.Ranks[i]
		for k, samples := range [2][]memory.Sample{r.First, r.Later} {
			most := units.Bytes(-1)
			for j := range samples {
				if b := samples[j].Allocated(); b > most {
					most, list[i].at[k] = b, samples[j].At
				}
			}
			list[i].overhead[k] = max(0, r.Peaks[k]-most)
		}
	}
	return list
}
