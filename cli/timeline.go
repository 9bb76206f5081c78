package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/schedule"
	"meshscope/presets/setupdoc"
	"meshscope/report"
)

// unitCosts are the durations of operations on one chunk, in any unit, without a model.
type unitCosts struct {
	tf, ti, tw, tb, p2p cost
	overlap             cost // at most 1
	blocks              bool
	extra               int // forwards
}

// cost is the value of a flag that takes a finite number >= 0; a share is at most 1.
type cost struct {
	value float64
	said  bool
	share bool
}

func (c *cost) String() string { return strconv.FormatFloat(c.value, 'g', -1, 64) }

func (c *cost) Type() string {
	if c.share {
		return "share"
	}
	return "cost"
}

// Bounds of a cost other than 0: sums and quotients of operations stay finite.
const (
	minCost = 1e-12
	maxCost = 1e12
)

func (c *cost) allowed() string {
	if c.share {
		return "a number from 0 to 1"
	}
	return fmt.Sprintf("0, or a number from %g to %g", minCost, maxCost)
}

func (c *cost) nearest(given string) string {
	if c.share {
		return nearestIn(given, 0, 1, false)
	}
	if v, ok := number(given); ok && v < minCost/2 {
		return "0"
	}
	return nearestIn(given, minCost, maxCost, false)
}

func (c *cost) Set(text string) error {
	v, ok, err := knob.ReadDecimal("", text)
	least, most := minCost, maxCost
	if c.share {
		least, most = 0, 1
	}
	if err != nil || !ok || !(v == 0 || v >= least && v <= most) {
		return errors.New("out of bounds")
	}
	c.value, c.said = v, true
	return nil
}

func (u *unitCosts) register(cmd *cobra.Command) {
	cmd.Flags().Var(&u.tf, "tf",
		"forward of one micro-batch on one chunk, in any unit; uses unit costs instead of a model")
	cmd.Flags().Var(&u.ti, "ti", "input gradient; default half of --tb")
	cmd.Flags().Var(&u.tw, "tw", "weight gradient; default half of --tb")
	cmd.Flags().Var(&u.tb, "tb", "full backward; default --ti plus --tw, or twice --tf")
	cmd.Flags().Var(&u.p2p, "p2p", "latency of a send/recv to another rank; default 0")
	cmd.Flags().BoolVar(&u.blocks, "p2p-blocks", false,
		"the sender waits for its sends, as in Megatron-LM's 1F1B")
	cmd.Flags().Var(within(&u.extra, 0, 1, ""), "extra-warmup",
		"extra warm-up forwards of interleaved; Megatron-LM uses 1 to overlap the expert all-to-all")
	u.overlap.share = true
	cmd.Flags().Var(&u.overlap, "overlap",
		"share of the shorter operation that an overlapped forward-backward pair hides, 0 to 1; default 0")
}

func (u *unitCosts) said() bool {
	return u.tf.said || u.ti.said || u.tw.said || u.tb.said || u.p2p.said || u.overlap.said
}

// check returns an error if a flag is given that needs unit costs.
func (u *unitCosts) check() error {
	const unitsOnly = " needs unit costs (--tf --ti --tw --tb --p2p --overlap)"
	switch {
	case u.blocks && !u.said():
		return &usageError{"--p2p-blocks" + unitsOnly}
	case u.extra != 0 && !u.said():
		return &usageError{"--extra-warmup" + unitsOnly}
	}
	return nil
}

// times returns the costs with defaults for what was not given: a backward takes two
// forwards, half of it for the input gradient. The halves must add up to the whole.
func (u *unitCosts) times() (schedule.ChunkTimes, error) {
	t := schedule.ChunkTimes{F: 1, B: u.tb.value, I: u.ti.value, W: u.tw.value}
	if u.tf.said {
		t.F = u.tf.value
	}
	half, halfCost := "ti", u.ti
	if !u.ti.said {
		half, halfCost = "tw", u.tw
	}
	switch {
	case u.tb.said && u.ti.said && u.tw.said:
		const rounding = 1e-9
		if sum := t.I + t.W; math.Abs(sum-t.B) > rounding*max(sum, t.B) {
			return t,
				contradiction("tb", "ti", fmt.Sprintf("ti + tw = %g + %g = %g, but tb is %g", t.I, t.W, sum,
					t.B))
		}
	case u.tb.said && halfCost.said && halfCost.value > t.B:
		return t,
			contradiction("tb", half, fmt.Sprintf("%s is a part of tb, but %g is more than %g", half,
				halfCost.value, t.B))
	case u.tb.said && u.ti.said:
		t.W = t.B - t.I
	case u.tb.said && u.tw.said:
		t.I = t.B - t.W
	case u.tb.said:
		t.I, t.W = t.B/2, t.B/2
	case u.ti.said && u.tw.said:
		t.B = t.I + t.W
	case u.ti.said:
		t.W, t.B = t.I, 2*t.I
	case u.tw.said:
		t.I, t.B = t.W, 2*t.W
	default:
		t.I, t.W, t.B = t.F, t.F, 2*t.F
	}
	return t, nil
}

func contradiction(one, other, why string) error {
	return &knob.ConflictError{Fields: [2]string{one, other}, Why: why}
}

func (a *app) timelineCommand() *cobra.Command {
	var flags setupFlags
	var costs unitCosts
	var output outputFlags
	var width int
	cmd := &cobra.Command{
		Use:   "timeline",
		Short: "Draw a pipeline schedule",
		Long: "Draw the operations of every pipeline rank over time.\n\n" +
			"With --tf, --ti, --tw, --tb, --p2p or --overlap the operations take those unit costs, without " +
			"a model. Otherwise they take " +
			"the predicted times of the setup given by the flags.\n\n" +
			"Exit code: 0 the schedule is legal, 1 run-time error, 2 usage error, 3 illegal layout.",
		Example: "meshscope timeline --pp 4 --microbatches 8 --tf 1 --tb 2\n" +
			"meshscope timeline --schedule zb-v --pp 4 --tf 1 --format json\n" +
			"meshscope timeline --schedule dualpipe --pp 8 --tf 1 --format svg > dual.svg\n" +
			"meshscope timeline --tp 8 --pp 4 --gbs 32 --format chrome-trace > step.json\n" +
			"meshscope timeline --format chrome-trace --streams > gpu.json",
		Args: cobra.ArbitraryArgs,
	}
	output.register(cmd, timelineFormats(), timelineFormats()[1:]...)
	cmd.Flags().Var(&counted{value: &width, low: minWidth, high: maxWidth, kind: "columns"}, "width",
		fmt.Sprintf(
			"columns of the drawing; default: those of the terminal or of the variable COLUMNS, %d in a "+
				"pipe or a file", drawWidth))
	byStream := false
	cmd.Flags().BoolVar(&byStream, "streams", false, "one GPU's step with a track for what it computes and "+
		"for the traffic of each dimension; for chrome-trace")
	costs.register(cmd)
	flags.register(a, cmd)
	cmd.RunE = a.asked(&output, &flags, func(cmd *cobra.Command) error {
		if err := costs.check(); err != nil {
			return err
		}
		if byStream {
			if output.format != traceFormat || costs.said() {
				return &usageError{"--streams: needs --format chrome-trace, and no unit costs"}
			}
			t, err := a.stepStreams(cmd.Context(), &flags)
			if err != nil {
				return err
			}
			return t.write(a.stdout)
		}
		draw := func(f *setupFlags) (*drawing, error) { return a.realTimeline(cmd.Context(), f) }
		if costs.said() {
			draw = func(f *setupFlags) (*drawing, error) { return a.unitTimeline(f, &costs) }
		}
		d, err := draw(&flags)
		if err != nil {
			return err
		}
		d.preface.Notices = a.notices
		if width == 0 {
			width = a.width(drawWidth)
		}
		return d.write(output.format, a.stdout, width)
	})
	return cmd
}

// realTimeline returns the timeline of a setup with its predicted times.
func (a *app) realTimeline(ctx context.Context, flags *setupFlags) (*drawing, error) {
	s, chosen, err := flags.start(ctx, a)
	if err != nil {
		return nil, err
	}
	flags.sayTaken(a, "", &s, chosen)
	r := engine.Evaluate(s)
	if !r.Legal || r.Timeline == nil {
		a.complain(r.Problems)
		return nil, outcome(exitIllegal)
	}
	d := predicted(&r)
	d.preface.Chosen = chosen
	return d, nil
}

// predicted returns the timeline of a legal report.
func predicted(r *engine.Report) *drawing {
	return &drawing{
		timeline: r.Timeline.OpTimes(), unit: "seconds", exact: " " + r.Time.Band("±"),
		bubble:     report.Bubble(r),
		memory:     func(rank int) []schedule.Sample { return r.MemoryOver(nil, rank) },
		memoryUnit: "bytes",
	}
}

// complain prints why a setup is illegal.
func (a *app) complain(problems []engine.Problem) {
	for _, p := range problems {
		if p.Severity != layout.Error {
			continue
		}
		a.sayf("meshscope: illegal: %s: %s\n", p.Field, p.Message)
		if len(p.Nearest) > 0 {
			a.sayf("  nearest: %s\n", report.Nearest(p.Field, p.Nearest))
		}
	}
}

// unitTimeline simulates a schedule with unit costs. Of the setup only the shape of the
// pipeline counts.
func (a *app) unitTimeline(flags *setupFlags, costs *unitCosts) (*drawing, error) {
	s, err := flags.shape(a)
	if err != nil {
		return nil, err
	}
	s.ExtraWarmup = costs.extra
	times, err := costs.times()
	if err != nil {
		return nil, err
	}
	if times.F+times.B == 0 && costs.p2p.value == 0 {
		return nil,
			&usageError{"--tf: given \"0\", but all costs are 0: at least one must be above 0, nearest 1"}
	}
	if problems := cannot(s); len(problems) > 0 {
		a.complain(problems)
		return nil, outcome(exitIllegal)
	}
	unit := schedule.UniformCosts(s, times, costs.p2p.value)
	unit.Overlap, unit.P2PBlocks = costs.overlap.value, costs.blocks
	order, err := schedule.BuildFor(s, unit, nil)
	if err != nil {
		return nil, err
	}
	d := &drawing{unit: "1", memoryUnit: "chunk activations"}
	if d.timeline, err = schedule.Simulate(order, unit); err != nil {
		return nil, err
	}
	times.Saved = unit.Overlap * min(times.F, times.B)
	if idle, ok := s.ClosedFormIdle(times); ok && costs.p2p.value == 0 {
		d.idle = &idle
	}
	chunks := make([]schedule.ChunkBytes, order.Chunks())
	for c := range chunks {
		chunks[c] = schedule.ChunkBytes{Activation: 1, WeightInputs: 1}
	}
	d.memory = func(rank int) []schedule.Sample { return d.timeline.Memory(nil, rank, chunks) }
	return d, nil
}

// cannot returns why a schedule cannot be executed, or is too large to simulate.
func cannot(s schedule.Spec) []engine.Problem {
	var problems []engine.Problem
	for _, is := range s.Check() {
		if is.Warning {
			continue
		}
		p := engine.Problem{
			Code: is.Code, Severity: layout.Error, Field: is.Field, Message: is.Message,
			Nearest: map[string]any{},
		}
		for field, v := range is.Nearest {
			p.Nearest[field] = v
		}
		problems = append(problems, p)
	}
	if joint := together(s); len(problems) > 1 && joint != nil {
		for i := range problems {
			problems[i].Nearest = joint
		}
	}
	return problems
}

// together applies the proposals of one error after the other until none is left, and
// returns what they change; nil if that does not end.
func together(s schedule.Spec) map[string]any {
	const most = 8
	change := map[string]any{}
	for range most {
		issues := s.Check()
		i := slices.IndexFunc(issues, func(is schedule.Issue) bool { return !is.Warning })
		if i < 0 {
			return change
		}
		for field, v := range issues[i].Nearest {
			if n := specField(&s, field); n != nil {
				*n, change[field] = v, v
			}
		}
	}
	return nil
}

// specField returns a count of a spec by the name of its flag.
func specField(s *schedule.Spec, field string) *int {
	switch knob.ID(field) {
	case knob.PP:
		return &s.Ranks
	case knob.VPP:
		return &s.VirtualStages
	case knob.MicroBatches:
		return &s.MicroBatches
	case knob.GroupSize:
		return &s.GroupSize
	case knob.MaxInFlight:
		return &s.MaxInFlight
	default:
	}
	return nil
}

// shape returns the schedule given by the flags: pp, vpp, microbatches, schedule, group
// size and limit of micro-batches in flight.
func (f *setupFlags) shape(a *app) (schedule.Spec, error) {
	doc := &setupdoc.Document{}
	if f.file != "" {
		return schedule.Spec{},
			&usageError{"--setup and unit costs (--tf --ti --tw --tb --p2p --overlap) contradict each other"}
	}
	only := setupFlags{}
	for _, s := range f.said {
		switch knob.ID(s.key) {
		case knob.PP, knob.VPP, knob.MicroBatches, knob.Schedule, knob.GroupSize, knob.MaxInFlight:
			only.said = append(only.said, s)
		default:
			return schedule.Spec{}, &usageError{fmt.Sprintf(
				"--%s and unit costs (--tf --ti --tw --tb --p2p --overlap) contradict each other: unit "+
					"costs take only --pp, --vpp, --microbatches, --schedule, --group-size and "+
					"--max-in-flight", s.key)}
		}
	}
	only.said = append(only.said, said{key: string(knob.DP), value: "1"})
	s, err := only.over(doc, a.lib)
	return s.Spec(), err
}

// finite reports whether the times of a timeline are finite.
func finite(t *schedule.Timeline) bool { return !math.IsNaN(t.Makespan) && !math.IsInf(t.Makespan, 0) }
