package timeline

import (
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"meshscope/engine/schedule"
	"meshscope/engine_test/draws"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// drawnShares is how many columns of a row each kind fills, read from its cells.
func drawnShares(t *rapid.T, p *painter) (columns [fewIdle]float64) {
	for i, c := range p.cells {
		height, painted := strings.Index("▁▂▃▄▅▆▇", c.sign), false
		for kind := range fewIdle {
			full := p.theme.Area(kindFill(kind))
			switch {
			case !p.theme.Colours && c.sign == schedule.OpKind(kind).String(),
				p.theme.Colours && c.paint == full:
				columns[kind]++
				painted = true
			case p.theme.Colours && height >= 0 && c.sign != "":
				share := float64(height/len("▁")+1) / 8
				if c.paint == p.theme.Line(kindFill(kind)) {
					columns[kind] += share
					painted = true
				}
				for top := range fewIdle {
					if top != kind && c.paint == p.theme.Edge(kindFill(kind), kindFill(top)) {
						columns[kind] += share
						columns[top] += 1 - share
						painted = true
					}
				}
			}
		}
		if !painted && c.sign != p.idleSign && c.sign != " " {
			t.Fatalf("column %d: %q", i, c)
		}
	}
	return columns
}

// TestFewColoursKeepShares: without blended colours a row still shows how long its
// rank runs each kind, as letters without colours and as areas with sixteen.
func TestFewColoursKeepShares(t *testing.T) {
	looks := []*themes.Theme{themed(t, "mono", colorprofile.ASCII), themed(t, "dark", colorprofile.ANSI)}
	draws.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]schedule.Kind{
			schedule.OneFOneB, schedule.ZBH1, schedule.AFAB,
			schedule.Interleaved,
		}).Draw(t, "kind")
		p := rapid.IntRange(2, 8).Draw(t, "p")
		s := schedule.Spec{
			Kind: kind, Ranks: p, VirtualStages: 1,
			MicroBatches: p * rapid.IntRange(12, 40).Draw(t, "groups"),
		}
		if kind == schedule.Interleaved {
			s.VirtualStages = 2
		}
		order, err := schedule.Build(s)
		if err != nil {
			t.Fatal(err)
		}
		times := schedule.ChunkTimes{
			F: 1, I: rapid.Float64Range(0.5, 3).Draw(t, "I"),
			W: rapid.Float64Range(0.5, 2).Draw(t, "W"),
		}
		times.B = times.I + times.W
		line, err := schedule.Simulate(order,
			schedule.UniformCosts(s, times, rapid.Float64Range(0, 0.3).Draw(t, "p2p")))
		if err != nil {
			t.Fatal(err)
		}
		v := Chart{Timeline: line, Plain: true}
		const w = 120
		if perOp(v.picture(w, p), v.axis.scale) >= 1 {
			t.Skip("operations have a column each")
		}
		for _, theme := range looks {
			painter := v.newPainter(theme, widget.NewGlyphs(true), w)
			// Of a picture to a whole scale some columns stay empty at its end.
			end := painter.spans[len(painter.spans)-1]
			drawn := float64(end.col + end.cols)
			for rank := range p {
				painter.row(rank)
				got := drawnShares(t, painter)
				var want [fewIdle]float64
				for k := order.Start[rank]; k < order.Start[rank+1]; k++ {
					want[order.Ops[k].Kind()] += (line.End[k] - line.Begin[k]) * drawn / line.Makespan
				}
				for k := range want {
					// The ends of a stretch are rounded to a column, and a kind may be
					// behind where the columns that are left have none of it: 5.4 columns
					// at most in 100,000 draws. A stack is rounded to eighths of a column,
					// and an eighth of idle time is left out next to several kinds.
					near := 6.0
					if theme.Colours {
						near += w/16 + w/8
					}
					if math.Abs(got[k]-want[k]) > near {
						t.Errorf("%v, rank %d, colours %v: %v fills %.1f columns, drawn are %.1f of %v", s,
							rank, theme.Colours, schedule.OpKind(k), want[k], got[k], painter.cells)
					}
					if want[k] == 0 && got[k] != 0 {
						t.Errorf("%v, rank %d: a %v that is not there", s, rank, schedule.OpKind(k))
					}
				}
			}
		}
	})
}

// TestFewColoursAreCalm: the steady state, the warm-up and the drain of a long 1F1B
// are a handful of looks each, not one for each column.
func TestFewColoursAreCalm(t *testing.T) {
	v := Chart{Timeline: built(t, oneFOneB(16, 256), 0), Plain: true}
	p := v.newPainter(themed(t, "dark", colorprofile.ANSI), widget.NewGlyphs(true), 100)
	for rank := range 16 {
		p.row(rank)
		changes := 0
		for i := 1; i < len(p.cells); i++ {
			if p.cells[i].paint != p.cells[i-1].paint || p.cells[i].sign != p.cells[i-1].sign {
				changes++
			}
		}
		if changes > 14 {
			t.Errorf("rank %d: %d changes in 100 columns: %v", rank, changes, p.cells)
		}
	}
}

// TestTurn: each part comes as often as it has units, and never far from when it is due.
func TestTurn(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.IntRange(0, 8), 1, 5).Draw(t, "parts")
		total := 0
		for _, n := range parts {
			total += n
		}
		given := make([]int, len(parts))
		for at := range total {
			given[turn(parts, at)]++
			for part, n := range parts {
				if due := float64(n*(at+1)) / float64(total); math.Abs(float64(given[part])-due) >= 2 {
					t.Fatalf("%v: after %d places part %d was given %d", parts, at+1, part, given[part])
				}
			}
		}
		for part, n := range parts {
			if given[part] != n {
				t.Fatalf("%v: part %d was given %d", parts, part, given[part])
			}
		}
	})
}

// TestPureStretches: forwards alone are never averaged with what follows, and a wait
// of many columns stays one.
func TestPureStretches(t *testing.T) {
	f, b, mixed := [4]float32{1}, [4]float32{0, 1}, [4]float32{0.4, 0.6}
	var idle [4]float32
	shares := [][4]float32{
		{0.4},
		f, f, f, idle, idle, mixed, idle, mixed, mixed, b, mixed,
		{0, 0.7},
		{0, 0.7},
		{0, 0.7},
		{0, 0.2},
		idle,
	}
	blend := newBlend(len(shares))
	blend.shares = shares
	keys := make([]uint32, len(blend.shares))
	blend.calm(keys, true)
	names := ""
	for _, k := range keys {
		names += blendName(k) + " "
	}
	if names != " F F F   FB FB FB FB FB FB B B B   " {
		t.Errorf("%q", names)
	}
	if level := blendLevel(keys[1], schedule.Forward); level != blendLevels {
		t.Errorf("%d eighths of forward", level)
	}
}

// TestTint: a mix of kinds has one colour, whatever its eighths; where one kind has most of
// it, it shows; and the work of the column stays what it is.
func TestTint(t *testing.T) {
	of := func(levels ...uint32) (key uint32) {
		for kind, n := range levels {
			key |= n << (4 * kind)
		}
		return key
	}
	for _, c := range []struct {
		key  uint32
		want [fewIdle]float64
	}{
		{of(3, 5), [4]float64{4, 4}},
		{of(2, 6), [4]float64{2, 6}},
		{of(3, 0, 3, 2), [4]float64{8. / 3, 0, 8. / 3, 8. / 3}},
		{of(1, 0, 5, 2), [4]float64{0, 0, 4, 4}}, // IW: too little forward for its name
		{of(0, 0, 2, 2), [4]float64{0, 0, 2, 2}}, // half of it waiting
		{of(0, 0, 4, 3), [4]float64{0, 0, 4, 4}}, // an eighth of it waiting
		{of(8), [4]float64{8}},
		{0, [4]float64{}},
	} {
		if got := tint(c.key); got != c.want {
			t.Errorf("%x: %v, want %v", c.key, got, c.want)
		}
	}
	draws.Check(t, func(t *rapid.T) {
		a, b, i := rapid.IntRange(0, 8).Draw(t, "a"), rapid.IntRange(0, 8).Draw(t, "b"),
			rapid.IntRange(0, 8).Draw(t, "i")
		left := blendLevels
		var levels []uint32
		for _, n := range []int{a, b, i, 8} {
			n = min(n, left)
			levels, left = append(levels, uint32(n)), left-n
		}
		key, sum := of(levels...), 0.0
		for _, share := range tint(key) {
			sum += share
		}
		if work := float64(blendLevels - left); math.Abs(sum-work) > 1e-9 && work != blendLevels-1 {
			t.Fatalf("%v: %g eighths painted of %g worked", levels, sum, work)
		}
	})
}

// TestTallStacks: of a rank several lines high the stacks go over all of them, what stands below it at the
// bottom, and one line of it changes none of the next rank's.
func TestTallStacks(t *testing.T) {
	line := built(t, oneFOneB(4, 64), 0)
	theme := themed(t, "dark", colorprofile.TrueColor)
	f := Frame{Cols: 40, spans: []interval{{to: line.Makespan, cols: 40}}}
	r := NewRows(line, &f, theme, widget.NewGlyphs(true), false)
	r.Tall(3)
	for range 2 {
		var lines []string
		for i := range 3 {
			var b strings.Builder
			if i == 0 {
				r.Draw(&b, 1, &Marks{})
			} else {
				r.Below(&b)
			}
			lines = append(lines, string([]rune(ansi.Strip(b.String()))[20]))
		}
		if got := strings.Join(lines, ""); got != " ▇ " { // 5 eighths of three lines: 15 from below
			t.Errorf("the middle of the step is %q", got)
		}
	}
}

// TestFutureStacks: what has not run yet is grey as high as it works: full where a column has no idle time.
func TestFutureStacks(t *testing.T) {
	line := built(t, oneFOneB(4, 64), 0)
	f := Frame{Cols: 40, spans: []interval{{to: line.Makespan, cols: 40}}}
	r := NewRows(line, &f, themed(t, "dark", colorprofile.TrueColor), widget.NewGlyphs(true), false)
	var b strings.Builder
	r.Draw(&b, 0, &Marks{Until: line.Makespan / 2})
	cells := []rune(ansi.Strip(b.String()))
	if got := string(cells[15:18]) + string(cells[22:28]); got != "▅▅▅██████" {
		t.Errorf("the middle of the step is %q in %q", got, string(cells))
	}
	if last := cells[39]; stackHeight(string(last)) == 0 {
		t.Errorf("the drain, half of which is idle, is %q in %q", last, string(cells))
	}
}
