package cli

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/presets"
	"meshscope/presets/near"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/ui"
)

// root returns the command tree. The command without a name opens the explorer.
func (a *app) root() *cobra.Command {
	var flags setupFlags
	var look screenFlags
	cmd := &cobra.Command{
		Use:   "meshscope [file or share string]",
		Short: "Explore 5D parallelism in the terminal",
		Long: "Explore how the training of a transformer is split over GPUs: memory, pipeline schedule, " +
			"communication and step time of any layout, live.\n\n" +
			"Without a command meshscope opens the explorer; the flags of 'eval' choose the setup that it " +
			"starts with. So does a file that 'import' reads, or a share string that y copies.\n\n" +
			"Exit code: 0 when you quit, 1 after an internal error, 129, 131 or 143 after SIGHUP, SIGQUIT " +
			"or SIGTERM.",
		Example: "meshscope\nmeshscope --model llama3.1-405b --cluster meta-roce-24k --gpus 16384 \\\n--tp " +
			"8 --pp 16 --vpp 8 --cp 2 --gbs 2048\n" +
			"meshscope eval --model llama3.1-70b --gpus 64 --tp 8 --pp 2",
		Args: cobra.ArbitraryArgs,
	}
	flags.register(a, cmd)
	look.register(cmd)
	cmd.RunE = a.wrap(func(cmd *cobra.Command, args []string) error {
		if args = flags.rest(args); len(args) > 0 && flags.file == "" && isFile(args[0]) {
			r, err := a.openFile(args[0], &flags)
			if err != nil {
				return err
			}
			flags.opened, args = r, args[1:]
		}
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return a.explore(cmd, &flags, &look)
	})
	cmd.SetFlagErrorFunc(a.flagError)
	cmd.AddCommand(a.evalCommand(), a.searchCommand(), a.compareCommand(), a.scanCommand(), a.adviseCommand(),
		a.timelineCommand(), a.presetsCommand(), a.reportCommand(), a.validateCommand(), a.calibrateCommand(),
		a.benchCommand(), a.explainCommand(), a.importCommand(), a.schemaCommand(), a.launchCommand(),
		a.lessonCommand(), a.serveCommand(), a.demoCommand(), a.versionCommand())
	cmd.SetHelpCommand(a.helpCommand(cmd))
	a.strictCompletion(cmd)
	return cmd
}

// helpCommand returns 'meshscope help'. It refuses unknown commands, which Cobra's own
// answers with exit code 0.
func (a *app) helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about a command",
		Args:  cobra.ArbitraryArgs,
		RunE: a.wrap(func(_ *cobra.Command, args []string) error {
			of, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(root, strings.Join(args, " "))
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		}),
	}
}

// strictCompletion makes 'completion' refuse shells that it does not support.
func (a *app) strictCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		var shells []string
		for _, shell := range c.Commands() {
			shells = append(shells, shell.Name())
		}
		c.Args = cobra.ArbitraryArgs
		c.RunE = a.wrap(func(_ *cobra.Command, args []string) error {
			return &usageError{fmt.Sprintf("completion: unknown shell %s, allowed is one of %s",
				escape.Quote(strings.Join(args, " ")), strings.Join(shells, ", "))}
		})
	}
}

// unknownCommand returns the error for a word that is no command, with the nearest one.
func unknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	message := fmt.Sprintf("unknown command %s", escape.Quote(word)) + near.Question(word, names)
	return &usageError{message}
}

// explore opens the explorer, or prints it with --plain. Without a terminal it prints why
// there is no explorer and ends with a usage error.
func (a *app) explore(cmd *cobra.Command, flags *setupFlags, look *screenFlags) error {
	if err := look.check(); err != nil {
		return err
	}
	if look.plain {
		return a.printPlain(cmd, flags)
	}
	if why := a.notInteractive(); why != "" {
		a.sayf("meshscope: %s\n\n%s", why, shortHelp)
		return outcome(exitUsage)
	}
	if flags.empty() {
		return a.run(cmd.Context(), ui.Options{Setup: presets.StartSetup()}, look)
	}
	b, err := flags.begin(a)
	if err != nil {
		return err
	}
	if b.Query == nil || b.Err != nil { // the defaults are no setup to open with: the layout is found before
		best, chosen, err := b.Choose(cmd.Context(), runtime.GOMAXPROCS(0))
		if err != nil {
			return err
		}
		if chosen != nil {
			a.notices = append(a.notices, chosen.Words(figure.Comma))
		}
		b.Setup, b.Query = best, nil
	}
	remark := flags.partial()
	if flags.noGPUs {
		remark = strings.TrimSuffix(gpusTaken(&b.Setup)+"; "+remark, "; ")
	}
	return a.run(cmd.Context(), ui.Options{
		Setup: b.Setup, Query: b.Query, Fixed: b.Fixed, Asked: true,
		Remark: remark,
	}, look)
}

// opening returns the setup that the explorer opens with.
func (a *app) opening(ctx context.Context, flags *setupFlags) (engine.Setup, error) {
	if flags.empty() {
		return presets.StartSetup(), nil
	}
	s, _, err := flags.start(ctx, a)
	return s, err
}

// printPlain prints all screens as sentences and returns the exit code of eval.
func (a *app) printPlain(cmd *cobra.Command, flags *setupFlags) error {
	s, err := a.opening(cmd.Context(), flags)
	if err != nil {
		return err
	}
	return a.printScreens(cmd.Context(), s)
}

// printScreens prints all screens of a setup as sentences and returns the exit code of eval.
func (a *app) printScreens(ctx context.Context, s engine.Setup) error {
	r := engine.Evaluate(s)
	answer := report.Answer{Document: func() *report.Document { return ui.Document(ctx, s, r, a.lib) }}
	if err := a.print(string(report.Speech), &answer); err != nil {
		return err
	}
	return verdict(&r)
}

const shortHelp = `The explorer needs a terminal. In a script or a pipe use:
  meshscope eval --model llama3.1-70b --gpus 64 --tp 8 --pp 2    evaluate one layout
  meshscope eval --batch FILE                                    evaluate many, one per line
  meshscope search --model llama3.1-70b --gpus 64                find the best layouts
  meshscope timeline --pp 4 --microbatches 8 --tf 1 --tb 2       draw a pipeline schedule
  meshscope presets models                                       list models
  meshscope --plain                                              all screens as sentences
  meshscope --help                                               all commands and flags
`

// notInteractive returns why the explorer cannot open here, or "" if it can.
func (a *app) notInteractive() string {
	switch {
	case a.screen == nil || terminalOf(a.stdin) == nil:
		return "input or output is not a terminal"
	case os.Getenv("TERM") == "dumb" || os.Getenv("TERM") == "":
		return "this terminal cannot show the explorer (TERM=" + escape.Quote(os.Getenv("TERM")) + ")"
	}
	return ""
}
