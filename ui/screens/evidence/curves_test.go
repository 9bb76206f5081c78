package evidence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"

	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/presets/curves"
	"meshscope/ui/screen"
	"meshscope/ui/screen/screentest"
)

// bent are two curves with round figures: one of layouts, one of a collective with ranges.
func bent() *View {
	dp := curves.Curve{
		ID: "dp", Title: "Data parallelism, 1B", Figure: curves.Tokens, Axis: "dp",
		Source: "a figure", Note: "The batch stays, so each GPU has less to do the more there are.",
	}
	net := curves.Curve{
		ID: "net", Title: "All-reduce over nodes", Figure: curves.AllReduce, Axis: "nodes",
		Source: "another figure", Note: "Mean of all jobs.", Volume: 256,
	}
	for i := range 6 {
		p := curves.Point{
			At: 8 << i, Measured: 40000 - float64(i*i)*1000,
			Predicted: 40000 - float64(i*i)*900, Setup: presets.DefaultSetup(),
		}
		dp.Points = append(dp.Points, p)
		p.At, p.Measured, p.Predicted = 1<<i, 450/float64(int(1)<<i), 430/float64(int(1)<<i)
		p.Low, p.High = p.Measured*0.5, p.Measured*1.4
		net.Points = append(net.Points, p)
	}
	v := &View{data: invented()}
	v.Show("curves")
	v.curves.list = []curves.Curve{dp, net}
	return v
}

// TestCurveFrames draws the curve of a collective, the cursor on its third point.
func TestCurveFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			in, v := input(t, colorprofile.ASCII, true), bent()
			in = in.At(size[0], size[1]-4)
			for _, key := range []string{"down", "right", "right"} {
				screen.Press(v, in, key)
			}
			golden.RequireEqual(t, ansi.Strip(strings.Join(append(v.Render(in), v.Status(in)), "\n")+"\n"))
		})
	}
}

// TestCurveTaken holds that a point of a layout becomes the setup, one of a collective not, and
// that v goes back to the runs.
func TestCurveTaken(t *testing.T) {
	in, v := input(t, colorprofile.ASCII, true).At(120, 30), bent()
	if _, do := screen.Press(v, in, "enter"); do.Setup == nil {
		t.Error("a point with a layout is not taken")
	}
	screen.Press(v, in, "down")
	if _, do := screen.Press(v, in, "enter"); do.Setup != nil || do.Text == "" {
		t.Error("a point of a collective is taken, or nothing is said")
	}
	screen.Press(v, in, "v")
	if v.inCurve || !strings.Contains(ansi.Strip(strings.Join(v.Render(in), "\n")), "GROUPS") {
		t.Error("v does not go back to the runs")
	}
}

// TestCurveSizes: every frame has its size, whatever was pressed before.
func TestCurveSizes(t *testing.T) {
	draws.Check(t, func(r *rapid.T) {
		in := input(t, colorprofile.ANSI256, rapid.Bool().Draw(r, "unicode"))
		screentest.Play(r, in, bent(), []string{"up", "down", "left", "right", "enter", "v", "p"})
	})
}
