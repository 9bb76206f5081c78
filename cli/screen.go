package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/lessons"
	"meshscope/report"
	"meshscope/themes"
	"meshscope/ui"
	"meshscope/ui/keyfile"
	"meshscope/ui/session"
)

// screenFlags are the flags for how the explorer is drawn.
type screenFlags struct {
	theme                   string
	ascii, noColor, noMouse bool
	calm, slow              bool
	noState, plain          bool

	said func(flag string) bool // on the command line
}

// themeNames returns the values of --theme; auto asks the terminal for its background.
func themeNames() []string { return append([]string{"auto"}, themes.Names()...) }

func (f *screenFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.said = flags.Changed
	flags.StringVar(&f.theme, "theme", "auto", "colours of the explorer: "+strings.Join(themeNames(), ", "))
	flags.BoolVar(&f.noColor, "no-color", false, "no colours; same as the environment variable NO_COLOR")
	flags.BoolVar(&f.ascii, "ascii", false, "ASCII characters only, for fonts without blocks and lines")
	flags.BoolVar(&f.calm, "calm", false,
		"what changed does not light up for a moment; over SSH it never does")
	flags.BoolVar(&f.slow, "slow", false, "for a slow line: --calm, and no more than 5 frames a second; a "+
		"line that takes long is --calm by itself")
	flags.BoolVar(&f.noState, "no-state", false, "neither restore the last session nor save this one")
	flags.BoolVar(&f.plain, "plain", false,
		"print all screens as plain sentences, for pipes and screen readers")
	flags.BoolVar(&f.noMouse, "no-mouse", false, "do not capture the mouse")
	_ = cmd.RegisterFlagCompletionFunc("theme",
		cobra.FixedCompletions(themeNames(), cobra.ShellCompDirectiveNoFileComp))
}

func (f *screenFlags) check() error {
	return oneOf("--theme", f.theme, themeNames())
}

// slowFPS is how often a slow line is drawn on, a second.
const slowFPS = 5

// run completes the options of the explorer and runs it until the user quits or a signal ends it. It always
// restores the terminal.
func (a *app) run(ctx context.Context, o ui.Options, f *screenFlags) error {
	giveUp := make(chan struct{})
	ctx, code, stop := onSignal(ctx, patience, func(int) { close(giveUp) })
	defer stop()
	o.Library, o.ASCII, o.NoColor = a.lib, f.ascii, f.noColor
	o.Command, o.Open = a.pasted(true), a.readDropped
	o.Lessons = func() ([]*lessons.Lesson, []error) { return lessons.All(ownLessons(), a.lib) }
	o.CrashDir, o.Notices = crashDir(), slices.Clone(a.notices)
	if f.said("theme") {
		o.Theme = f.theme
	}
	if f.said("no-mouse") {
		mouse := !f.noMouse
		o.Mouse = &mouse
	}
	keys, wrong := keyfile.Load(keyfile.Path(os.Getenv), ui.Actions())
	o.Keys = keys
	o.Notices = append(o.Notices, wrong...)
	o.Version, o.Calm = version, f.calm || f.slow
	o.Save = func(name, extension string, write func(io.Writer) error) (string, error) {
		return report.Save(".", name, extension, write)
	}
	o.Timeline = func(to io.Writer, trace bool, r *engine.Report) error {
		if trace {
			return predicted(r).writeTrace(to)
		}
		d := predicted(r)
		return d.write(svgFormat, to, 0)
	}
	o.Pipeline = pagePicture
	o.Export = func(f report.Format, d *report.Evaluation) (string, error) { return report.File(".", f, d) }
	if !f.noState {
		a.remember(&o)
	}
	o.GiveUp, o.Abort = giveUp, func() { abort(int(code.Load())) }
	options := []tea.ProgramOption{tea.WithoutSignalHandler()}
	if f.slow {
		options = append(options, tea.WithFPS(slowFPS))
	}
	err := ui.Run(ctx, o, options...)
	if signalled := int(code.Load()); signalled != exitFine {
		return outcome(signalled)
	}
	if errors.Is(err, ui.ErrInterrupted) || ctx.Err() != nil {
		return nil
	}
	return err
}

// remember restores the last session, except for what flags give, and saves what this one
// changes. An unwritable home is no error; a line at the end says that the session is lost.
func (a *app) remember(o *ui.Options) {
	path := session.Path(os.Getenv)
	store, last, notices := session.Open(path, a.lib)
	o.Last = &last
	o.Notices = append(o.Notices, notices...)
	o.Hint = path != "" && !last.Hinted && len(notices) == 0
	o.Share = func(text string) (string, error) { return session.Share(path, text) }
	o.KeepNow = func(start, end session.Session) error {
		if !store.Keeps() {
			return errors.New("there is no folder to keep it in")
		}
		return store.Save(start, end)
	}
	o.Keep = func(start, end session.Session) {
		switch err := store.Save(start, end); {
		case err == nil:
		case session.Unwritable(err):
			a.sayf("meshscope: the session is not kept: %s (--no-state: keep none)\n",
				strings.TrimPrefix(escape.Line(err.Error()), "session: "))
		default:
			a.sayf("meshscope: %v\n", err)
		}
	}
}

// crashDir returns the folder of crash files: the user's state folder, or that of temporary
// files if there is no home.
func crashDir() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "meshscope")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "state", "meshscope")
	}
	return os.TempDir()
}
