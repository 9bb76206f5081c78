package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"meshscope/engine/escape"
	"meshscope/lessons"
	"meshscope/presets/input"
	"meshscope/presets/own"
	"meshscope/report"
	"meshscope/ui"
	"meshscope/ui/session"
)

// ownLessons returns the folder of the user's own lessons; empty: nowhere.
func ownLessons() string {
	if folder := own.Folder(os.Getenv); folder != "" {
		return filepath.Join(folder, "lessons")
	}
	return ""
}

// allLessons returns the built-in and the own lessons; what is left out is told.
func (a *app) allLessons() []*lessons.Lesson {
	all, errs := lessons.All(ownLessons(), a.lib)
	a.leftOut(errs)
	return all
}

// leftOut tells which lessons are left out, and why.
func (a *app) leftOut(errs []error) {
	for _, err := range errs {
		a.sayf("meshscope: lesson left out: %v\n", err)
	}
}

func (a *app) lessonCommand() *cobra.Command {
	asJSON, asText, act := false, false, 0
	var look screenFlags
	cmd := &cobra.Command{
		Use:   "lesson [NAME]",
		Short: "Learn by predicting what a change does",
		Long: "Lessons ask what a change of a knob does before it is made, then make it and say why. " +
			"Without a name, lesson lists them. " +
			"With one it opens on the screens of the explorer, at the act where it was left: figures that " +
			"would answer are hidden, esc explores freely, B comes back. " +
			"--text, or no terminal, asks the questions as text, each answered by a line; where the input " +
			"ends the answers are shown, so that a pipe gets the whole lesson.\n\n" +
			"'lesson check' tests every claim of all lessons, or of a file, against the engine; 'lesson " +
			"new' prints a file to start from. " +
			"Own lessons are in ~/.config/meshscope/presets/lessons.\n\n" +
			"Exit code: 0, 1 where a check finds something, 2 usage error.",
		Example: "meshscope lesson\nmeshscope lesson second-step\nmeshscope lesson second-step " +
			"--text\nmeshscope lesson new > my-lesson.toml\nmeshscope lesson check my-lesson.toml",
		Args: cobra.ArbitraryArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the list as a JSON document")
	look.register(cmd)
	cmd.Flags().BoolVar(&asText, "text", false, "ask and answer as plain text, for pipes and screen readers")
	cmd.Flags().IntVar(&act, "act", 0, "begin at this act, from 1 on, instead of where the lesson was left")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var ids []string
		for _, l := range a.allLessons() {
			ids = append(ids, l.ID)
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
	cmd.RunE = a.wrap(func(cmd *cobra.Command, args []string) error {
		began := cmd.Flags().Changed("act")
		if err := oneOrList("lesson", args, asJSON); err != nil {
			return err
		}
		switch {
		case len(args) > 0:
		case asText:
			return &usageError{"--text needs the name of a lesson: meshscope lesson second-step --text"}
		case began:
			return &usageError{"--act needs the name of a lesson: meshscope lesson second-step --act 3"}
		default:
			return a.listLessons(asJSON)
		}
		l, err := lessons.Find(a.allLessons(), args[0])
		if err != nil {
			return &usageError{"lesson: " + err.Error()}
		}
		if began && (act < 1 || act > len(l.Acts)) {
			return &usageError{fmt.Sprintf("--act is %d; allowed: 1 to %d", act, len(l.Acts))}
		}
		if asText || look.plain || a.notInteractive() != "" {
			return a.lessonText(l, max(act-1, 0))
		}
		if err := look.check(); err != nil {
			return err
		}
		return a.run(cmd.Context(), ui.Options{Setup: l.Start(), Asked: true, Lesson: l, Act: act}, &look)
	})
	cmd.AddCommand(a.lessonCheckCommand(), a.lessonNewCommand())
	return cmd
}

// oneOrList checks that a command has one name, or none and lists, which --json is for.
func oneOrList(command string, args []string, asJSON bool) error {
	switch {
	case len(args) > 1:
		return &usageError{fmt.Sprintf("%s takes one name, given %d", command, len(args))}
	case len(args) == 1 && asJSON:
		return &usageError{fmt.Sprintf("--json is for the list: meshscope %s --json", command)}
	}
	return nil
}

// lessonEntry is a lesson in a list.
type lessonEntry struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Minutes int    `json:"minutes"`
	Acts    int    `json:"acts"`
	Source  string `json:"source"`
	Own     bool   `json:"own"`
	Done    bool   `json:"done"` // gone through in the explorer
}

func (a *app) listLessons(asJSON bool) error {
	var entries []lessonEntry
	learned := session.Learned(session.Path(os.Getenv))
	for _, l := range a.allLessons() {
		entries = append(entries, lessonEntry{
			l.ID, l.Title, l.Minutes, len(l.Acts), l.Source, l.Own,
			slices.Contains(learned, l.ID),
		})
	}
	return list(a, "lessons", entries, asJSON, []string{"lesson", "minutes", "acts", "done", "title"},
		func(e *lessonEntry) []any {
			done := ""
			if e.Done {
				done = "yes"
			}
			return []any{e.ID, e.Minutes, e.Acts, done, e.Title}
		})
}

func (a *app) lessonNewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Print a lesson file to start from",
		Long:  "Print a lesson with one act of several kinds, with remarks. 'lesson check' accepts it.",
		Args:  cobra.ArbitraryArgs,
	}
	cmd.RunE = a.alone(func(cmd *cobra.Command) error {
		_, err := fmt.Fprint(a.stdout, lessons.Template())
		return err
	})
	return cmd
}

func (a *app) lessonCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Test every claim of lessons against the engine",
		Long: "Run every act of all lessons, or of a file, and print what it would show: the figure before " +
			"and after, and the right answer. " +
			"A lesson is refused where a figure is unknown, not exactly one option is true, a wrong option " +
			"has no sentence of its own, a claim does not hold, or prose has a typed number.\n\n" +
			"Exit code: 0 all is well, 1 something is wrong: file, line and key are on standard error.",
		Example: "meshscope lesson check\nmeshscope lesson check my-lesson.toml",
		Args:    cobra.ArbitraryArgs,
	}
	cmd.RunE = a.wrap(func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return &usageError{fmt.Sprintf("lesson check takes one file, given %d", len(args))}
		}
		if len(args) == 1 {
			text, err := input.ReadFile(args[0], input.MaxPreset)
			if err != nil {
				return fileError(args[0], err)
			}
			l, errs := lessons.Parse(args[0], text, a.lib)
			if len(errs) == 0 {
				return a.printCheck([]*lessons.Lesson{l})
			}
			return a.faults(errs)
		}
		all, errs := lessons.All(ownLessons(), a.lib)
		if err := a.printCheck(all); err != nil {
			return err
		}
		return a.faults(errs)
	})
	return cmd
}

// faults prints what is wrong with lessons and returns exit code 1 where anything is.
func (a *app) faults(errs []error) error {
	for _, err := range errs {
		a.sayf("meshscope: %v\n", err)
	}
	if len(errs) > 0 {
		return outcome(exitError)
	}
	return nil
}

// printCheck prints what each act would show.
func (a *app) printCheck(all []*lessons.Lesson) error {
	t := &report.Table{
		Head:  []string{"lesson", "act", "kind", "figure", "before", "after", "answer"},
		Width: maxWidth,
	}
	for _, l := range all {
		for i := range l.Acts {
			act := &l.Acts[i]
			before, after := "", ""
			if act.Figure.ID != "" {
				before, after = lessons.Text(act.Figure), lessons.Text(act.Against)
			}
			t.Rows = append(t.Rows, report.Cells(l.ID, i+1, string(act.Kind), act.Figure.ID, before, after,
				act.Truth()))
		}
	}
	return a.print(textFormat, report.Blocks("", t))
}

func (a *app) demoCommand() *cobra.Command {
	asJSON := false
	var look screenFlags
	cmd := &cobra.Command{
		Use:   "demo [NAME]",
		Short: "Open a prepared setup on the screen that shows it",
		Long: "Open the explorer with a setup that is prepared for a demonstration, on the screen that " +
			"shows it, with the knob to turn in focus. Without a name, demo lists them.",
		Example: "meshscope demo\nmeshscope demo second-step",
		Args:    cobra.ArbitraryArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the list as a JSON document")
	look.register(cmd)
	cmd.RunE = a.wrap(func(cmd *cobra.Command, args []string) error {
		if err := oneOrList("demo", args, asJSON); err != nil {
			return err
		}
		if len(args) == 0 {
			all, err := lessons.Demos(a.lib)
			if err != nil {
				return err
			}
			return list(a, "demos", all, asJSON, []string{"demo", "title"},
				func(d *lessons.Demo) []any { return []any{d.ID, d.Title} })
		}
		d, err := lessons.FindDemo(args[0], a.lib)
		if err != nil {
			return &usageError{"demo: " + escape.Line(err.Error())}
		}
		return a.openDemo(cmd.Context(), &d, &look)
	})
	return cmd
}

// openDemo opens the explorer with a demonstration.
func (a *app) openDemo(ctx context.Context, d *lessons.Demo, look *screenFlags) error {
	if err := look.check(); err != nil {
		return err
	}
	if look.plain {
		return a.printScreens(ctx, d.Setup)
	}
	if why := a.notInteractive(); why != "" {
		a.sayf("meshscope: %s\n\n%s", why, shortHelp)
		return outcome(exitUsage)
	}
	o := ui.Options{Setup: d.Setup, Asked: true}
	o.Place.Screen, o.Place.Focus, o.Place.Note = d.Show, d.Focus, d.Try
	return a.run(ctx, o, look)
}
