// Package rings is two panes of the Network screen: ring attention, step by step, and the
// collectives on a ring of GPUs. Who does what when is engine/ring's; here it is drawn.
package rings

import (
	"context"

	"meshscope/engine"
	"meshscope/engine/ring"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// New makes the panes. They share what they ask of the engine.
func New() []screen.Screen {
	f := new(facts)
	return []screen.Screen{&attention{facts: f}, &collectives{facts: f}}
}

// facts are the sizes and times of the setup, evaluated off the key path.
type facts struct {
	of      engine.Setup // what answer is about
	answer  *ring.Facts  // nil: not yet, or the setup is illegal
	pending engine.Setup // the last setup that was asked about
	jobs    widget.Jobs
}

// copied returns the facts that are there; what is on its way comes to the original alone.
func (f *facts) copied() *facts { return &facts{of: f.of, answer: f.answer, pending: f.of} }

// current returns the facts of the setup; nil while they are evaluated.
func (f *facts) current(in *screen.Context) *ring.Facts {
	if in.Setup == nil || f.of != *in.Setup {
		return nil
	}
	return f.answer
}

// now returns the facts of the setup, evaluated here where they are not there and this is quick: for
// documents.
func (f *facts) now(in *screen.Context) *ring.Facts {
	if in.Setup == nil {
		return nil
	}
	if f.current(in) == nil && !in.Setup.Slow() {
		f.of = *in.Setup
		f.answer, _ = ring.Of(in.Setup)
	}
	return f.current(in)
}

// refresh asks for the facts of the setup.
func (f *facts) refresh(in *screen.Context) screen.Request {
	if !known(in) || f.pending == *in.Setup {
		return screen.Request{}
	}
	setup := *in.Setup
	f.pending = setup
	job := f.jobs.Begin()
	return screen.Request{Work: func(ctx context.Context) func() {
		var answer *ring.Facts
		if ctx.Err() == nil {
			answer, _ = ring.Of(&setup)
		}
		return func() {
			switch {
			case !f.jobs.End(job): // another one is on its way
			case answer == nil:
				f.pending = engine.Setup{}
			default:
				f.of, f.answer = setup, answer
			}
		}
	}}
}

// known reports whether there is a setup to draw.
func known(in *screen.Context) bool {
	return in.Setup != nil && in.Report != nil && in.Report.Legal && in.Setup.CP > 0 && in.Setup.GPUs > 0
}

// nothing draws a pane without a setup.
func nothing(in *screen.Context, name string) []string {
	l := widget.NewLine(in.W).Gap(2).Put(in.Paint(themes.Muted), "no figures for this setup")
	return widget.Height([]string{in.Heading(in.W, name, "", ""), l.String()}, in.W, in.H)
}

// framesPerStep is how long a step stays while the picture plays.
const framesPerStep = screen.TicksPerSecond * 4 / 5

// player goes through the steps of a picture.
type player struct {
	at, last int
	playing  bool
	frame    int
}

// until bounds the steps of the picture as it is now.
func (p *player) until(last int) {
	p.last = last
	p.at = min(max(p.at, 0), last)
}

// move goes n steps on, and stops what plays.
func (p *player) move(n int) {
	p.playing = false
	p.at = min(max(p.at+n, 0), p.last)
}

// play plays from here, from the start when at the end, or stops. Where nothing is to move by
// itself it goes on by one step.
func (p *player) play(calm bool) {
	if p.at >= p.last && !p.playing {
		p.at = -1
		if !calm {
			p.at = 0
		}
	}
	if calm {
		p.move(1)
		return
	}
	p.playing, p.frame = !p.playing && p.last > 0, 0
}

// tick moves the picture by a frame; false: it plays no more.
func (p *player) tick() bool {
	if !p.playing {
		return false
	}
	if p.frame++; p.frame%framesPerStep == 0 {
		p.at++
		p.playing = p.at < p.last
	}
	return true
}

// keys returns the keys of the steps.
func (p *player) keys(in *screen.Context) []screen.Key {
	space := "play"
	switch {
	case p.playing:
		space = "pause"
	case in != nil && in.Calm:
		space = "next step"
	}
	return []screen.Key{
		{
			ID: "step-back step-on", Keys: "left h | right l", Help: "step back, step on", Foot: "←→",
			Hint: "step", Do: p.move,
		},
		{
			ID: "play", Keys: "space", Help: "play the steps, pause", Hint: space,
			Do: func(int) { p.play(in != nil && in.Calm) },
		},
		{
			ID: "first-step last-step", Keys: "home | end", Help: "first, last step",
			Do: func(n int) { p.move(n * p.last) },
		},
	}
}

// hue returns the fill by which a GPU is told from others: eight that look different in the theme, as far
// as it has them.
func hue(t *themes.Theme, rank int) themes.Fill {
	fills := [...]themes.Fill{
		themes.Weights, themes.Gradients, themes.Optimizer, themes.Activations, themes.Logits, themes.Buffers,
		themes.Overhead,
	}
	rank %= len(fills) + 1
	if rank < len(fills) {
		return fills[rank]
	}
	taken := map[themes.Paint]bool{}
	for _, f := range fills {
		taken[t.Area(f)] = true
	}
	for _, f := range [...]themes.Fill{themes.WeightGrad, themes.Exposed, themes.Heat1} {
		if !taken[t.Area(f)] {
			return f
		}
	}
	return themes.Compute
}
