package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine"
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
			"A list counts over the flags: model=, gpu= and cluster= over --model, --gpu and --cluster, " +
			"and gpu= or cluster= gives another machine, in place of both --gpu and --cluster. " +
			"If A is left out, it is the setup given by the flags. With files, the flags apply to both.\n\n" +
			"Exit code: 0 both are legal and fit, 1 run-time error, 2 usage error, 3 one is illegal, 4 one " +
			"does not fit.",
		Example: "meshscope compare a.toml b.toml\n" +
			"meshscope compare tp=4 --tp 8 --pp 2 --gbs 512\n" +
			"meshscope compare recompute=full zero=3,recompute=selective --gpus 64 --tp 4 --json",
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
		if len(args) == 1 {
			args = []string{"", args[0]}
		}
		if args[0] == "-" && args[1] == "-" {
			return &usageError{"only one of A and B can be standard input"}
		}
		var sides [2]engine.Setup
		var chosen [2]*search.Chosen
		for i, word := range args {
			var err error
			if sides[i], chosen[i], err = flags.side(cmd.Context(), a, word); err != nil {
				return err
			}
		}
		a.sayChosenOf("A: ", chosen[0])
		a.sayChosenOf("B: ", chosen[1])
		c := compare.Setups(sides[0], sides[1])
		of := report.Comparison{
			Comparison: &c, Way: compare.ChangePath(sides[0], sides[1], nil), Words: args,
			Chosen: chosen, Library: a.lib,
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

// side returns one setup of a comparison: a file, or the setup of the flags with some
// knobs changed.
func (f *setupFlags) side(ctx context.Context, a *app, word string) (engine.Setup, *search.Chosen, error) {
	if word == "" {
		return f.start(ctx, a)
	}
	_, missing := os.Stat(word)
	if word != "-" && errors.Is(missing, fs.ErrNotExist) && strings.Contains(word, "=") {
		return f.turned(ctx, a, word)
	}
	if allowed := valueOfKey(word); allowed != "" && errors.Is(missing, fs.ErrNotExist) {
		return engine.Setup{}, nil,
			&usageError{fmt.Sprintf("%s has no value: give %s=VALUE, where allowed is %s", word, word,
				allowed)}
	}
	if f.file != "" {
		return engine.Setup{}, nil,
			&usageError{fmt.Sprintf("--setup needs lists such as tp=4, not the file %s", escape.Name(word))}
	}
	file := setupFlags{file: fileName(word), said: f.said}
	return file.start(ctx, a)
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

// displacedBy reports whether an item of a list takes the place of a flag: of the one of its own name,
// and a gpu or a cluster of the other.
func (s *said) displacedBy(item string) bool {
	by, of := keyOf(item), s.key
	if s.assignment {
		of = keyOf(s.value)
	}
	machine := []string{"gpu", "cluster"}
	return slices.Contains([]string{"model", "gpu", "cluster"}, by) && by == of ||
		slices.Contains(machine, by) && slices.Contains(machine, of)
}

// keyOf returns the key of key=value.
func keyOf(item string) string {
	key, _, _ := strings.Cut(item, "=")
	return strings.TrimSpace(key)
}

// turned returns the setup of the flags with the knobs of a list changed, one after the other. Where
// the flags give no degree there is no layout of theirs to change: the list is flags too.
func (f *setupFlags) turned(ctx context.Context, a *app, list string) (engine.Setup, *search.Chosen, error) {
	changes, err := setupdoc.ReadChanges(list)
	if err != nil { // before a search for the rest
		return engine.Setup{}, nil, err
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
		return engine.Setup{}, nil, err
	}
	if !slices.ContainsFunc(search.Degrees(),
		func(id knob.ID) bool { return base.Gives(id) || f.gives(string(id)) }) {
		for key, value := range changes.Knobs() {
			changed.said = append(changed.said, said{key: key, value: value})
		}
	}
	s, chosen, err := changed.start(ctx, a)
	if err != nil {
		return s, nil, err
	}
	s, err = changes.Turn(s, knob.Locks{GPUs: true, Batch: true})
	return s, chosen, err
}
