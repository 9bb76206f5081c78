package engine_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine/schedule"
)

// TestScheduleGoldenOrders compares our orders with those that the reference
// codes run, operation by operation.
func TestScheduleGoldenOrders(t *testing.T) {
	compared := map[schedule.Kind]int{}
	for _, g := range goldenOrders(t) {
		kind := g.scheduleKind()
		if kind == "" {
			continue
		}
		o, err := g.build()
		if err != nil {
			t.Errorf("%s: %v", g.file, err)
			continue
		}
		if o.Placement.String() != g.placement.String() {
			t.Errorf("%s: placement %s, want %s", g.file, o.Placement, g.placement)
		}
		if len(g.ranks) != g.p {
			t.Errorf("%s: %d ranks of %d", g.file, len(g.ranks), g.p)
		}
		for r, want := range g.ranks {
			if got := o.RankText(r); got != want {
				t.Errorf("%s rank %d\n got %s\nwant %s", g.file, r, got, want)
			}
		}
		compared[kind]++
	}
	for _, info := range schedule.Kinds() {
		if compared[info.Kind] == 0 {
			t.Errorf("no order file of %s was compared", info.Kind)
		}
	}
	t.Logf("orders compared: %v", compared)
}

// TestScheduleGoldenSummary simulates every order file under every cost model,
// also those of schedules without a generator: the simulator is general.
func TestScheduleGoldenSummary(t *testing.T) {
	summary := goldenSummary(t)
	var sim schedule.Simulator
	var tl schedule.Timeline
	rows, closed := 0, 0
	for _, g := range goldenOrders(t) {
		o := g.order(t)
		for _, row := range summary[g.file] {
			times, costs := scheduleCosts(t, row["cost_model"], o.Spec.Stages())
			if err := sim.Run(o, costs, &tl); err != nil {
				t.Errorf("%s %s: %v", g.file, row["cost_model"], err)
				continue
			}
			compareSummary(t, g.file+" "+row["cost_model"], row, &tl)
			rows++
			if kind := g.scheduleKind(); kind != "" && row["closed_form_idle"] != "" && costs.P2P == 0 {
				idle, ok := g.spec().ClosedFormIdle(times)
				if !ok || idle != summaryFloat(t, row["closed_form_idle"]) {
					t.Errorf("%s %s: closed form %v %v, want %s", g.file, row["cost_model"], idle, ok,
						row["closed_form_idle"])
				}
				closed++
			}
		}
	}
	if rows < 1500 || closed < 300 {
		t.Errorf("only %d rows and %d closed forms compared", rows, closed)
	}
	t.Logf("%d rows simulated, %d closed forms", rows, closed)
}

func summaryFloat(t *testing.T, text string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// compareSummary compares a timeline with its row: times are whole numbers and
// equal exactly, the fractions are printed with six decimals.
func compareSummary(t *testing.T, name string, row goldenRow, tl *schedule.Timeline) {
	t.Helper()
	idle := 0.0
	var inside []float64
	for _, st := range tl.Ranks {
		idle = max(idle, st.Idle)
		inside = append(inside, st.Last-st.First-st.Busy)
	}
	for _, c := range []struct {
		column    string
		got, slop float64
	}{
		{"makespan", tl.Makespan, 0},
		{"busy_per_rank", tl.Ranks[0].Busy, 0},
		{"idle", idle, 0},
		{"longest_rank_span", tl.LongestSpan(), 0},
		{"bubble_over_ideal", tl.BubbleOverIdeal(), 5.1e-7},
		{"bubble_over_total", tl.BubbleOverTotal(), 5.1e-7},
	} {
		if want := summaryFloat(t, row[c.column]); math.Abs(c.got-want) > c.slop {
			t.Errorf("%s: %s %v, want %v", name, c.column, c.got, want)
		}
	}
	ranks := func(figure func(int, schedule.RankStats) string) string {
		var fs []string
		for r, st := range tl.Ranks {
			fs = append(fs, figure(r, st))
		}
		return strings.Join(fs, " ")
	}
	for column, got := range map[string]string{
		"idle_per_rank": ranks(func(_ int, st schedule.RankStats) string {
			return fmt.Sprint(st.Idle)
		}),
		"idle_inside_span_per_rank": ranks(func(r int, _ schedule.RankStats) string {
			return fmt.Sprint(inside[r])
		}),
		"peak_live_chunks_freed_at_W": ranks(func(_ int, st schedule.RankStats) string {
			return fmt.Sprint(st.PeakInFlight)
		}),
		"peak_live_chunks_freed_at_I": ranks(func(_ int, st schedule.RankStats) string {
			return fmt.Sprint(st.PeakUntilInput)
		}),
		"peak_pending_W": ranks(func(_ int, st schedule.RankStats) string {
			return fmt.Sprint(st.PeakPendingW)
		}),
	} {
		if want := row[column]; got != want {
			t.Errorf("%s: %s %q, want %q", name, column, got, want)
		}
	}
	if got, want := len(tl.Order.Rank(0)),
		row.ints(t, "ops_rank0")[0]; got-pairsOf(tl.Order.Rank(0)) != want && got != want {
		t.Errorf("%s: %d operations on rank 0, want %d", name, got, want)
	}
}

// pairsOf counts overlapped pairs, which the files count as one operation.
func pairsOf(ops []schedule.Op) int {
	n := 0
	for _, op := range ops {
		if op.Paired() {
			n++
		}
	}
	return n
}

// TestScheduleGoldenTimelines compares start and end of every operation.
func TestScheduleGoldenTimelines(t *testing.T) {
	dir := scheduleFolder(t)
	paths, err := filepath.Glob(filepath.Join(dir, "timelines", "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no timelines: %v", err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		head := map[string]string{}
		var ranks []string
		for _, line := range strings.Split(string(data), "\n") {
			key, value, _ := strings.Cut(strings.TrimPrefix(line, "# "), ": ")
			if strings.HasPrefix(key, "rank ") {
				ranks = append(ranks, value)
			}
			head[key] = value
		}
		g := readGoldenOrder(t, filepath.Join(dir, head["order file"]))
		o := g.order(t)
		_, costs := scheduleCosts(t, head["cost model"], o.Spec.Stages())
		tl, err := schedule.Simulate(o, costs)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		for r, want := range ranks {
			if got := timelineText(tl, r); got != want {
				t.Errorf("%s rank %d\n got %s\nwant %s", filepath.Base(path), r, got, want)
			}
		}
	}
}

// timelineText is a rank's operations as "op@start-end".
func timelineText(tl *schedule.Timeline, rank int) string {
	o := tl.Order
	var parts []string
	for k := o.Start[rank]; k < o.Start[rank+1]; k++ {
		text := o.Text(rank, o.Ops[k])
		if o.Ops[k].Paired() {
			k++
			text += "&" + o.Text(rank, o.Ops[k])
		}
		parts = append(parts, fmt.Sprintf("%s@%v-%v", text, tl.Begin[k], tl.End[k]))
	}
	return strings.Join(parts, " ")
}
