package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/report"
	"meshscope/report/figure"
)

// searchFlags are the flags of a search in addition to those of the setup.
type searchFlags struct {
	setup setupFlags

	objective, free string
	headroom        string
	deadline, time  string
	top, jobs       int
	front           bool
	launcher        launcherFlag
	output          outputFlags
}

// Bounds of --top and --jobs.
const (
	maxTop  = 1000
	maxJobs = 1024
)

func (a *app) searchCommand() *cobra.Command {
	f := &searchFlags{}
	cmd := &cobra.Command{
		Use:   "search",
		Short: "Find the best layouts",
		Long: "Find the best layouts of a model on a cluster. Every legal layout is ranked, the best are " +
			"evaluated in full.\n\n" +
			"The flags of 'eval' give the problem. A knob that is given is fixed, or takes a list or a " +
			"range: --tp 2,4,8, --tp 2..8, --tp ..8, " +
			"--gpus 64..512:64, --mbs 1..16:x2, --schedule 1f1b,zb-h1 or all, --sp on,off. A range of gpus " +
			"takes whole nodes, one of gbs or seq doubles. --gbs 4Mtok is a batch in tokens.\n\n" +
			"A knob that is not given is free within these bounds: tp up to twice the GPUs of the fast " +
			"domain; pp up to 128; " +
			"cp powers of two, if 2 x cp divides the sequence and leaves at least 512 tokens each; " +
			"vpp up to 16, if the layers divide (with up to two extra places for embedding and head, three " +
			"with MTP); mbs up to 16, and 32 and 64 " +
			"(for largest-mbs further powers of two up to the batch); every ep and zero; every etp that " +
			"divides tp; schedules 1f1b and interleaved; " +
			"recompute none, full, quarters of the layers, and on Megatron-Core parts of layers with " +
			"experts (modules:norm,moe-act; with MLA mla-up, or all three). split all adds, of up to 16 " +
			"stages, those with one or two layers less at the end or at both.\n\n" +
			"If no number of GPUs is given, search uses that of 'eval'; fewest-gpus tries 1, 2, 4 GPUs " +
			"and so on below a node, then 1, 2, 4 nodes and so on, then the numbers between the fewest " +
			"that suffice and the next smaller one, in ever finer steps. " +
			"If no global batch is given, search uses that of the published run of the model nearest in " +
			"GPUs, else one near 4 million tokens, or that of 'eval' if tp, pp, cp and gpus each have one " +
			"value and mbs and microbatches no list. " +
			"For fewest-gpus such a batch adapts to the GPUs. No batch grows to meet a deadline unless " +
			"--gbs gives larger ones (--gbs 512..4096). A deadline is met where the slow end of the step's " +
			"error band meets it.\n\n" +
			"Exit code: 0 a layout was found, 1 the time ended before one was found, or a run-time error, " +
			"2 usage error, 3 no legal layout, 4 none fits or meets the deadline, " +
			"130 after ctrl+c, with what was found by then.",
		Example: "meshscope search --model llama3.1-70b --gpus 64\n" +
			"meshscope search --model llama3.1-405b --cluster meta-roce-24k \\\n" +
			"  --gpus 16384 --gbs 2048 --schedule all --time 10s\n" +
			"meshscope search --tokens 15T --deadline 60d \\\n" +
			"  --objective fewest-gpus --headroom 5%\n" +
			"meshscope search --setup run.toml --free all --json",
		Args: cobra.ArbitraryArgs,
	}
	f.register(cmd)
	f.setup.lists = true
	f.setup.register(a, cmd)
	cmd.RunE = a.asked(&f.output, &f.setup, func(cmd *cobra.Command) error {
		return a.search(cmd.Context(), f)
	})
	return cmd
}

func (f *searchFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.output.register(cmd, reportFormats(), string(report.JSON), string(report.CSV))
	f.top = search.DefaultTop
	flags.Var(within(&f.top, 1, maxTop, ""), "top", fmt.Sprintf("number of layouts to list, 1 to %d", maxTop))
	flags.StringVar(&f.objective, "objective", string(search.Throughput),
		"what to optimize: "+strings.Join(objectiveWords(), ", "))
	flags.BoolVar(&f.front, "front", false, "also list the Pareto front of memory and speed")
	flags.StringVar(&f.headroom, "headroom", autoHeadroom, "share of usable memory that must stay free, "+
		"such as 5% or 0; auto: layouts that leave 5% or the error band of their memory free, the larger "+
		"of both, come first, others after them")
	flags.StringVar(&f.deadline, "deadline", "", "longest run for --tokens, such as 30d or 6w")
	f.launcher.register(cmd)
	flags.Var(&filled{&f.free, "all, or a list of knobs"}, "free",
		"knobs that stay free although --setup gives them: a list, or all; of these every value is tried "+
			"only where they are named: "+strings.Join(idWords(search.Named()), ", "))
	flags.StringVar(&f.time, "time", "60s", "stop after this time with what was found; 0: no limit")
	flags.Var(within(&f.jobs, 0, maxJobs, "one per core"), "jobs", "number of workers; 0: one per core")
	_ = cmd.RegisterFlagCompletionFunc("objective",
		cobra.FixedCompletions(objectiveWords(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("free",
		cobra.FixedCompletions(append([]string{"all"}, idWords(knob.Searched())...),
			cobra.ShellCompDirectiveNoFileComp))
}

func objectiveWords() []string {
	var words []string
	for _, o := range search.Objectives() {
		words = append(words, string(o))
	}
	return words
}

func idWords(ids []knob.ID) []string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = string(id)
	}
	return words
}

// answer is the result of a search and how it ended.
type answer struct {
	report.Search
	signal int // exit code of the signal that ended it
}

func (a *app) search(ctx context.Context, f *searchFlags) error {
	p, q, err := f.problem(a)
	if err != nil {
		return err
	}
	limit, err := parseTime(f.time)
	if err != nil {
		return err
	}
	ctx, code, stop := onSignalOnce(ctx)
	defer stop()
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	start := time.Now()
	show, clear := a.progress()
	out := answer{Search: report.Search{Query: q, Problem: *p, Library: a.lib}}
	out.run(ctx, func(at search.Progress) { show(func() string { return progressLine(at) }) })
	if len(out.Result.Best) == 0 && !out.Result.Partial {
		out.explain(ctx, func(at search.Asking) { show(func() string { return askingLine(at) }) })
	}
	clear()
	out.Seconds, out.signal = time.Since(start).Seconds(), interrupted(ctx, int(code.Load()))
	if a.screen != nil {
		out.Took = fmt.Sprintf("%.2f s", out.Seconds)
	}
	if err = a.print(f.output.format, out.Answer(version)); err != nil {
		return err
	}
	table := report.Format(f.output.format).Records()
	if table && len(out.Result.Best) == 0 {
		a.sayf("meshscope: nothing found: %s\n",
			cmp.Or(out.Reason(), "the time ended; give more with --time"))
	}
	if r := &out.Result; table && r.Partial && len(r.Best) > 0 {
		a.sayf("meshscope: PARTIAL: stopped with %s of the space searched; better layouts may exist\n",
			figure.FinePercent(r.Share))
	}
	return out.verdict()
}

// explain finds out why there is no layout and, if the deadline is a reason, how it is missed; if memory is,
// which machine would do.
func (o *answer) explain(ctx context.Context, progress func(search.Asking)) {
	o.Conflict = search.Explain(ctx, o.Problem, progress)
	if o.Conflict != nil && slices.Contains(o.Conflict.Fields, "deadline") && ctx.Err() == nil {
		o.Missed = o.Problem.Missed(ctx, o.Query.UnsetBatch)
	}
	if c := o.Conflict; c != nil && c.Least != nil && slices.Contains(c.Fields, "memory") &&
		o.Missed == nil && len(o.Problem.Space.GPUs) == 1 && o.Problem.Objective != search.FewestGPUs {
		o.Smallest, o.Machine = o.Query.SmallestMachine(ctx, o.Problem.Workers, figure.Comma)
	}
}

// interrupted returns the exit code of the signal that ended a search. SIGINT quits the
// explorer normally; here it means that the answer is incomplete.
func interrupted(ctx context.Context, code int) int {
	if code == exitFine && errors.Is(ctx.Err(), context.Canceled) {
		return exitInterrupt
	}
	return code
}

// verdict returns the exit code of a search as an error.
func (o *answer) verdict() error {
	switch {
	case o.signal != exitFine:
		return outcome(o.signal)
	case len(o.Result.Best) > 0:
		return nil
	case o.Conflict == nil:
		return outcome(exitError) // stopped before a layout was found
	case o.NoFit():
		return outcome(exitNoFit)
	}
	return outcome(exitIllegal)
}

// problem returns the search that the flags ask for.
func (f *searchFlags) problem(a *app) (*search.Problem, *search.Query, error) {
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	headroom, err := parseHeadroom(f.headroom)
	if err != nil {
		return nil, nil, err
	}
	var deadline float64
	if f.deadline != "" {
		if deadline, err = parseDays(f.deadline); err != nil {
			return nil, nil, err
		}
	}
	free, err := parseFree(f.free)
	if err != nil {
		return nil, nil, err
	}
	doc, err := f.setup.document(a)
	if err != nil {
		return nil, nil, err
	}
	q, err := f.setup.query(doc, a.lib, free)
	if err != nil {
		return nil, nil, err
	}
	if f.setup.freedSplit != "" {
		a.sayf("meshscope: split %s of the file is left out: it fits its own stages alone (--free split)\n",
			f.setup.freedSplit)
	}
	q.Objective, q.Headroom, q.Margin, q.Deadline = search.Objective(f.objective), headroom,
		f.headroom == autoHeadroom, units.Seconds(deadline)
	f.launcher.limit(q)
	p, err := q.Problem()
	if err != nil {
		return nil, nil, err
	}
	p.Top, p.Front, p.Workers, p.Stack = f.top, f.front, f.jobs, debug.Stack
	if p.Workers == 0 {
		p.Workers = runtime.GOMAXPROCS(0)
	}
	if deadline > 0 && p.Tokens == 0 {
		return nil, nil,
			&usageError{"--deadline needs --tokens: the duration of a run depends on its number of tokens"}
	}
	if p.Objective == search.Cost && p.Tokens == 0 {
		return nil, nil,
			&usageError{"--objective cost needs --tokens: the cost of a run depends on its number of tokens"}
	}
	if givesNoGPUs(doc) && len(p.Space.GPUs) == 1 && p.Objective != search.FewestGPUs {
		a.sayf("meshscope: %s\n", gpusTaken(&p.Setup))
	}
	if len(p.Space.GBS) == 1 {
		f.setup.sayBatch(a, p.Space.GBS[0], slices.Max(p.Space.Seq))
	}
	return &p, q, tooLarge(&p)
}

// check returns an error for flags that are wrong without reading any file.
func (f *searchFlags) check() error {
	free, err := parseFree(f.free)
	if err != nil {
		return err
	}
	if f.setup.file == "" &&
		slices.ContainsFunc(free, func(id knob.ID) bool { return !slices.Contains(search.Named(), id) }) {
		return &usageError{"--free needs --setup: knobs that no file gives are free already, all but " +
			strings.Join(idWords(search.Named()), ", ")}
	}
	if err := f.launcher.check(); err != nil {
		return err
	}
	return oneOf("--objective", f.objective, objectiveWords())
}

func parseFree(text string) ([]knob.ID, error) {
	switch strings.TrimSpace(text) {
	case "":
		return nil, nil
	case "all":
		return search.Free(), nil
	}
	var out []knob.ID
	for word := range strings.SplitSeq(text, ",") {
		id := knob.ID(strings.TrimSpace(word))
		if !slices.Contains(knob.Searched(), id) {
			known := idWords(knob.Searched())
			wrong := noneOf("--free", word, known)
			wrong.Allowed = "all, or a list of " + strings.Join(known, ", ")
			wrong.Nearest, _, _ = strings.Cut(wrong.Nearest, "=") // zero of zero=3
			return nil, wrong
		}
		out = append(out, id)
	}
	return out, nil
}

// tooLarge returns an error if the list of layouts of a space would not fit into memory.
func tooLarge(p *search.Problem) error {
	combinations := len(p.Space.GPUs) * len(p.Space.GBS) * len(p.Space.Seq)
	if combinations <= maxCombinations && p.Cuts(search.MaxCuts) <= search.MaxCuts {
		return nil
	}
	return &usageError{fmt.Sprintf("the search space is too large: --gpus, --gbs and --seq have %s "+
		"combinations; give fewer, or a step or factor such as 64..512:x2", figure.Comma(combinations))}
}

// maxCombinations bounds a search space.
const maxCombinations = 10_000
