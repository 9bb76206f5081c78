package cli

import (
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/search"
	"meshscope/launch"
)

// launcherFlag is --launcher: whose rules a layout meets.
type launcherFlag struct {
	id      string // auto: that of the software stack
	refused bool   // --refused, which is what any was called; --launcher overrides it
}

const autoLauncher = "auto"

func launcherWords() []string {
	return append([]string{autoLauncher}, append(launch.IDs(), launch.Any)...)
}

func (f *launcherFlag) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.id, "launcher", autoLauncher,
		"whose rules a layout meets ("+strings.Join(launcherWords(),
			", ")+"); auto: the launcher of the software stack; any: every legal layout")
	flags.BoolVar(&f.refused, "refused", false, "same as --launcher any")
	_ = flags.MarkHidden("refused")
	_ = cmd.RegisterFlagCompletionFunc("launcher",
		cobra.FixedCompletions(launcherWords(), cobra.ShellCompDirectiveNoFileComp))
}

func (f *launcherFlag) check() error {
	if l, ok := launch.Find(f.id); ok { // by an old word too
		f.id = l.ID
	}
	return oneOf("--launcher", f.id, launcherWords())
}

// of returns the launcher of a setup's stack or the one that is named; nil: any, or a stack
// whose launcher has no table of rules.
func (f *launcherFlag) of(stack recipe.Stack) *launch.Launcher {
	if f.id == autoLauncher {
		return launch.Of(stack)
	}
	l, _ := launch.Find(f.id)
	return l
}

// any reports whether no launcher's rules count.
func (f *launcherFlag) any() bool {
	return f.id == launch.Any || f.refused && f.id == autoLauncher
}

// ownStack predicts with the calibration of a launcher's stack where nothing gives one, and says so.
func (f *setupFlags) ownStack(a *app, l *launch.Launcher) error {
	doc, err := f.document(a)
	if err != nil || l.Stack() == "" || l.Stack() == recipe.DefaultStack.Resolve() ||
		f.gives(string(knob.Calibration)) || doc.Gives(knob.Calibration) {
		return err
	}
	f.said = append(f.said, said{key: string(knob.Calibration), value: string(l.Stack())})
	a.sayf("meshscope: predicted as %s, which this starts; --calibration for another stack\n", l.Stack())
	return nil
}

// giveWay takes, in place of a default that a launcher refuses, the nearest value that it runs, and says so.
func (f *setupFlags) giveWay(a *app, l *launch.Launcher, s *engine.Setup) (bool, error) {
	doc, err := f.document(a)
	if err != nil {
		return false, err
	}
	near, refused, ok := l.GivesWay(*s, func(id knob.ID) bool { return doc.Gives(id) || f.gives(string(id)) })
	if !ok {
		return false, nil
	}
	for i := range refused {
		r := &refused[i]
		k, _ := knob.Find(r.Field)
		f.said = append(f.said, said{key: string(k.ID), value: k.Text(near)})
		a.sayf("meshscope: --%s %s in place of the default %s, which %s refuses: %s\n", k.ID, k.Text(near),
			k.Text(*s), l.Name, r.Because)
	}
	return true, nil
}

// limit leaves out of a search what the launcher refuses, and writes into layouts what it must be told.
func (f *launcherFlag) limit(q *search.Query) {
	q.Refused, q.Collect = f.any(), runtime.GC
	if !q.Refused {
		f.of(q.Setup.Stack).Limit(q)
	}
}

// space returns all layouts that the launcher of a setup runs, and whose rules these keep; empty:
// nobody's.
func (f *launcherFlag) space(s *engine.Setup) (search.Space, string) {
	l := f.of(s.Stack)
	if f.any() || l == nil {
		return search.Space{Refused: f.any()}, ""
	}
	return search.Space{Refused: true, Accepts: l.Accepts, Launcher: l.ID, Instead: l.Instead}, l.Name
}

// accepts returns what the launcher of a setup runs of changes of it; nil: everything.
func (f *launcherFlag) accepts(s *engine.Setup) func(*engine.Setup) bool {
	if l := f.of(s.Stack); l != nil && !f.any() {
		return l.AcceptsFrom(s)
	}
	return nil
}
