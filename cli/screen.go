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
	"meshscope/themes"
	"meshscope/ui"
	"meshscope/ui/export"
	"meshscope/ui/keyfile"
	"meshscope/ui/session"
)

// screenFlags say how the explorer is drawn.
type screenFlags struct {
	theme                   string
	ascii, noColor, noMouse bool
	noState, plain          bool
}

// themeNames are what --theme takes; auto asks the terminal for its background.
func themeNames() []string { return append([]string{"auto"}, themes.Names()...) }

func (f *screenFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.theme, "theme", "auto", "colours of the explorer: "+strings.Join(themeNames(), ", "))
	flags.BoolVar(&f.noColor, "no-color", false, "no colours, as the environment variable NO_COLOR asks for")
	flags.BoolVar(&f.ascii, "ascii", false, "no characters beyond ASCII, for fonts without blocks and lines")
	flags.BoolVar(&f.noState, "no-state", false, "start afresh, and keep nothing for the next start")
	flags.BoolVar(&f.plain, "plain", false, "print what the screens show as plain sentences, for pipes and screen readers")
	flags.BoolVar(&f.noMouse, "no-mouse", false, "leave the mouse to the terminal")
	_ = cmd.RegisterFlagCompletionFunc("theme", cobra.FixedCompletions(themeNames(), cobra.ShellCompDirectiveNoFileComp))
}

func (f *screenFlags) check() error {
	if slices.Contains(themeNames(), f.theme) {
		return nil
	}
	return &engine.ValueError{Field: "--theme", Given: clip(f.theme), Allowed: "one of " + strings.Join(themeNames(), ", ")}
}

// runScreen shows the explorer until the user leaves it or a signal ends it. The
// terminal is restored in every case.
func (a *app) runScreen(ctx context.Context, s engine.Setup, f *screenFlags, fresh bool) error {
	defer frugal()()
	ctx, code, stop := onSignal(ctx)
	defer stop()
	o := ui.Options{
		Setup: s, Library: a.lib,
		Theme: f.theme, ASCII: f.ascii, NoColor: f.noColor, NoMouse: f.noMouse,
		CrashDir: crashDir(), Notice: strings.Join(a.notices, "; "),
	}
	o.Share = func(text string) (string, error) { return session.Share(session.Path(os.Getenv), text) }
	keys, wrong := keyfile.Load(keyfile.Path(os.Getenv), ui.Actions())
	o.Keys = keys
	if len(wrong) > 0 {
		o.Notice = strings.Join(append(a.notices, wrong...), "; ")
	}
	o.Version = version
	o.Export = func(f export.Format, d *export.Document) (string, error) { return export.File(".", f, d) }
	a.remember(&o, f, fresh)
	err := ui.Run(o, tea.WithContext(ctx), tea.WithoutSignalHandler())
	if signalled := int(code.Load()); signalled != exitFine {
		return outcome(signalled)
	}
	if errors.Is(err, ui.ErrInterrupted) || ctx.Err() != nil {
		return nil
	}
	return err
}

// remember goes back to where the last session was left, unless a setup was asked
// for, and keeps where this one is left. A home that cannot be written is fine.
func (a *app) remember(o *ui.Options, f *screenFlags, fresh bool) {
	if f.noState {
		return
	}
	path := session.Path(os.Getenv)
	last, found, notice := session.Load(path, a.lib)
	if found && !fresh {
		o.Last = &last
	}
	if notice != "" {
		o.Notice = strings.TrimPrefix(o.Notice+"; "+notice, "; ")
	}
	o.Hint = path != "" && !last.Hinted && notice == ""
	o.Keep = func(s session.Session) {
		if err := session.Save(path, s); err != nil && !session.Unwritable(err) {
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
