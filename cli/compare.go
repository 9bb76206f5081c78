package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine/compare"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/presets/setupdoc"
	"meshscope/report"
)

func (a *app) compareCommand() *cobra.Command {
	var flags setupFlags
	var output outputFlags
	cmd := &cobra.Command{
		Use:   "compare SETUP [SETUP]",
		Short: "Compare two setups term by term",
		Long: "'compare A B' or 'compare B': compare setup B with setup A: what differs and why, memory of " +
			"the fullest rank, parts of the step time, " +
			"communication per dimension, throughput, and the path from A to B, one change at a time.\n\n" +
			"A and B are setup files (TOML or JSON, or the output of 'eval --json'; - is standard input), " +
			"or lists such as tp=4,pp=2 that change knobs " +
			"of the setup given by the flags: GPUs and global batch stay fixed, dp and the number of " +
			"micro-batches adapt. " +
			"Where the flags give no degree (dp, tp, pp, cp, ep, zero) a list counts as further flags: it " +
			"gives what 'eval' gives for both together. " +
			"What neither side gives of batch, sequence and precision is that of A in both where B can run " +
			"it. " +
			"A list counts over the flags: model=, gpu= and cluster= over --model, --gpu and --cluster, " +
			"and gpu= or cluster= gives another machine, in place of both --gpu and --cluster. " +
			"If A is left out, it is the setup given by the flags. With files, the flags apply to both.\n\n" +
			"Exit code: 0 both are legal and fit, 1 run-time error, 2 usage error, 3 one is illegal, 4 one " +
			"does not fit.",
		Example: "meshscope compare a.toml b.toml\n" +
			"meshscope compare tp=4 --tp 8 --pp 2 --gbs 512\n" +
			"meshscope compare recompute=full zero=3,recompute=selective \\\n" +
			"  --gpus 64 --tp 4 --json",
		Args: cobra.ArbitraryArgs,
	}
	output.register(cmd, reportFormats(), string(report.JSON))
	flags.register(a, cmd)
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"json", "toml"}, cobra.ShellCompDirectiveFilterFileExt
	}
	cmd.RunE = a.wrap(func(cmd *cobra.Command, args []string) error {
		if err := output.resolveFormat(cmd); err != nil {
			return err
		}
		if len(args) == 0 || len(args) > 2 {
			return &usageError{fmt.Sprintf("compare takes one or two setups (files, or lists such as "+
				"tp=4,pp=2), given %d", len(args))}
		}
		if slices.Contains(args, "") {
			return &usageError{"compare: an empty setup, allowed is a file or a list such as tp=4,pp=2; " +
				"leave A out for the setup of the flags"}
		}
		if len(args) == 1 {
			args = []string{"", args[0]}
		}
		if args[0] == "-" && args[1] == "-" {
			return &usageError{"only one of A and B can be standard input"}
		}
		var sides [2]compared
		for i, word := range args {
			var err error
			if sides[i], err = flags.side(a, word); err != nil {
				return err
			}
			if err := sides[i].choose(cmd.Context(), a, nil); err != nil {
				return err
			}
		}
		holdAlike(cmd.Context(), a, &sides)
		c := compare.Setups(sides[0].setup, sides[1].setup)
		of := report.Comparison{
			Comparison: &c, Way: compare.ChangePath(c.A.Setup, c.B.Setup, nil), Words: args,
			Chosen: [2]*search.Chosen{sides[0].chosen, sides[1].chosen}, Library: a.lib,
		}
		left, other := &sides[0], &sides[1]
		if left.flags.noGPUs && other.flags.noGPUs && left.setup.GPUs == other.setup.GPUs { // said once
			a.sayf("meshscope: %s\n", gpusTaken(&left.setup))
			left.flags.noGPUs, other.flags.noGPUs = false, false
		}
		for i := range sides {
			sides[i].flags.sayTaken(a, sideName(i)+": ", &sides[i].setup, sides[i].chosen)
			if held := sides[i].heldWords(i); held != "" {
				of.Held = append(of.Held, held)
			}
		}
		if err := a.print(output.format, of.Answer(version)); err != nil {
			return err
		}
		return worse(verdict(&c.A.Report), verdict(&c.B.Report))
	})
	return cmd
}

// worse returns the worse of two verdicts: illegal is worse than not fitting.
func worse(a, b error) error {
	if a == nil || errors.Is(b, outcome(exitIllegal)) {
		return b
	}
	return a
}

// side returns one side of a comparison: a file, or the setup of the flags with some
// knobs changed.
func (f *setupFlags) side(a *app, word string) (compared, error) {
	if word == "" {
		return compared{flags: *f}, nil
	}
	_, missing := os.Stat(word)
	if word != "-" && errors.Is(missing, fs.ErrNotExist) && strings.Contains(word, "=") {
		return f.turned(a, word)
	}
	if allowed := valueOfKey(word); allowed != "" && errors.Is(missing, fs.ErrNotExist) {
		return compared{}, &usageError{fmt.Sprintf("%s has no value: give %s=VALUE, where allowed is %s",
			word, word, allowed)}
	}
	if f.file != "" {
		return compared{}, &usageError{fmt.Sprintf("--setup needs lists such as tp=4, not the file %s",
			escape.Name(word))}
	}
	return compared{flags: setupFlags{file: fileName(word), said: f.said}}, nil
}

// valueOfKey returns what a key of a list takes; empty for a word that is none.
func valueOfKey(word string) string {
	if slices.Contains([]string{"model", "gpu", "cluster"}, word) {
		return "an id of 'presets " + word + "s'"
	}
	k, ok := knob.Find(knob.ID(strings.ReplaceAll(word, "_", "-")))
	if !ok {
		return ""
	}
	return k.Allowed()
}

// displacedBy reports whether an item of a list takes the place of a flag: of that of its own name,
// and a gpu or a cluster of the other.
func (s *said) displacedBy(item string) bool {
	by, of := keyOf(item), s.key
	if s.assignment {
		of = keyOf(s.value)
	}
	machine := []string{"gpu", "cluster"}
	return by == of || slices.Contains(machine, by) && slices.Contains(machine, of)
}

// keyOf returns the key of key=value.
func keyOf(item string) string {
	key, _, _ := strings.Cut(item, "=")
	return strings.TrimSpace(key)
}

// turned returns the setup of the flags with the knobs of a list changed, one after the other. Where
// the flags give no degree there is no layout of theirs to change: the list is flags too.
func (f *setupFlags) turned(a *app, list string) (compared, error) {
	changes, err := setupdoc.ReadChanges(list)
	if err != nil { // before a search for the rest
		return compared{}, err
	}
	changed := setupFlags{
		file: f.file, text: f.text, said: slices.Clone(f.said),
		displaced: changes.Assignments,
	}
	for _, item := range changes.Assignments {
		changed.said = append(slices.DeleteFunc(changed.said,
			func(s said) bool { return s.displacedBy(item) }), said{"set", item, true})
	}
	base, err := changed.document(a)
	f.text = changed.text // standard input is read once
	if err != nil {
		return compared{}, err
	}
	if !slices.ContainsFunc(search.Degrees(),
		func(id knob.ID) bool { return base.Gives(id) || f.gives(string(id)) }) {
		for key, value := range changes.Knobs() {
			changed.said = append(changed.said, said{key: key, value: value})
		}
	}
	return compared{flags: changed, changes: changes}, nil
}
