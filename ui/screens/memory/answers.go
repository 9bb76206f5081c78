package memory

import (
	"context"

	"meshscope/engine"
	"meshscope/engine/fit"
	"meshscope/ui/screen"
)

// answers is what takes too long for a key press, for one setup.
type answers struct {
	known bool
	setup engine.Setup // the question

	over   engine.OverStep
	shards fit.Shards
	kinds  []engine.LayerKind
	limits fit.Limits
	seq    *fit.Stop // nil: memory is not what ends it
	mbs    *fit.Stop
}

// keptOperations is how many operations the timeline of a setup that is no
// longer on screen may have: answers about it read the timeline.
const keptOperations = 1 << 17

// operations returns how many the timeline has that the answers read.
func (a *answers) operations() (n int) {
	for i := range a.over.Ranks {
		n += a.over.Ranks[i].Profiles[0].Operations()
	}
	return n
}

// trim drops answers that read a long timeline.
func (a *answers) trim() {
	if a.operations() > keptOperations {
		*a = answers{}
	}
}

// Forget drops large results that can be computed again, for when the screen is
// left.
func (v *View) Forget() {
	if v.answers.trim(); !v.answers.known {
		v.query = engine.Setup{}
		v.jobs.Drop()
	}
}

// fresh reports whether the answers are those of the setup on screen.
func (v *View) fresh(in *screen.Context) bool {
	return v.answers.known && in.Setup != nil && v.answers.setup == *in.Setup
}

// Refresh asks for the data that the screen lacks: call it when the
// screen is entered and when the setup has changed. It asks once per setup.
func (v *View) Refresh(in *screen.Context) screen.Request {
	if memoryOf(in) == nil || v.fresh(in) || v.query == *in.Setup {
		return screen.Request{}
	}
	setup, report := *in.Setup, *in.Report
	v.query = setup
	job := v.jobs.Begin()
	v.answers.trim()
	return screen.Request{Work: func(ctx context.Context) func() {
		found, ok := work(ctx, setup, &report)
		return func() {
			switch {
			case !v.jobs.End(job): // another one is on its way
			case ok:
				v.answers = found
			case ctx.Err() != nil:
				v.query = engine.Setup{} // called off: the next call asks again
			}
		}
	}}
}

// work answers, unless it is called off.
func work(ctx context.Context, s engine.Setup, r *engine.Report) (answers, bool) {
	out := answers{known: true, setup: s}
	e := engine.EvaluatorFrom(r)
	stop := func() bool { return ctx.Err() != nil }
	var ok [4]bool
	for i, ask := range []func(){
		func() { out.over, ok[0] = e.MemoryOverStep(s, r, stop) },
		func() { out.shards, ok[1] = fit.Unsharded(e, s) },
		func() { out.kinds, ok[2] = e.Layers(s) },
		func() { out.limits, ok[3] = fit.Find(e, s) },
	} {
		if ctx.Err() != nil {
			return answers{}, false
		}
		if ask(); !ok[i] {
			return answers{}, false
		}
	}
	out.seq, out.mbs = fit.Stops(e, s, out.limits)
	return out, ctx.Err() == nil
}
