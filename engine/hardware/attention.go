package hardware

import (
	"fmt"

	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Fused are the constants of a kernel of fused attention.
type Fused struct {
	Forward, Backward Pass
	Wide              float64 // rate with heads above 128 over that with those of 128
}

// Pass is the forward or the backward of fused attention.
type Pass struct {
	Share  float64 // of the peak that long sequences reach, heads up to 128 wide
	Narrow float64 // rate with heads up to 64 over that with those of 128; 0: the same
	Tile   float64 // how often half of the longest tile, on all multiprocessors, adds to the work
	// of an element of the queries: reading, writing and the softmax beside the products; of heads up to
	// 64, 0: as of others
	Query, NarrowQuery units.Seconds
	Start              units.Seconds // of a backward 0: as the forward
}

// Core is core attention that a kernel computes: operations of the forward, under the causal mask, elements
// of the queries, width of a head, and tokens that the last query sees (0: no mask, whose tiles are equal).
type Core struct {
	FLOPs, Queries, Seen record.Num
	Width                int
}

// tileRows are the queries that a tile of fused attention computes (FlashAttention-2 and cuDNN).
const tileRows = 128

// narrowHead and wideHead are the widths that rates of fused attention change at.
const (
	narrowHead = 64
	wideHead   = 128
)

// factor returns the rate of heads of a width over that of heads of 128, and what formulas call it.
func (f *Fused) factor(p *Pass, width int) (times float64, text string) {
	switch {
	case width > wideHead:
		return f.Wide, "share_of_wide_heads"
	case isNarrow(width) && p.Narrow > 0:
		return p.Narrow, "share_of_narrow_heads"
	default:
		return 1, ""
	}
}

func isNarrow(width int) bool { return width > 0 && width <= narrowHead }

// query returns the time of an element of the queries, and what formulas call how many a second that is.
func (p *Pass) query(width int) (t units.Seconds, text string) {
	if isNarrow(width) && p.NarrowQuery > 0 {
		return p.NarrowQuery, "queries_a_second_of_narrow_heads"
	}
	return p.Query, "queries_a_second"
}

// start returns the time that the backward takes to start.
func (f *Fused) start() units.Seconds {
	if f.Backward.Start > 0 {
		return f.Backward.Start
	}
	return f.Forward.Start
}

// tile returns half of the longest tile's work on all multiprocessors: under the causal mask, which makes
// tiles unequal, they wait for it at the end.
func (m *Machine) tile(c *Core) float64 {
	return 2 * tileRows * c.Seen.V * float64(c.Width) * m.Ops.SMs
}

// Attention returns the time of fused attention: forward, and backward with 2.5 times the operations, which
// stays in 16 bits.
func (m *Machine) Attention(c *Core) (forward, backward record.Num) {
	if c.FLOPs.V <= 0 {
		return record.Num{}, record.Num{}
	}
	f := &m.Ops.Attention
	forward = m.pass(c, f, &f.Forward, "forward", 1, m.Software.FP8Attention)
	backward = m.pass(c, f, &f.Backward, "backward", 2.5, 1)
	return plus(forward, f.Forward.Start, "attention_start"), plus(backward, f.start(), f.startName())
}

// startName is what formulas call the start of a backward.
func (f *Fused) startName() string {
	if f.Backward.Start > 0 {
		return "attention_start_backward"
	}
	return "attention_start"
}

// pass returns the time of a pass without its start, of so many times the operations and at so many times the
// rate.
func (m *Machine) pass(c *Core, f *Fused, p *Pass, pass string, ratio, eight float64) record.Num {
	times, _ := f.factor(p, c.Width)
	query, _ := p.query(c.Width)
	work := c.FLOPs.V + p.Tile*m.tile(c)
	t := ratio*work/(float64(m.attention)*times/m.Software.Attention*p.Share*eight) +
		float64(query)*c.Queries.V
	if !c.FLOPs.Named() {
		return record.Lit(t)
	}
	return c.FLOPs.With(m.passText(c, f, p, pass, ratio, eight), t)
}

// passText is the formula of pass.
func (m *Machine) passText(c *Core, f *Fused, p *Pass, pass string, ratio, eight float64) string {
	rate, of := "", ""
	if _, heads := f.factor(p, c.Width); heads != "" {
		rate = " * " + heads
	}
	if p.Narrow > 0 && isNarrow(c.Width) {
		rate += "_" + pass
	}
	if m.Software.Attention != 1 {
		rate += " / attention_of_the_stack_over_the_best"
	}
	if eight != 1 {
		rate += " * rate_of_fp8_attention_over_16_bits"
	}
	rate = " / (peak * share_" + pass + rate + ")"
	if ratio != 1 {
		of = fmt.Sprint(ratio, " * ")
	}
	text := of + "(" + c.FLOPs.Text() + ")" + rate
	if p.Tile > 0 && c.Seen.V > 0 {
		text += " + " + of + "tiles_felt_" + pass + " * 2 * 128 * SMs * head_width * (" + c.Seen.Text() +
			")" + rate
	}
	if query, name := p.query(c.Width); query > 0 && c.Queries.V > 0 {
		text += " + (" + c.Queries.Text() + ") / " + name + "_" + pass
	}
	return text
}

// plus adds a start to a time.
func plus(t record.Num, start units.Seconds, name string) record.Num {
	if !t.Named() {
		return record.Lit(t.V + float64(start))
	}
	return t.With(t.Text()+" + "+name, t.V+float64(start))
}
