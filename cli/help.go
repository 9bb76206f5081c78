package cli

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"meshscope/report"
)

// helpIndent is the number of columns around a description, in addition to the names.
const helpIndent = 8

// asksHelp reports whether arguments may print the help of a command.
func asksHelp(args []string) bool {
	return forPeople(args) && slices.ContainsFunc(args, func(arg string) bool {
		short := strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(arg, "h")
		return short || arg == "help" || strings.HasPrefix(arg, "--help")
	})
}

// wrapHelp wraps descriptions to the width of the terminal, next to the names of the flags, where help is
// asked for: it would take every start several milliseconds. Completion and the manual page get them
// unwrapped.
func (a *app) wrapHelp(root *cobra.Command, args []string) {
	if !asksHelp(args) {
		return
	}
	width := a.width(unknownWidth)
	for _, c := range append([]*cobra.Command{root}, root.Commands()...) {
		c.Long = report.Wrap(c.Long, width-4)
		room := width - helpIndent - nameWidth(c)
		for _, sub := range c.Commands() {
			sub.Short = report.Wrap(sub.Short, max(room, 20))
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			room := room
			if f.DefValue != "" && f.DefValue != "false" {
				room -= len(" (" + f.DefValue + ")") // which the help adds
			}
			f.Usage = report.Wrap(f.Usage, max(room, 20))
		})
	}
}

// helpGroup is the annotation of a flag with the heading that it stands under in the help.
const helpGroup = "group"

// groupHeads returns the headings of the flags that are the first of a group.
func groupHeads(c *cobra.Command) map[string]string {
	heads, last := map[string]string{}, ""
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if group := f.Annotations[helpGroup]; len(group) > 0 && group[0] != last && !f.Hidden {
			last = group[0]
			heads["--"+f.Name] = last
		}
	})
	return heads
}

// headed puts the headings of groups above their first flags, which stand below the line FLAGS; it
// reports whether that has come.
func headed(text string, heads map[string]string, below bool) (string, bool) {
	var out strings.Builder
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(strings.TrimSpace(ansi.Strip(line)), " ")
		below = below || name == "FLAGS"
		if head, first := heads[name]; first && below {
			out.WriteString("\n  " + head + "\n\n")
		}
		out.WriteString(line)
	}
	return out.String(), below
}

// nameWidth returns the width of the column of names in a command's help: flags, and
// commands with their placeholders.
func nameWidth(c *cobra.Command) int {
	longest := 0
	c.Flags().VisitAll(func(f *pflag.Flag) { longest = max(longest, len("--"+f.Name)) })
	for _, sub := range c.Commands() {
		name := sub.Use
		if sub.HasSubCommands() {
			name += " [command]"
		}
		if sub.HasFlags() {
			name += " [--flags]"
		}
		longest = max(longest, len(name))
	}
	return longest
}

// forPeople reports whether the output of cobra's built-in commands is for people, not for
// a shell or man.
func forPeople(args []string) bool {
	return len(args) == 0 || slices.Contains(args, "--help") || slices.Contains(args, "-h") ||
		!slices.Contains([]string{
			"man", "completion", cobra.ShellCompRequestCmd,
			cobra.ShellCompNoDescRequestCmd,
		}, args[0])
}
