package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/figures"
	"meshscope/engine/knob"
	"meshscope/engine/scan"
	"meshscope/presets/near"
	"meshscope/report"
	"meshscope/report/figure"
)

// scanFlags are the flags of a scan in addition to those of the setup.
type scanFlags struct {
	setup       setupFlags
	x, by, y    string
	lock, chart string
	output      outputFlags
}

func (a *app) scanCommand() *cobra.Command {
	f := &scanFlags{}
	cmd := &cobra.Command{
		Use:   "scan",
		Short: "Show a figure over the values of one or two knobs",
		Long: "Show any figure of the report over the values of one or two knobs. The flags of 'eval' give " +
			"the setup that the knobs change.\n\n" +
			"--x and --by take a knob, which runs through its legal values, or a knob with values: " +
			"tp=2,4,8, tp=1..8, seq=8k..64k, mbs=1..16:x2, " +
			"recompute=none,full. A range of at most 64 numbers takes all of them, a wider one doubles. " +
			"--y takes a short word (" +
			strings.Join(figureWords(), ", ") + ") or a name that 'meshscope explain' lists.\n\n" +
			"Marks: - illegal, ! does not fit, * the given setup. --lock both, the default, keeps the " +
			"number of GPUs and the global batch fixed, so dp and the " +
			"number of micro-batches adapt; both change only if two knobs cannot hold otherwise. Two " +
			"values that contradict each other are illegal. " +
			"A global batch that is given in tokens stays so many tokens where the sequence changes.\n\n" +
			"Exit code: 0 a point fits, 1 run-time error, 2 usage error, 3 every point is illegal, 4 none " +
			"fits.",
		Example: "meshscope scan --x tp --y step --gpus 64 --pp 2 --gbs 512\n" +
			"meshscope scan --x tp=1..16 --by pp --y peak --gbs 512\n" +
			"meshscope scan --x nodes=1..64 --y tokens --lock none --tp 8 --csv",
		Args: cobra.ArbitraryArgs,
	}
	f.register(cmd)
	f.setup.register(a, cmd)
	cmd.RunE = a.asked(&f.output, &f.setup, func(cmd *cobra.Command) error {
		return a.scan(cmd.Context(), f)
	})
	return cmd
}

func (f *scanFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.x, "x", "x", "", "knob, or knob=values: tp or tp=2,4,8")
	flags.StringVar(&f.by, "by", "", "second knob: one row per value")
	flags.StringVarP(&f.y, "y", "y", "step",
		"figure: step, peak, mfu, tokens, bubble, ... or a name that 'explain' lists")
	flags.StringVar(&f.lock, "lock", "both", "what stays fixed: "+strings.Join(lockWords(), ", "))
	flags.StringVar(&f.chart, "chart", "auto", "draw bars: auto (on a terminal), on, off")
	f.output.register(cmd, reportFormats(), string(report.JSON), string(report.CSV))
	_ = cmd.RegisterFlagCompletionFunc("x",
		cobra.FixedCompletions(turnable(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("by",
		cobra.FixedCompletions(turnable(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("y",
		cobra.FixedCompletions(figureWords(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("lock",
		cobra.FixedCompletions(lockWords(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("chart", cobra.FixedCompletions([]string{"auto", "on", "off"},
		cobra.ShellCompDirectiveNoFileComp))
}

func figureWords() []string {
	var words []string
	for _, w := range figures.Words() {
		words = append(words, w.Word)
	}
	return words
}

// lockWords returns the values of --lock.
func lockWords() []string { return []string{"both", "gpus", "batch", "none"} }

// turnable returns the knobs that a scan takes.
func turnable() []string {
	var words []string
	for _, p := range knob.All() {
		if p.Kind != knob.List {
			words = append(words, string(p.ID))
		}
	}
	return words
}

func (a *app) scan(ctx context.Context, f *scanFlags) error {
	c, err := f.question()
	if err != nil {
		return err
	}
	base, chosen, err := f.setup.start(ctx, a)
	if err != nil {
		return err
	}
	f.setup.sayTaken(a, "", &base, chosen)
	c.Setup = base
	c.Locks.Tokens = c.Locks.Batch &&
		(f.setup.saysTokens() || f.setup.ownBatch && chosen != nil && chosen.Found)
	ctx, code, stop := onSignalOnce(ctx)
	defer stop()
	o := report.Scan{Query: *c, Chosen: chosen}
	if f.draws(a) {
		o.Bars = report.NewGlyphs(showsUnicode())
	}
	_, o.Name = figures.ByWord(f.y)
	o.Grid, err = c.Run(func() bool { return ctx.Err() != nil })
	switch large, tooMany := errors.AsType[scan.PointsError](err); {
	case tooMany:
		return tooManyPoints(large.Points)
	case err != nil:
		a.sayf("meshscope: the scan was stopped before it was done\n")
		return outcome(interrupted(ctx, int(code.Load())))
	}
	if err := checkFigure(&o, f.y); err != nil {
		return err
	}
	answer := o.Answer(version)
	answer.Chosen = chosen
	if err = a.print(f.output.format, answer); err != nil {
		return err
	}
	return scanVerdict(&o)
}

func tooManyPoints(n int) error {
	return &usageError{fmt.Sprintf("--x and --by have %s points, at most %s are allowed; give fewer "+
		"values, or a step or factor such as 1..64:x2", figure.Comma(n), figure.Comma(scan.MaxPoints))}
}

// question returns the knobs, the figure and the locks that the flags give.
func (f *scanFlags) question() (*scan.Query, error) {
	c := &scan.Query{}
	var err error
	if f.x == "" {
		return nil, &usageError{"--x is missing: give a knob, such as --x tp"}
	}
	if err := cmp.Or(oneOf("--chart", f.chart, []string{"auto", "on", "off"}),
		oneOf("--lock", f.lock, lockWords())); err != nil {
		return nil, err
	}
	c.Locks = knob.Locks{GPUs: f.lock == "both" || f.lock == "gpus", Batch: f.lock == "both" ||
		f.lock == "batch"}
	c.Figure, _ = figures.ByWord(f.y)
	if c.X, err = axis("--x", f.x); err != nil {
		return nil, err
	}
	if f.by == "" {
		return c, nil
	}
	if c.By, err = axis("--by", f.by); err != nil {
		return nil, err
	}
	if c.X.ID == c.By.ID {
		return nil, &usageError{fmt.Sprintf("--x and --by contradict each other: both turn %s", c.X.ID)}
	}
	if n := len(c.X.Values) * len(c.By.Values); n > scan.MaxPoints {
		return nil, tooManyPoints(n)
	}
	return c, nil
}

// axis parses tp, or tp=2,4,8.
func axis(flag, text string) (scan.Axis, error) {
	word, list, given := strings.Cut(text, "=")
	id := knob.ID(strings.ReplaceAll(strings.TrimSpace(word), "_", "-"))
	p, ok := knob.Find(id)
	if !ok || p.Kind == knob.List {
		return scan.Axis{}, noneOf(flag, word, turnable())
	}
	out := scan.Axis{ID: id}
	if !given {
		return out, nil
	}
	if id == knob.GBS {
		if tokens, err := knob.BatchesInTokens(list); err != nil || len(tokens) > 0 {
			out.Values, _ = p.Items(list)
			return out, err
		}
	}
	v, err := p.ParseValues(list)
	if err != nil {
		return out, err
	}
	out.Values = v.Words
	if p.Kind == knob.Number {
		for _, n := range v.Numbers(between(&v)) {
			out.Values = append(out.Values, strconv.Itoa(n))
		}
	}
	return out, nil
}

// everyNumber is the length up to which a range takes all its numbers.
const everyNumber = 64

// between returns the numbers of a range without a step.
func between(v *knob.Values) []int {
	low, high := v.Bounds()
	if high-low < everyNumber {
		out := make([]int, 0, high-low+1)
		for n := low; n <= high; n++ {
			out = append(out, n)
		}
		return out
	}
	var out []int
	for n := max(low, 1); n <= high; n *= 2 {
		out = append(out, n)
	}
	return out
}

// draws reports whether bars are drawn.
func (f *scanFlags) draws(a *app) bool {
	if f.chart != "auto" {
		return f.chart == "on"
	}
	return a.screen != nil
}

// checkFigure returns an error if no legal point has the figure.
func checkFigure(o *report.Scan, typed string) error {
	legal := false
	var any *scan.Point
	for p := range o.Points {
		if p.Value != nil {
			return nil
		}
		if p.Verdict != scan.Illegal {
			legal, any = true, p
		}
	}
	if !legal {
		return nil // the points say why
	}
	if id := figures.Lacking(any.Setup, o.Query.Figure); id != "" {
		return &usageError{fmt.Sprintf("--y %s needs --%s", escape.Line(typed), id)}
	}
	known := figureWords()
	r := engine.Evaluate(any.Setup)
	for _, f := range figures.List(&r) {
		known = append(known, f.ID)
	}
	message := fmt.Sprintf("--y: no point has a figure %s", escape.Quote(typed))
	if words := near.Words(typed, known, 3); len(words) > 0 {
		message += ": did you mean " + strings.Join(words, ", ") + "?"
	}
	return &usageError{message + "; 'meshscope explain' lists all figures"}
}

// scanVerdict returns the exit code of a scan: that of the best point.
func scanVerdict(o *report.Scan) error {
	best := exitIllegal
	for p := range o.Points {
		switch p.Verdict {
		case scan.Fits:
			return nil
		case scan.DoesNotFit:
			best = exitNoFit
		case scan.Illegal:
		}
	}
	return outcome(best)
}

// showsUnicode reports whether the locale shows more than ASCII.
func showsUnicode() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(os.Getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}
