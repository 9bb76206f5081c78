package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/report"
	"meshscope/themes"
	"meshscope/ui"
	"meshscope/ui/keyfile"
	"meshscope/ui/session"
)

// screenFlags say how the explorer is drawn.
type screenFlags struct {
	theme                   string
	ascii, noColor, noMouse bool
	noState, plain          bool

	said func(flag string) bool // on the command line
}

// themeNames are what --theme takes; auto asks the terminal for its background.
func themeNames() []string { return append([]string{"auto"}, themes.Names()...) }

func (f *screenFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.said = flags.Changed
	flags.StringVar(&f.theme, "theme", "auto", "colours of the explorer: "+strings.Join(themeNames(), ", "))
	flags.BoolVar(&f.noColor, "no-color", false, "no colours, as the environment variable NO_COLOR asks for")
	flags.BoolVar(&f.ascii, "ascii", false, "no characters beyond ASCII, for fonts without blocks and lines")
	flags.BoolVar(&f.noState, "no-state", false, "start afresh, and keep nothing for the next start")
	flags.BoolVar(&f.plain, "plain", false, "print what the screens show as plain sentences, for pipes and screen readers")
	flags.BoolVar(&f.noMouse, "no-mouse", false, "leave the mouse to the terminal")
	_ = cmd.RegisterFlagCompletionFunc("theme", cobra.FixedCompletions(themeNames(), cobra.ShellCompDirectiveNoFileComp))
}

func (f *screenFlags) check() error {
	return oneOf("--theme", f.theme, themeNames())
}

// runScreen shows the explorer until the user leaves it or a signal ends it. The
// terminal is restored in every case.
func (a *app) runScreen(ctx context.Context, s engine.Setup, f *screenFlags, fresh bool) error {
	defer frugal()()
	ctx, code, stop := onSignal(ctx)
	defer stop()
	o := ui.Options{
		Setup: s, Library: a.lib,
		ASCII: f.ascii, NoColor: f.noColor, Asked: fresh,
		CrashDir: crashDir(), Notices: slices.Clone(a.notices),
	}
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
	o.Version = version
	o.Export = func(f report.Format, d *report.Evaluation) (string, error) { return report.File(".", f, d) }
	if !f.noState {
		a.remember(&o)
	}
	err := ui.Run(o, tea.WithContext(ctx), tea.WithoutSignalHandler())
	if signalled := int(code.Load()); signalled != exitFine {
		return outcome(signalled)
	}
	if errors.Is(err, ui.ErrInterrupted) || ctx.Err() != nil {
		return nil
	}
	return err
}

// remember goes back to where the last session was left, as far as nothing else was
// asked for, and keeps what this one changes. A home that cannot be written is fine.
func (a *app) remember(o *ui.Options) {
	path := session.Path(os.Getenv)
	store, last, notices := session.Open(path, a.lib)
	o.Last = &last
	o.Notices = append(o.Notices, notices...)
	o.Hint = path != "" && !last.Hinted && len(notices) == 0
	o.Share = func(text string) (string, error) { return session.Share(path, text) }
	o.Keep = func(start, end session.Session) {
		if err := store.Save(start, end); err != nil && !session.Unwritable(err) {
			a.sayf("meshscope: %v\n", err)
		}
	}
}

// crashDir is where a crash file goes: the user's state folder, or that for
// temporary files when there is no home.
func crashDir() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "meshscope")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "state", "meshscope")
	}
	return os.TempDir()
}
