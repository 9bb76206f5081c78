package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/launch"
	"meshscope/report"
)

// launchFlags are the flags of 'launch' next to those of a setup.
type launchFlags struct {
	to                   string
	list, legality, json bool
	sbatch, srun         bool
}

// check refuses flags that do not go together.
func (f *launchFlags) check() error {
	switch {
	case f.list && f.legality:
		return &usageError{"--list and --legality contradict each other: give one of them"}
	case (f.list || f.legality) && (f.to != "" || f.sbatch):
		return &usageError{"--list and --legality are about every launcher: give no --for and no --sbatch"}
	case f.json && !f.list && !f.legality:
		return &usageError{"--json needs --list or --legality: a launcher's file has a format of its own"}
	case f.srun && !f.sbatch:
		return &usageError{"--srun needs --sbatch: it is how a job starts its processes"}
	case !f.list && !f.legality && f.to == "":
		return &usageError{"launch needs --for: one of " + strings.Join(launch.IDs(), ", ")}
	}
	return nil
}

func (a *app) launchCommand() *cobra.Command {
	var of launchFlags
	var flags setupFlags
	cmd := &cobra.Command{
		Use:   "launch [FILE]",
		Short: "Write a layout as the file or command line of a launcher",
		Long: "Write a layout as the file or command line of a launcher, and nothing else, to standard " +
			"output: each line names the knob that it comes from. " +
			"Of a FILE of a launcher, such as import reads, what it says and the file written does not is " +
			"listed on standard error. " +
			"What only the site knows is marked YOURS. What the launcher does not run is refused with the " +
			"reason and the nearest layout that it runs.\n\n" +
			"Exit code: 0 written, 1 run-time error, 2 usage error, 3 illegal layout or refused by the " +
			"launcher, 4 written, but it does not fit.",
		Example: "meshscope launch --for megatron --model llama3.1-70b --gpus 64 --tp 8 --pp 2 --gbs 128 > " +
			"train.sh\nmeshscope launch --for bridge train.sh\nmeshscope launch --list",
		Args: cobra.ArbitraryArgs,
	}
	ids := launch.IDs()
	cmd.Flags().StringVar(&of.to, "for", "", "launcher: one of 'launch --list'")
	cmd.Flags().BoolVar(&of.list, "list", false,
		"list the launchers and the versions whose rules are checked")
	cmd.Flags().BoolVar(&of.legality, "legality", false,
		"say of every launcher whether it runs the layout, why not, and the nearest that it runs")
	cmd.Flags().BoolVar(&of.json, "json", false, "with --list or --legality: print a JSON document")
	cmd.Flags().BoolVar(&of.sbatch, "sbatch", false,
		"write a job of Slurm around it, which starts torchrun on every node")
	cmd.Flags().BoolVar(&of.srun, "srun", false,
		"with --sbatch: srun starts a process for each GPU, without torchrun")
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(ids, cobra.ShellCompDirectiveNoFileComp))
	flags.register(a, cmd)
	cmd.RunE = a.wrap(func(cmd *cobra.Command, args []string) error {
		args = flags.rest(args)
		var read *launch.Reading
		var file string
		if len(args) == 1 && of.to != "" && flags.file == "" && isFile(args[0]) {
			var err error
			if read, file, err = a.readFile(args[0], &flags); err != nil {
				return err
			}
			args = nil
		}
		if err := noArgs(cmd, args); err != nil {
			return err
		}
		if err := of.check(); err != nil {
			return err
		}
		if of.list {
			return a.listLaunchers(of.json)
		}
		if of.legality {
			s, chosen, err := flags.start(cmd.Context(), a)
			if err != nil {
				return err
			}
			flags.sayTaken(a, "", &s, chosen)
			return a.launcherVerdicts(&s, of.json)
		}
		l, ok := launch.Find(of.to)
		if !ok {
			return oneOf("--for", of.to, ids)
		}
		if read != nil {
			return a.rewrite(l, read, file, &of)
		}
		flags.launcher = &launcherFlag{id: l.ID}
		b, err := flags.begin(a)
		if err != nil {
			return err
		}
		if refused := l.RefusedModel(&b.Setup); len(refused) > 0 && b.Err == nil { // whatever its layout is
			for i := range refused {
				a.sayf("meshscope: %s\n", l.Line(&refused[i]))
			}
			return outcome(exitIllegal)
		}
		if !b.Setup.Frozen() { // no stack of a launcher has adapters, which are refused with who writes them
			if err := flags.ownStack(a, l); err != nil {
				return err
			}
		}
		if b, err = flags.begin(a); err == nil && b.Err == nil {
			_, err = flags.giveWay(a, l, &b.Setup)
		}
		if err != nil {
			return err
		}
		s, chosen, err := flags.start(cmd.Context(), a)
		if err != nil {
			return err
		}
		flags.sayTaken(a, "", &s, chosen)
		return a.writeLaunch(l, &s, nil, &of)
	})
	return cmd
}

// rewrite writes what was read from the file of a launcher as that of another, or of the same.
func (a *app) rewrite(l *launch.Launcher, r *launch.Reading, file string, of *launchFlags) error {
	if len(r.Problems) == 0 {
		s := r.Resolve(a.lib)
		for _, u := range r.Unknown {
			a.sayf("meshscope: not in %s, guessed: %s %v: %s\n", escape.Name(file), u.Name(), u.Guess,
				escape.Sentence(u.Why))
		}
		if len(r.Problems) == 0 {
			return a.writeLaunch(l, &s, r, of)
		}
	}
	return r.Err(file)
}

// writeLaunch writes a setup as a launcher's file, or says why the launcher does not run it.
func (a *app) writeLaunch(l *launch.Launcher, s *engine.Setup, from *launch.Reading, of *launchFlags) error {
	r := engine.Evaluate(*s)
	if !r.Legal {
		a.complain(r.Problems)
		return outcome(exitIllegal)
	}
	d, refused := l.Export(s, version)
	if len(refused) > 0 {
		a.sayRefused(l, s)
		return outcome(exitIllegal)
	}
	note := report.FitNote(r.Memory)
	d.Stamp = slices.Insert(d.Stamp, 2, note...)
	for _, w := range d.Warnings {
		a.sayf("meshscope: %s\n", w)
	}
	for _, n := range d.NotCarried {
		a.sayf("meshscope: not in the file: %s: %s\n", n.Key, n.Why)
	}
	if from != nil {
		for _, n := range from.Lost(d) {
			a.sayf("meshscope: lost: %s: %s\n", escape.Name(n.Key), escape.Sentence(n.Why))
		}
	}
	text := d.Text()
	if of.sbatch {
		text = d.Sbatch(of.srun)
	}
	if _, err := a.stdout.Write(text); err != nil {
		return err
	}
	for _, words := range note {
		a.sayf("meshscope: t%s\n", strings.TrimSuffix(words[1:], "."))
	}
	return verdict(&r)
}

// sayRefused tells why a launcher does not run a setup, and the nearest that it runs.
func (a *app) sayRefused(l *launch.Launcher, s *engine.Setup) {
	for _, line := range l.RefusedLines(s) {
		a.sayf("meshscope: %s\n", line)
	}
}

// launcherVerdicts prints what every launcher says of a setup.
func (a *app) launcherVerdicts(s *engine.Setup, asJSON bool) error {
	if problems := engine.Check(*s); !engine.Legal(*s) {
		a.complain(problems)
		return outcome(exitIllegal)
	}
	verdicts := launch.Check(s)
	if asJSON {
		return a.writeJSON(struct {
			SchemaVersion int              `json:"schema_version"`
			Setup         *engine.Setup    `json:"setup"`
			Launchers     []launch.Verdict `json:"launchers"`
		}{report.SchemaVersion, s, verdicts})
	}
	p := newPage(a.stdout)
	for _, v := range verdicts {
		if v.Accepted {
			p.printf("%-16s accepts it\n", v.Launcher)
		}
		for _, r := range v.Refusals {
			p.printf("%-16s refuses --%s: %s (%s)\n", v.Launcher, r.Field, r.Because, r.Source)
		}
		if len(v.Nearest) > 0 {
			p.printf("%-16s nearest that it runs: %s\n", "", launch.Turned(v.Nearest))
		}
	}
	return p.Flush()
}

// listLaunchers prints the launchers with the versions whose rules are checked.
func (a *app) listLaunchers(asJSON bool) error {
	type rule struct {
		ID     string  `json:"id"`
		Field  knob.ID `json:"field"`
		Source string  `json:"source"`
	}
	type entry struct {
		ID      string `json:"id"`
		Name    string `json:"name"`
		Version string `json:"version"`
		Source  string `json:"source"`
		Writes  bool   `json:"writes"` // every launcher's file is written and read: keys that were promised
		Reads   bool   `json:"reads"`
		Rules   []rule `json:"rules"`
	}
	list := []entry{}
	for _, l := range launch.Launchers() {
		e := entry{l.ID, l.Name, l.Version, l.Source, true, true, []rule{}}
		for _, r := range l.Rules() {
			e.Rules = append(e.Rules, rule{r.ID, r.Field, r.Source})
		}
		list = append(list, e)
	}
	if asJSON {
		return a.writeJSON(struct {
			SchemaVersion int     `json:"schema_version"`
			Launchers     []entry `json:"launchers"`
		}{report.SchemaVersion, list})
	}
	p := newPage(a.stdout)
	for _, e := range list {
		p.printf("%-16s %-16s %-14s %s\n", e.ID, e.Name, e.Version, escape.Line(e.Source))
	}
	if err := p.Flush(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
