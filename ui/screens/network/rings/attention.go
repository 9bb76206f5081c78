package rings

import (
	"fmt"

	"meshscope/engine/ring"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// attention is the pane of ring attention: a small example of the setup's CP, step by step, and
// below it the setup's own ring.
type attention struct {
	facts      *facts
	steps      player
	contiguous bool // the sequence is cut in order, not zig-zag
	q, k       int  // block under the cursor
	most       int  // GPUs that the last picture had room for
}

// Copy returns the pane with its cursor, at rest.
func (v *attention) Copy() screen.Screen {
	c := *v
	c.facts, c.steps.playing = v.facts.copied(), false
	return &c
}

// Name returns the name of the pane.
func (*attention) Name() string { return "ring" }

// Most GPUs of the example, in a window that is low or narrow and in others.
const (
	fewRanks  = 4
	moreRanks = 8
)

// roomy is the height from which there are words above the picture.
const roomy = 13

// Show draws the sequence as it is cut: in order for "contiguous", else zig-zag.
func (v *attention) Show(split string) {
	if contiguous := split == "contiguous"; contiguous != v.contiguous {
		v.contiguous, v.steps = contiguous, player{}
	}
}

// concealed reports whether a question is open: then no work is counted.
func concealed(in *screen.Context) bool {
	return in.Asks || in.Hides("attention.", "causal-work-rank.")
}

// example returns the ring that is drawn: of the setup's CP as far as there is room, of 16 tokens
// where they divide.
func (v *attention) example(in *screen.Context) ring.Attention {
	a := ring.Attention{Ranks: min(in.Setup.CP, max(v.most, fewRanks)), ZigZag: !v.contiguous}
	if a.Ranks < 2 {
		a.Ranks = fewRanks
	}
	if a.Tokens = 16; a.Tokens%a.Parts() != 0 {
		a.Tokens = 2 * a.Parts()
	}
	v.steps.until(a.Ranks - 1)
	v.q, v.k = min(max(v.q, 0), a.Parts()-1), min(max(v.k, 0), a.Parts()-1)
	return a
}

// own returns the ring of the setup, with the split of the picture.
func (v *attention) own(in *screen.Context, zigzag bool) ring.Attention {
	return ring.Attention{Tokens: in.Setup.Seq, Ranks: in.Setup.CP, ZigZag: zigzag}
}

// Keys returns the key table.
func (v *attention) Keys(in *screen.Context) []screen.Key {
	if in != nil {
		if !known(in) {
			return nil
		}
		v.example(in)
	}
	split := "contiguous"
	if v.contiguous {
		split = "zig-zag"
	}
	return append(v.steps.keys(in),
		screen.Key{
			ID: "split", Keys: "z", Help: "cut the sequence zig-zag, or in order", Hint: split,
			Do: func(int) { v.contiguous = !v.contiguous },
		},
		screen.Key{
			ID: "row-up row-down", Keys: "up k | down j", Help: "queries above, below", Foot: "↑↓",
			Hint: "queries", Do: func(n int) { v.q += n },
		},
		screen.Key{
			ID: "column-before column-after", Keys: "shift+left H | shift+right L",
			Help: "keys before, after", Foot: "shift+arrows", Hint: "keys", Do: func(n int) { v.k += n },
		},
	)
}

// Mouse chooses a block.
func (v *attention) Mouse(in *screen.Context, x, y int, button string) (handled bool, do screen.Request) {
	if !known(in) || button != "left" {
		return false, screen.Request{}
	}
	a := v.example(in)
	wide, tall := v.scale(in, &a)
	if in.H < roomy {
		y++
	}
	q, k := (y-matrixTop)/tall, (x-matrixLeft)/wide
	if y < matrixTop {
		q = -1
	}
	if q < 0 || q >= a.Parts() || x < matrixLeft || k >= a.Parts() {
		return false, screen.Request{}
	}
	v.q, v.k = q, k
	return true, screen.Request{}
}

// Status explains the block under the cursor.
func (v *attention) Status(in *screen.Context) string {
	if !known(in) {
		return ""
	}
	a := v.example(in)
	size := a.Tokens / a.Parts()
	tokens := func(part int) string {
		if size == 1 {
			return "token " + figure.Comma(part)
		}
		return fmt.Sprintf("tokens %d-%d", part*size, (part+1)*size-1)
	}
	step, some := a.Step(v.q, v.k)
	text := fmt.Sprintf("q%d x k%d: ", v.q, v.k)
	switch {
	case !some:
		text += "masked, nobody computes it: the keys come later in the sequence"
	default:
		of := tokens(v.k)
		if v.q == v.k {
			of = "themselves, half masked"
		}
		text += fmt.Sprintf("GPU %d, step %d: %s with %s, %s", a.Owner(v.q), step+1, tokens(v.q), of,
			figure.Plural(a.Pairs(v.q, v.k), "pair"))
		if step > 0 {
			text += fmt.Sprintf("; K/V from GPU %d", a.Owner(v.k))
		}
	}
	return in.Cut(text, in.W)
}

// Refresh asks for the times of the setup.
func (v *attention) Refresh(in *screen.Context) screen.Request { return v.facts.refresh(in) }

// Playing reports whether the steps play.
func (v *attention) Playing() bool { return v.steps.playing }

// Tick moves the steps by a frame.
func (v *attention) Tick() bool { return v.steps.tick() }

// Figure returns the traffic of the ring, as the report names it.
func (v *attention) Figure(in *screen.Context) string {
	if in.Setup == nil || in.Setup.CP < 2 {
		return ""
	}
	return "communication.cp.exposed"
}

// Render draws the pane: exactly h lines of w cells.
func (v *attention) Render(in *screen.Context) []string {
	if lines, empty := in.Empty(); empty {
		return lines
	}
	if !known(in) {
		return nothing(in, "RING ATTENTION")
	}
	v.most = fewRanks
	if in.H >= 28 && in.W >= 104 {
		v.most = moreRanks
	}
	a := v.example(in)
	const does = "Each step a GPU computes its q with the K/V that it has, then passes the K/V on."
	lines := []string{v.heading(in, &a)}
	if in.H >= roomy {
		lines = append(lines, widget.NewLine(in.W).Put(in.Paint(themes.Muted), in.Cut(does, in.W)).String())
	}
	lines = append(lines, v.picture(in, &a)...)
	if in.H > len(lines)+7 {
		lines = append(lines, widget.Blank(in.W))
	}
	lines = append(lines, v.setup(in)...)
	return widget.Height(lines, in.W, in.H)
}

// legend says how to read the blocks.
func legend(in *screen.Context) string {
	done := "filled"
	if !in.Theme.Colours {
		done = "+"
	}
	return "[ ] now, " + done + " done, " + masked(in) + " masked, diagonal half"
}

// masked is the sign of a block that the mask leaves out.
func masked(in *screen.Context) string {
	if !in.Glyphs.Unicode {
		return "."
	}
	return in.Glyphs.Dot
}
