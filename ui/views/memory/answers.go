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
	seq    *engine.Stop // nil: memory is not what ends it
	mbs    *engine.Stop
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
	out.seq, out.mbs = engine.Stops(s, out.limits)
	return out, ctx.Err() == nil
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
