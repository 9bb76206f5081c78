package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/engine/recipe"
	"meshscope/engine/search"
	"meshscope/launch"
	"meshscope/launch/logs"
	"meshscope/presets"
	"meshscope/presets/measured"
	"meshscope/presets/setupdoc"
	"meshscope/report/figure"
)

// benchFlags are the flags of 'bench': those of a search, and how many layouts to run.
type benchFlags struct {
	searchFlags

	to            string
	spread, steps int
}

// Bounds of --spread and --steps.
const (
	maxSpread = 100
	minSteps  = 10
	maxSteps  = 100_000
)

func (a *app) benchCommand() *cobra.Command {
	f := &benchFlags{}
	ids := launch.IDs()
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Write a Slurm job array that measures the best layouts",
		Long: "Write a Slurm job array that runs the best layouts of a search and a spread of others, " +
			"chosen so that their step times tell the constants of the model apart; some of these have " +
			"another sequence length or a smaller batch. " +
			"Each task prints its setup first, so that 'calibrate' reads its log as it is. A comment says " +
			"which constants the runs would determine, and how well.\n\n" +
			"The flags are those of 'search'. What only the site knows is marked YOURS.\n\n" +
			"Exit code: 0 written, 1 run-time error, 2 usage error, 3 no legal layout that the launcher " +
			"runs, 4 none fits.",
		Example: "meshscope bench --for megatron --model llama3.1-70b --gpus 64 --top 8 > " +
			"bench.sbatch\nsbatch bench.sbatch\nmeshscope calibrate bench-*.out --out ours.toml",
		Args: cobra.ArbitraryArgs,
	}
	flags := cmd.Flags()
	f.top, f.spread, f.steps = 8, 8, 30
	flags.StringVar(&f.to, "for", "", "launcher: one of "+strings.Join(ids, ", "))
	flags.Var(within(&f.top, 1, maxTop, ""), "top", "number of the best layouts to run")
	flags.Var(within(&f.spread, 0, maxSpread, ""), "spread",
		"number of others to run, which tell the constants apart")
	flags.Var(within(&f.steps, minSteps, maxSteps, ""), "steps", "iterations of each run")
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(ids, cobra.ShellCompDirectiveNoFileComp))
	f.setup.register(a, cmd)
	cmd.RunE = a.alone(func(cmd *cobra.Command) error {
		if f.to == "" {
			return &usageError{"bench needs --for: one of " + strings.Join(ids, ", ")}
		}
		l, ok := launch.Find(f.to)
		if !ok {
			return oneOf("--for", f.to, ids)
		}
		f.headroom, f.objective, f.launcher.id = autoHeadroom, string(search.Throughput), l.ID
		if err := f.setup.ownStack(a, l); err != nil {
			return err
		}
		return a.bench(cmd.Context(), f, l)
	})
	return cmd
}

// bench searches, chooses the layouts and writes the array.
func (a *app) bench(ctx context.Context, f *benchFlags, l *launch.Launcher) error {
	p, q, err := f.problem(a)
	if err != nil {
		return err
	}
	if len(p.Space.GPUs) > 1 {
		return &usageError{"bench runs on one number of GPUs: give --gpus one value"}
	}
	out := answer{}
	out.Query, out.Problem, out.Library = q, *p, a.lib
	out.run(ctx, func(search.Progress) {})
	best := slices.DeleteFunc(slices.Clone(out.Result.Best),
		func(b search.Found) bool { return len(l.Refusals(&b.Setup)) > 0 })
	if len(best) == 0 && len(out.Result.Best) > 0 {
		switch other, err := f.setup.giveWay(a, l, &out.Result.Best[0].Setup); {
		case err != nil:
			return err
		case other:
			return a.bench(ctx, f, l)
		}
		a.sayRefused(l, &out.Result.Best[0].Setup)
		return outcome(exitIllegal)
	}
	if len(best) == 0 {
		out.explain(ctx, func(search.Asking) {})
		a.sayf("meshscope: no layout that %s runs was found: %s\n", l.Name, out.Reason())
		return out.verdict()
	}
	setups := layoutsOf(best)
	if f.spread > 0 {
		setups = append(setups, others(ctx, p, l, setups)...)
	}
	e := &engine.Evaluator{SkipTimeline: true}
	spread, would, err := measured.Plan(e, setups, len(best), f.spread)
	if err != nil {
		return err
	}
	var tasks []launch.Task
	for i := range best {
		tasks = append(tasks, a.task(e, l, setups[i], f.steps, fmt.Sprintf("%d of the best", i+1)))
	}
	for _, i := range spread {
		tasks = append(tasks, a.task(e, l, setups[i], f.steps, "of the spread"))
	}
	for _, w := range tasks[0].Document.Warnings {
		a.sayf("meshscope: %s\n", w)
	}
	_, err = a.stdout.Write(launch.Array(tasks, benchStamp(best, spread, would)))
	return err
}

// benchStamp says what an array is for and which constants its runs would determine.
func benchStamp(best []search.Found, spread []int, would []measured.Constant) []string {
	lines := []string{
		fmt.Sprintf("Written by meshscope %s: the %s of a search and a spread of %d that tell the "+
			"constants of the model apart.", version, figure.Plural(len(best), "best layout"), len(spread)),
		"sbatch runs them; then: meshscope calibrate bench-*.out --out ours.toml",
	}
	var sure, open []string
	for _, c := range would {
		if c.Fitted {
			sure = append(sure, fmt.Sprintf("%s ± %.0f %%", c.ID, 100*c.Error))
		} else {
			open = append(open, c.ID+" ("+c.Tells+")")
		}
	}
	if len(sure) > 0 {
		lines = append(lines, "With steps that spread by 2 % these runs determine: "+strings.Join(sure,
			", ")+".")
	}
	for _, c := range open {
		lines = append(lines, "Not determined: "+c+".")
	}
	return lines
}

// task returns the job of a layout.
func (a *app) task(e *engine.Evaluator, l *launch.Launcher, s engine.Setup, steps int,
	rank string,
) launch.Task {
	d, _ := l.Export(&s, version)
	d.SetIterations(steps)
	r := e.Evaluate(s)
	t := launch.Task{Document: d, About: []string{rank + ": " + layoutWords(&s, a.lib)}}
	if r.Time != nil && r.Memory != nil {
		t.About = append(t.About,
			fmt.Sprintf("predicted: %s a step, %.1f GiB", figure.FineSeconds(r.Time.Step),
				r.Memory.Peak.GiB()))
	}
	setup, ok := setupdoc.Share(s, presets.Default(), a.lib)
	if !ok {
		text, _ := setupdoc.JSON(s)
		var line bytes.Buffer
		_ = json.Compact(&line, text)
		setup = line.String()
	}
	t.Echo = logs.SetupMark + " " + setup
	return t
}

func layoutsOf(found []search.Found) []engine.Setup {
	out := make([]engine.Setup, len(found))
	for i := range found {
		out[i] = found[i].Setup
	}
	return out
}

// poolTop is how many layouts of each TP, ZeRO stage, recomputation and batch a spread is chosen
// from.
const poolTop = 4

// others returns further layouts of a problem that the launcher runs and that leave a margin of
// memory: the best ones with each TP, ZeRO stage and recomputation, which are far from each other
// in what their steps are made of, also with other sequences and with a smaller batch.
func others(ctx context.Context, p *search.Problem, l *launch.Launcher,
	but []engine.Setup,
) (out []engine.Setup) {
	seen := map[engine.Setup]bool{}
	for _, s := range but {
		seen[s] = true
	}
	try := func(one search.Problem) {
		one.Top = poolTop
		for _, b := range search.Run(ctx, one, nil).Best {
			if !seen[b.Setup] && b.Report.Memory.HasMargin() && len(l.Refusals(&b.Setup)) == 0 {
				seen[b.Setup] = true
				out = append(out, b.Setup)
			}
		}
	}
	for _, size := range sizes(&but[0]) {
		for tp := 1; tp <= p.Setup.Cluster.Node(); tp *= 2 {
			for _, zero := range []int{1, 3} {
				for _, kept := range []recipe.Recompute{
					{Mode: recipe.RecomputeNone},
					{Mode: recipe.RecomputeFull},
				} {
					one := *p
					one.Space.Seq, one.Space.GBS, one.Space.FollowGBS = []int{size[0]}, []int{size[1]}, false
					if narrow(&one.Space.TP, tp) && narrow(&one.Space.ZeRO, zero) &&
						narrow(&one.Space.Recompute, kept) {
						try(one)
					}
				}
			}
		}
	}
	return out
}

// sizes returns sequences and global batches for a spread: those of a setup, a quarter and four
// times the sequence with as many tokens, for attention, and an eighth of the batch, for what is
// spent once a step.
func sizes(s *engine.Setup) [][2]int {
	out := [][2]int{{s.Seq, s.GBS}}
	if s.Seq%4 == 0 && s.Seq >= 4096 {
		out = append(out, [2]int{s.Seq / 4, s.GBS * 4})
	}
	if s.GBS%4 == 0 && 4*s.Seq <= s.Model.MaxSeq {
		out = append(out, [2]int{s.Seq * 4, s.GBS / 4})
	}
	if s.GBS%8 == 0 {
		out = append(out, [2]int{s.Seq, s.GBS / 8})
	}
	return out
}

// narrow makes a list of a space one of its values; false: it does not have it.
func narrow[T comparable](list *[]T, v T) bool {
	if len(*list) > 0 && !slices.Contains(*list, v) {
		return false
	}
	*list = []T{v}
	return true
}
