package cli

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/engine/calibrate"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/launch"
	"meshscope/launch/logs"
	"meshscope/presets"
	"meshscope/presets/input"
	"meshscope/presets/measured"
	"meshscope/presets/setupdoc"
	"meshscope/report"
)

// calibrateFlags are the flags of 'calibrate' next to those of a setup.
type calibrateFlags struct {
	setup        setupFlags
	out          fileName
	search, json bool

	read map[[sha256.Size]byte]string // files that were read, by their text

	// that of the program, without models that are named by their file; nil: not made yet
	closed *presets.Library
}

// errNoLogFiles is the error for a log or a table that names a model file: it may come from
// anybody.
var errNoLogFiles = errors.New("a log or a table may not name a model file; --model may")

// library returns the presets for a setup that a log or a table gives: unless a flag names the
// model, it may not be a file.
func (f *calibrateFlags) library(a *app) *presets.Library {
	if f.setup.gives("model") {
		return a.lib
	}
	if f.closed == nil {
		f.closed = a.lib.ReadingModels(func(string) ([]byte, error) { return nil, errNoLogFiles })
	}
	return f.closed
}

func (a *app) calibrateCommand() *cobra.Command {
	f := &calibrateFlags{}
	cmd := &cobra.Command{
		Use:   "calibrate LOG...",
		Short: "Compare measured runs with predictions and fit the model to them",
		Long: "Compare measured runs with their predictions and fit few constants of the calibration to " +
			"their step times: efficiency of matrix products and attention, memory and link bandwidths, " +
			"host time. " +
			"Each constant has its standard error; one that the runs do not determine stays as it was, and " +
			"the table names the runs that would. Each run is also predicted by a fit without it.\n\n" +
			"A LOG is what a launcher printed: Megatron-LM, torchtitan, nanotron or DeepSpeed. The first 5 " +
			"iterations and the first line do not count; the median of the others does. " +
			"Jobs that crashed and times that jump are named by line and left out. Or it is a CSV table " +
			"with a header of setup keys and " + strings.Join(measured.Columns(),
			", ") + ". At most 10 MB of each file are read; - is standard input.\n\n" +
			"The setup of a job comes from the log (" + logs.SetupMark + " {JSON}, which jobs of 'bench' " +
			"print, or the arguments that Megatron-LM prints), else from LOG.toml or LOG.json next to it, " +
			"else from --setup and the flags. Flags override all of these.\n\n" +
			"Exit code: 0 compared, 1 run-time error or no measured run, 2 usage error.",
		Example: "meshscope calibrate slurm-*.out --out ours.toml --search\nmeshscope calibrate runs.csv " +
			"--json\nmeshscope eval --calibration ours.toml --model llama3.1-70b --gpus 64 --tp 8 --pp 2",
		Args: cobra.ArbitraryArgs,
	}
	flags := cmd.Flags()
	flags.Var(&f.out, "out", "write the fitted constants to a preset file, which --calibration takes; not "+
		"over an existing file")
	flags.BoolVar(&f.search, "search", false, "search anew with the fitted constants and compare the ranks")
	flags.BoolVar(&f.json, "json", false, "print a JSON document")
	f.setup.register(a, cmd)
	cmd.RunE = a.wrap(func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return &usageError{"calibrate needs a log or a table of runs; - is standard input"}
		}
		return a.calibrate(cmd.Context(), f, args)
	})
	return cmd
}

// calibrate reads files of runs, fits the constants and prints the comparison.
func (a *app) calibrate(ctx context.Context, f *calibrateFlags, names []string) error {
	if _, err := f.setup.document(a); err != nil { // also reads the file of --calibration
		return err
	}
	e := &engine.Evaluator{SkipTimeline: true}
	c := &report.Calibration{Header: report.NewHeader(version), LeftOut: []report.LeftOutLine{}}
	var runs []measured.Run
	for _, name := range names {
		got, err := a.measuredRuns(f, name, e, c)
		runs = append(runs, got...)
		if err != nil {
			if len(runs) == 0 && len(names) == 1 {
				return err
			}
			left := report.LeftOutLine{File: shortName(name), Message: describe(err)}
			if at, placed := errors.AsType[*input.Error](err); placed {
				left.Line, left.Message = at.Line, at.Err.Error()
			}
			c.LeftOut = append(c.LeftOut, left)
		}
	}
	err := oneLauncher(runs)
	if err != nil {
		return err
	}
	c.Fit, err = measured.Do(e, runs, func(s *engine.Setup) string { return layoutWords(s, a.lib) })
	if err != nil && (len(runs) == 0 || !errors.Is(err, calibrate.ErrNoRun)) {
		for _, l := range c.LeftOut {
			a.sayf("meshscope: %s:%d: %s\n", l.File, l.Line, l.Message)
		}
		return err
	}
	none := err
	if err = a.useFit(ctx, f, c); err != nil {
		return err
	}
	if f.json {
		err = a.writeJSON(c)
	} else {
		err = a.print(textFormat, &report.Answer{Document: c.Document})
	}
	if err == nil && none != nil {
		return outcome(exitError)
	}
	return err
}

// layoutWords returns a setup as flags, or its degrees where no flags give it.
func layoutWords(s *engine.Setup, lib *presets.Library) string {
	if flags, ok := setupdoc.Flags(*s, lib); ok {
		return strings.TrimPrefix(flags, "eval ")
	}
	return fmt.Sprintf("%s: %d GPUs, dp %d tp %d pp %d vpp %d cp %d ep %d, %d sequences of %d", s.Model.ID,
		s.GPUs, s.DP, s.TP, s.PP, s.VPP, s.CP, s.EP, s.GBS, s.Seq)
}

// useFit writes the preset of a fit and searches with it, as the flags say.
func (a *app) useFit(ctx context.Context, f *calibrateFlags, c *report.Calibration) error {
	if !c.Changed() {
		if f.out != "" || f.search {
			a.sayf("meshscope: these runs determine no constant; nothing was written or searched\n")
		}
		return nil
	}
	name := string(f.out)
	if name == "" {
		name = "fitted.toml"
	}
	id, ok := strings.CutSuffix(strings.ToLower(filepath.Base(name)), ".toml")
	if !ok {
		return &usageError{"--out " + escape.Name(name) + ": a preset file ends in .toml"}
	}
	text, err := c.Fit.Preset(a.lib, id, "meshscope calibrate, version "+version)
	if err != nil {
		return err
	}
	fitted, _, err := presets.WithFitted(name, text, a.lib)
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := writeNew(name, text); err != nil {
			return err
		}
		c.Preset = name
		c.Search = "meshscope search --calibration " + escape.Name(name)
		if !f.json {
			a.sayf("meshscope: written: %s; to rank layouts with it: %s\n", escape.Name(name), c.Search)
		}
	}
	if f.search {
		c.Ranking, err = ranking(ctx, c.Setup(), fitted)
	}
	return err
}

// writeNew writes a file that is not there yet.
func writeNew(name string, text []byte) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return &usageError{"--out " + escape.Name(name) + ": the file exists; give another name or remove it"}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", escape.Name(name), input.Reason(err))
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// Layouts of the new ranking, and of the old one that they are looked up in.
const (
	rankedTop = 10
	rankedOld = 200
)

// ranking searches for the best layouts of a setup's model, GPUs and batch with the constants of a
// library, and finds their ranks with those of the setup.
func ranking(ctx context.Context, s engine.Setup, fitted *presets.Library) ([]report.Ranked, error) {
	find := func(s engine.Setup, top int) ([]search.Found, error) {
		q := search.NewQuery()
		q.Setup, q.Collect = s, runtime.GC
		for id, n := range map[knob.ID]int{knob.GPUs: s.GPUs, knob.GBS: s.GBS, knob.Seq: s.Seq} {
			if err := q.Set(id, fmt.Sprint(n)); err != nil {
				return nil, fmt.Errorf("search: %w", err)
			}
		}
		(&launcherFlag{id: autoLauncher}).limit(q)
		p, err := q.Problem()
		if err != nil {
			return nil, fmt.Errorf("search: %w", err)
		}
		p.Top, p.Workers, p.Stack = top, runtime.GOMAXPROCS(0), debug.Stack
		return search.Run(ctx, p, nil).Best, ctx.Err()
	}
	with := s
	with.Cluster = fitted.Calibrate(s.Cluster)
	old, err := find(s, rankedOld)
	if err != nil {
		return nil, err
	}
	best, err := find(with, rankedTop)
	var out []report.Ranked
	for i, b := range best {
		r := report.Ranked{
			Rank: i + 1, Layout: layoutWords(&b.Setup, fitted),
			Step: float64(b.Report.Time.Step),
		}
		before := b.Setup
		before.Cluster = s.Cluster
		if e := engine.Evaluate(before); e.Time != nil {
			r.Before = float64(e.Time.Step)
		}
		r.Was = 1 + slices.IndexFunc(old, func(o search.Found) bool { return o.Setup == before })
		out = append(out, r)
	}
	return out, err
}

// shortName returns the name of a file for a table.
func shortName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return filepath.Base(name)
}

// measuredRuns reads the runs of one file, and notes what it leaves out.
func (a *app) measuredRuns(f *calibrateFlags, name string, e *engine.Evaluator,
	c *report.Calibration,
) ([]measured.Run, error) {
	in, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	sum := sha256.New()
	from, short := bufio.NewReader(io.TeeReader(in, sum)), shortName(name)
	leave := func(line int, message string) {
		c.LeftOut = append(c.LeftOut, report.LeftOutLine{File: short, Line: line, Message: message})
	}
	if head, _ := from.Peek(from.Size()); measured.IsTable(head) {
		runs, problems, err := measured.ReadTable(short, from, e,
			func(cells []measured.Cell) (engine.Setup, error) {
				return f.rowSetup(a, cells)
			})
		for _, p := range problems {
			at, _ := errors.AsType[*input.Error](p)
			leave(at.Line, describe(at.Err))
		}
		return f.once(runs, short, sum.Sum(nil), leave), err
	}
	runs, err := a.loggedRuns(f, name, from, leave)
	return f.once(runs, short, sum.Sum(nil), leave), err
}

// loggedRuns reads the runs of a log.
func (a *app) loggedRuns(f *calibrateFlags, name string, from io.Reader,
	leave func(int, string),
) ([]measured.Run, error) {
	short := shortName(name)
	jobs, problems, err := logs.Read(short, from)
	for _, p := range problems {
		leave(p.Line, p.Message)
	}
	var runs []measured.Run
	var last engine.Setup
	known := false
	for i := range jobs {
		j := &jobs[i]
		if s, wrong := f.jobSetup(a, name, j, &last, known); wrong != nil {
			leave(max(j.SetupLine, j.Line), "no setup: "+describe(wrong))
			known = false
			continue
		} else {
			last, known = s, true
		}
		if l, ok := launch.Find(j.Launcher); ok && l.Foreign(last.Stack) {
			leave(j.Line,
				fmt.Sprintf("printed by %s, and its setup is predicted as %s: give --calibration %s", l.Name,
					last.Stack.Resolve(), l.Stack()))
			continue
		}
		m, left, wrong := j.Measure(logs.Batch{GBS: last.GBS, Seq: last.Seq, GPUs: last.GPUs})
		for _, p := range left {
			leave(p.Line, p.Message)
		}
		if wrong != nil {
			leave(j.Line, "this job has no step time: "+wrong.Error())
			continue
		}
		runs = append(runs, measured.Run{
			Name: fmt.Sprintf("%s:%d", short, j.Line), Launcher: j.Launcher, Setup: last, Seconds: m.Seconds,
			Spread:    m.Spread,
			Allocated: j.Allocated, Reserved: j.Reserved, Device: j.Device,
		})
	}
	if len(jobs) == 0 && err == nil {
		err = fmt.Errorf("%s: %w", escape.Name(short), logs.ErrNothing)
	}
	return runs, err
}

// rowSetup returns the setup of a row of a table.
func (f *calibrateFlags) rowSetup(a *app, cells []measured.Cell) (engine.Setup, error) {
	doc, err := f.setup.document(a)
	if err != nil {
		return engine.Setup{}, err
	}
	for _, c := range cells {
		if err := doc.Assign(c.Key + "=" + c.Value); err != nil {
			return engine.Setup{}, err
		}
	}
	lib := a.lib
	if slices.ContainsFunc(cells, func(c measured.Cell) bool { return c.Key == "model" }) {
		lib = f.library(a)
	}
	return f.setup.over(doc.AsStated(), lib)
}

// jobSetup returns the setup of a job: what its log says, or the file next to the log, or --setup,
// with the flags over it.
func (f *calibrateFlags) jobSetup(a *app, name string, j *logs.Job, last *engine.Setup,
	known bool,
) (engine.Setup, error) {
	var doc *setupdoc.Document
	var err error
	lib := f.library(a)
	switch {
	case j.Restart && known:
		return *last, nil
	case j.Setup != nil && setupdoc.IsShare(string(j.Setup)):
		doc, err = setupdoc.Shared(string(j.Setup))
	case j.Setup != nil:
		doc, err = setupdoc.ParseLine(j.Setup)
	case j.Arguments != nil:
		if doc, err = f.printedArguments(a, name, j); doc == nil && err == nil {
			doc, err = f.besideLog(a, name)
			lib = a.lib
		}
	default:
		doc, err = f.besideLog(a, name)
		lib = a.lib
	}
	if err != nil {
		return engine.Setup{}, err
	}
	return f.setup.over(doc.AsStated(), lib)
}

// printedArguments returns the setup of the arguments that Megatron-LM prints, read as its command
// line; nil where no launcher reads it. What cannot be read of them is an error, unless a flag or
// a file next to the log gives it.
func (f *calibrateFlags) printedArguments(a *app, name string, j *logs.Job) (*setupdoc.Document, error) {
	r, ok := launch.Read("arguments.sh", logs.CommandLine(j.Arguments))
	if !ok {
		return nil, nil
	}
	var wrong []string
	for _, p := range r.Problems {
		if p.Key == string(knob.GPUs) && f.setup.gives(string(knob.GPUs)) || p.Key == "num-layers" &&
			f.setup.gives("model") {
			continue
		}
		if p.Key != "" {
			p.Message = p.Key + ": " + p.Message
		}
		wrong = append(wrong, p.Message)
	}
	for _, u := range r.Unknown { // a guess is no measured setup
		if !f.setup.gives(u.Name()) {
			wrong = append(wrong, u.Name()+": "+u.Why)
		}
	}
	if _, known := r.Setup["set.model.vocab"]; !known && len(wrong) == 0 && !f.setup.gives("model") {
		wrong = append(wrong, "vocab-size: None, and no line says \"padded vocab (size: N)\"")
	}
	if len(wrong) > 0 {
		if doc, err := f.fileBeside(a, name); doc != nil || err != nil {
			return doc, err
		}
		return nil, fmt.Errorf("the arguments that Megatron-LM printed are not a setup here: %s (%s.toml "+
			"or --setup may give it)", strings.Join(wrong, "; "), shortName(name))
	}
	return r.Document(a.lib)
}

// fileBeside returns the setup of the file of --setup, else of LOG.toml or LOG.json; nil: there is
// none.
func (f *calibrateFlags) fileBeside(a *app, name string) (*setupdoc.Document, error) {
	if f.setup.file != "" {
		return f.setup.document(a)
	}
	for _, ending := range []string{".toml", ".json"} {
		for _, of := range []string{name, strings.TrimSuffix(name, filepath.Ext(name))} {
			if text, err := input.ReadRegular(of+ending, input.MaxDocument); name != "-" && err == nil {
				return setupdoc.Parse(of+ending, text)
			}
		}
	}
	return nil, nil
}

// besideLog returns the setup of a file next to the log, or of --setup and the flags.
func (f *calibrateFlags) besideLog(a *app, name string) (*setupdoc.Document, error) {
	if doc, err := f.fileBeside(a, name); doc != nil || err != nil {
		return doc, err
	}
	if f.setup.empty() {
		return nil, fmt.Errorf("the log has no line %s, there is no %s.toml, and no flag gives one",
			logs.SetupMark, shortName(name))
	}
	return f.setup.document(a)
}
