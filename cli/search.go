package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
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

// searchFlags are the flags of a search beside those of the setup.
type searchFlags struct {
	setup setupFlags

	objective, free string
	headroom        string
	deadline, time  string
	top, jobs       int
	front, refused  bool
	output          outputFlags
}

// Bounds of numbers of a search.
const (
	maxTop  = 1000
	maxJobs = 1024
)

func (a *app) searchCommand() *cobra.Command {
	f := &searchFlags{}
	cmd := &cobra.Command{
		Use:   "search",
		Short: "Find the best layouts",
		Long: "Find the best layouts of a model on a cluster: every legal one is looked at, the best are evaluated in full.\n\n" +
			"The flags of 'eval' say the problem. A knob that is given is fixed, or takes a list or a range: --tp 2,4,8, --tp 2..8, --tp ..8, " +
			"--gpus 64..512:64, --mbs 1..16:x2, --schedule 1f1b,zb-h1 or all, --sp on,off. What is left out is free within these bounds: " +
			"tp up to twice the GPUs that the fast link joins, pp up to 128, cp powers of two with at least 512 tokens each of which 2 x cp divides the sequence, " +
			"vpp up to 16 over which the layers divide (with up to two places for embedding and head, three with MTP), mbs up to 16 and 32 and 64 (for largest-mbs on by powers of two to the batch), every ep and zero, etp 1 or tp, " +
			"1f1b and interleaved, recompute none, full, and quarters of the layers. A range of gpus goes by whole nodes, " +
			"one of gbs or seq doubles. GPUs that are not said are those of 'eval', or for fewest-gpus 1, 2, 4 nodes and so on and then, in ever finer steps, those between the fewest that will do and the next smaller number; a global batch that is not said is near 4 million tokens, or that of 'eval' where one value each of tp, pp, cp and gpus is given and no list of mbs or microbatches. Such a batch follows the GPUs for fewest-gpus, and doubles up to 60 million tokens where nothing meets the deadline.\n\n" +
			"Exit code: 0 something was found, 1 the time ended before anything was found (or an error), 2 usage, 3 no legal layout, 4 none fits or meets the deadline; 130 after ctrl+c, with what was found by then.",
		Example: "meshscope search --model llama3.1-70b --gpus 64\n" +
			"meshscope search --model llama3.1-405b --cluster meta-roce-24k --gpus 16384 --gbs 2048 --schedule all --time 10s\n" +
			"meshscope search --tokens 15T --deadline 60d --objective fewest-gpus --headroom 5%\n" +
			"meshscope search --setup run.toml --free all --json",
		Args: cobra.ArbitraryArgs,
	}
	f.register(cmd)
	f.setup.register(cmd)
	a.completeIDs(cmd)
	cmd.RunE = a.wrap(func(cmd *cobra.Command, args []string) error {
		if err := noArgs(cmd, args); err != nil {
			return err
		}
		if err := f.output.settle(cmd); err != nil {
			return err
		}
		return a.search(cmd.Context(), f)
	})
	return cmd
}

func (f *searchFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.output.register(cmd, "print a table as comma-separated values")
	f.top = 10
	flags.Var(within(&f.top, 1, maxTop, ""), "top", fmt.Sprintf("how many layouts, 1 to %d", maxTop))
	flags.StringVar(&f.objective, "objective", string(search.Throughput), "what is best: "+strings.Join(objectiveWords(), ", "))
	flags.BoolVar(&f.front, "front", false, "also the Pareto front of memory and speed")
	flags.StringVar(&f.headroom, "headroom", "0%", "share of the usable memory that must stay free")
	flags.StringVar(&f.deadline, "deadline", "", "leave out what needs longer for --tokens, such as 30d or 6w")
	flags.BoolVar(&f.refused, "refused", false, "also what some launcher refuses although it could run")
	flags.StringVar(&f.free, "free", "", "knobs of the setup file that are free all the same: a list, or all")
	flags.StringVar(&f.time, "time", "60s", "stop after this time with what was found; 0 for no bound")
	flags.Var(within(&f.jobs, 0, maxJobs, "one per core"), "jobs", "how many layouts at a time; 0 is one per core")
	_ = cmd.RegisterFlagCompletionFunc("objective", cobra.FixedCompletions(objectiveWords(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("free", cobra.FixedCompletions(append([]string{"all"}, idWords(knob.Searched())...), cobra.ShellCompDirectiveNoFileComp))
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

// answer is what a search found, and how it ended.
type answer struct {
	report.Search
	seconds float64
	signal  int // exit code of the signal that ended it
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
	ctx, code, stop := onSignal(ctx)
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
	out.seconds, out.signal = time.Since(start).Seconds(), interrupted(ctx, int(code.Load()))
	if a.screen != nil {
		out.Took = fmt.Sprintf("%.2f s", out.seconds)
	}
	all := report.Answer{Document: out.Document, Records: out.Records, Data: func() any { return out.document(a) }}
	if err = a.print(f.output.format, &all); err != nil {
		return err
	}
	table := report.Format(f.output.format).Records()
	if table && len(out.Result.Best) == 0 {
		a.sayf("meshscope: nothing found: %s\n", cmp.Or(out.Reason(), "in the time there was; --time gives more"))
	}
	if r := &out.Result; table && r.Partial && len(r.Best) > 0 {
		a.sayf("meshscope: PARTIAL: stopped with %s of the space searched: there may be better layouts\n", figure.FinePercent(r.Share))
	}
	return out.verdict()
}

// explain finds out why there is no layout, and how far the deadline is.
func (o *answer) explain(ctx context.Context, progress func(search.Asking)) {
	o.Conflict = search.Explain(ctx, o.Problem, progress)
	if o.Conflict == nil || !slices.Contains(o.Conflict.Fields, "deadline") {
		return
	}
	p := o.Problem
	if ctx.Err() != nil {
		return
	}
	p.Deadline, p.Objective, p.Top, p.Front = 0, search.Throughput, 1, false
	if p.Space.GPUs[len(p.Space.GPUs)-1] > p.Space.GPUs[0] {
		p.Space.GPUs = p.Space.GPUs[len(p.Space.GPUs)-1:] // the most are the fastest
	}
	if r := search.Run(ctx, p, nil); len(r.Best) > 0 {
		o.Fastest, o.FastestSoFar = &r.Best[0], r.Partial
	}
}

// interrupted is the exit code of the signal that ended a search. For the
// explorer SIGINT is a way of leaving; here it cuts an answer short.
func interrupted(ctx context.Context, code int) int {
	if code == exitFine && errors.Is(ctx.Err(), context.Canceled) {
		return exitInterrupt
	}
	return code
}

// verdict is the exit code of a search.
func (o *answer) verdict() error {
	switch {
	case o.signal != exitFine:
		return outcome(o.signal)
	case len(o.Result.Best) > 0:
		return nil
	case o.Conflict == nil:
		return outcome(exitError) // stopped before anything was found
	case o.NoFit():
		return outcome(exitNoFit)
	}
	return outcome(exitIllegal)
}

// problem is what the flags ask for.
func (f *searchFlags) problem(a *app) (*search.Problem, *search.Query, error) {
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	headroom, err := parseShare("--headroom", f.headroom)
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
	q, err := f.setup.query(a, free)
	if err != nil {
		return nil, nil, err
	}
	q.Objective, q.Headroom, q.Deadline, q.Refused = search.Objective(f.objective), headroom, units.Seconds(deadline), f.refused
	p, err := q.Problem()
	if err != nil {
		return nil, nil, err
	}
	p.Top, p.Front, p.Workers = f.top, f.front, f.jobs
	if p.Workers == 0 {
		p.Workers = runtime.GOMAXPROCS(0)
	}
	if deadline > 0 && p.Tokens == 0 {
		return nil, nil, &usageError{"--deadline needs --tokens: how long a run takes depends on how many tokens it has"}
	}
	if p.Objective == search.Cost && p.Tokens == 0 {
		return nil, nil, &usageError{"--objective cost needs --tokens: what a run costs depends on how many tokens it has"}
	}
	return &p, q, tooLarge(&p)
}

// check refuses what contradicts itself before any file is read.
func (f *searchFlags) check() error {
	if f.free != "" && f.setup.file == "" {
		return &usageError{"--free goes with --setup: what no file says is free already"}
	}
	return oneOf("--objective", f.objective, objectiveWords())
}

func parseFree(text string) ([]knob.ID, error) {
	switch strings.TrimSpace(text) {
	case "":
		return nil, nil
	case "all":
		return knob.Searched(), nil
	}
	var out []knob.ID
	for word := range strings.SplitSeq(text, ",") {
		id := knob.ID(strings.TrimSpace(word))
		if !slices.Contains(knob.Searched(), id) {
			return nil, &knob.ValueError{Field: "--free", Given: word, Allowed: "all, or a list of " + strings.Join(idWords(knob.Searched()), ", ")}
		}
		out = append(out, id)
	}
	return out, nil
}

// tooLarge refuses a space whose mere list of cuts would not fit into memory.
func tooLarge(p *search.Problem) error {
	combinations := len(p.Space.GPUs) * len(p.Space.GBS) * len(p.Space.Seq)
	if combinations <= maxCombinations && p.Cuts(maxCuts) <= maxCuts {
		return nil
	}
	return &usageError{fmt.Sprintf("the space is too large: --gpus, --gbs and --seq have %s combinations; give fewer, or a step or a factor, such as 64..512:x2", figure.Comma(combinations))}
}

// Bounds of a space.
const (
	maxCombinations = 10_000
	maxCuts         = 1 << 20
)
