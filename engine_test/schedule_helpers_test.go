package engine_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine/schedule"
	"meshscope/engine_test/shared"
)

// scheduleFolder is the folder of golden schedules.
func scheduleFolder(t *testing.T) string {
	t.Helper()
	return shared.Path(t, "golden", "schedules")
}

// goldenOrder is one golden order file.
type goldenOrder struct {
	file       string
	kind       string // in the words of the file
	suffix     string
	p, m, v, g int
	placement  schedule.Placement
	ranks      []string // op lists
}

// scheduleKind is our name of the file's schedule, "" for one that has no
// generator: variants of zb-h1 that only old codes run, and old Megatron's
// special case.
func (g goldenOrder) scheduleKind() schedule.Kind {
	if strings.Contains(g.suffix, "legacy") {
		return ""
	}
	switch g.kind {
	case "gpipe":
		return schedule.AFAB
	case "interleaved-pt":
		return schedule.Interleaved
	case "interleaved-zb-pt":
		return schedule.InterleavedZB
	case "zbv":
		return schedule.ZBV
	case "zbv-auto":
		return schedule.ZBVAuto
	case "dualpipev":
		return schedule.DualPipeV
	}
	if info, ok := schedule.Kind(g.kind).Info(); ok {
		return info.Kind
	}
	return ""
}

// spec asks our generator for the file's order.
func (g goldenOrder) spec() schedule.Spec {
	s := schedule.Spec{
		Kind: g.scheduleKind(), Ranks: g.p, VirtualStages: g.v, MicroBatches: g.m,
		GroupSize: g.g,
	}
	if g.kind == "interleaved-pt" { // PyTorch: rounds = max(1, m div p), g = m div rounds
		s.GroupSize = g.m / max(1, g.m/g.p)
	}
	if strings.Contains(g.suffix, "moeoverlap") {
		s.ExtraWarmup = 1
	}
	switch g.suffix { // limits of the automatic scheduler, in activations
	case "mem1.5p":
		s.MaxInFlight = 3 * g.p / 2
	case "real1p":
		s.MaxInFlight = g.p
	case "real2p":
		s.MaxInFlight = 2 * g.p
	}
	return s
}

// build makes our order: for the file's own durations where it names any.
func (g goldenOrder) build() (*schedule.Order, error) {
	s := g.spec()
	switch {
	case strings.HasPrefix(g.suffix, "real") && g.kind == "zb-auto": // the 1.5 B model of arXiv 2401.10241
		return schedule.BuildFor(s, schedule.UniformCosts(s, schedule.ChunkTimes{F: 18522, I: 18086, W: 9337},
			601), nil)
	case strings.HasPrefix(g.suffix, "real"):
		return schedule.BuildFor(s, schedule.UniformCosts(s, schedule.ChunkTimes{F: 9261, I: 9043, W: 4668},
			601), nil)
	}
	return schedule.Build(s)
}

// order is the file's own list of operations.
func (g goldenOrder) order(t *testing.T) *schedule.Order {
	t.Helper()
	o := &schedule.Order{
		Spec: schedule.Spec{
			Kind: schedule.Kind(g.kind), Ranks: g.p, VirtualStages: g.v,
			MicroBatches: g.m,
		},
		Placement: g.placement, Start: []int{0},
	}
	for _, line := range g.ranks {
		for _, field := range strings.Fields(line) {
			halves := strings.Split(field, "&")
			for i, text := range halves {
				op := g.op(t, text)
				if i == 0 && len(halves) == 2 {
					op = op.Pair()
				}
				o.Ops = append(o.Ops, op)
			}
		}
		o.Start = append(o.Start, len(o.Ops))
	}
	return o
}

// op reads `<stage><kind><micro-batch>`.
func (g goldenOrder) op(t *testing.T, text string) schedule.Op {
	t.Helper()
	at := strings.IndexAny(text, "FBIW")
	if at < 1 {
		t.Fatalf("%s: not an operation: %q", g.file, text)
	}
	stage, mb := scheduleInt(t, text[:at]), scheduleInt(t, text[at+1:])
	kind := schedule.OpKind(strings.IndexByte("FBIW", text[at]))
	chunk := stage / g.p
	if g.placement == schedule.Bidirectional && mb >= g.m/2 {
		chunk = 1
	}
	return schedule.NewOp(kind, chunk, mb)
}

func scheduleInt(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// readGoldenOrder reads one order file.
func readGoldenOrder(t *testing.T, path string) goldenOrder {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g := goldenOrder{file: filepath.Base(path)}
	if parts := strings.SplitN(strings.TrimSuffix(g.file, ".txt"), "_", 5); len(parts) == 5 {
		g.suffix = parts[4]
	}
	lines := bufio.NewScanner(strings.NewReader(string(data)))
	for lines.Scan() {
		key, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "# "), ": ")
		switch {
		case strings.HasPrefix(key, "rank "):
			g.ranks = append(g.ranks, value)
		case key == "schedule":
			g.kind = value
		case key == "p":
			g.p = scheduleInt(t, value)
		case key == "m":
			g.m = scheduleInt(t, value)
		case key == "v":
			g.v = scheduleInt(t, value)
		case key == "placement":
			g.placement = schedulePlacement(t, value)
		case key == "params":
			if _, size, ok := strings.Cut(value, "microbatch_group_size_per_vp_stage="); ok {
				g.g = scheduleInt(t,
					strings.FieldsFunc(size, func(r rune) bool { return r < '0' || r > '9' })[0])
			}
		}
	}
	return g
}

func schedulePlacement(t *testing.T, name string) schedule.Placement {
	t.Helper()
	for _, pl := range []schedule.Placement{
		schedule.Linear, schedule.Loop, schedule.VShape,
		schedule.Bidirectional,
	} {
		if pl.String() == name {
			return pl
		}
	}
	t.Fatalf("unknown placement %q", name)
	return 0
}

// goldenOrders reads every order file.
func goldenOrders(t *testing.T) []goldenOrder {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(scheduleFolder(t), "*_p*_m*_v*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no order files: %v", err)
	}
	orders := make([]goldenOrder, 0, len(paths))
	for _, path := range paths {
		orders = append(orders, readGoldenOrder(t, path))
	}
	return orders
}

// scheduleCosts are the costs of a named cost model: "F10I10W5c1" is F, I and W
// on one chunk and the latency c; B is I and W together.
func scheduleCosts(t *testing.T, model string, stages int) (schedule.ChunkTimes, schedule.Costs) {
	t.Helper()
	name, _, _ := strings.Cut(model, " ")
	var f, i, w, c int
	if _, err := fmt.Sscanf(name, "F%dI%dW%dc%d", &f, &i, &w, &c); err != nil && f*i*w == 0 {
		t.Fatalf("cost model %q: %v", model, err)
	}
	times := schedule.ChunkTimes{F: float64(f), I: float64(i), W: float64(w), B: float64(i + w)}
	return times, schedule.UniformCosts(schedule.Spec{Ranks: 1, VirtualStages: stages}, times, float64(c))
}

// goldenRow is one row of summary.csv, by column name.
type goldenRow map[string]string

func (r goldenRow) ints(t *testing.T, column string) []int {
	t.Helper()
	var ns []int
	for _, text := range strings.Fields(r[column]) {
		ns = append(ns, scheduleInt(t, text))
	}
	return ns
}

// goldenSummary reads summary.csv, keyed by order file.
func goldenSummary(t *testing.T) map[string][]goldenRow {
	t.Helper()
	rows := map[string][]goldenRow{}
	for _, row := range shared.CSV(t, "golden", "schedules", "summary.csv") {
		rows[row["file"]] = append(rows[row["file"]], goldenRow(row))
	}
	return rows
}
