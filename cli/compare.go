package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/engine/compare"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/report"
)

func (a *app) compareCommand() *cobra.Command {
	var flags setupFlags
	var output outputFlags
	cmd := &cobra.Command{
		Use:   "compare [A] B",
		Short: "Compare two setups term by term",
		Long: "Compare setup B with setup A: what differs and why, memory of the fullest rank, parts of the step time, " +
			"communication per dimension, throughput, and the path from A to B, one change at a time.\n\n" +
			"A and B are setup files (TOML or JSON, or the output of 'eval --json'; - is standard input), or lists such as tp=4,pp=2 that change knobs " +
			"of the setup given by the flags: GPUs and global batch stay fixed, dp and the number of micro-batches adapt. " +
			"If A is left out, it is the setup given by the flags. With files, the flags apply to both.\n\n" +
			"Exit code: 0 both are legal and fit, 1 run-time error, 2 usage error, 3 one is illegal, 4 one does not fit.",
		Example: "meshscope compare a.toml b.toml\n" +
			"meshscope compare tp=4 --tp 8 --pp 2 --gbs 512\n" +
			"meshscope compare recompute=full zero=3,recompute=selective --gpus 64 --tp 4 --json",
		Args: cobra.ArbitraryArgs,
	}
	output.register(cmd, reportFormats(), string(report.JSON))
	flags.register(cmd)
	a.completeIDs(cmd)
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"json", "toml"}, cobra.ShellCompDirectiveFilterFileExt
	}
	cmd.RunE = a.wrap(func(cmd *cobra.Command, args []string) error {
		if err := output.settle(cmd); err != nil {
			return err
		}
		if len(args) == 0 || len(args) > 2 {
			return &usageError{fmt.Sprintf("compare takes one or two setups (files, or lists such as tp=4,pp=2), given %d", len(args))}
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
		a.sayChosen(chosen[0])
		if of := chosen[1]; of != nil && (chosen[0] == nil || of.Layouts != chosen[0].Layouts || of.TP != chosen[0].TP) {
			a.sayChosen(of)
		}
		c := compare.Setups(sides[0], sides[1])
		of := report.Comparison{Comparison: &c, Way: compare.ChangePath(sides[0], sides[1], nil), Words: args, Chosen: chosen, Library: a.lib}
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
	if f.file != "" {
		return engine.Setup{}, nil, &usageError{fmt.Sprintf("--setup needs lists such as tp=4, not the file %s", escape.Name(word))}
	}
	file := setupFlags{file: fileName(word), said: f.said}
	return file.start(ctx, a)
}

// turned returns the setup of the flags with the knobs of a list changed, one after the
// other.
func (f *setupFlags) turned(ctx context.Context, a *app, list string) (engine.Setup, *search.Chosen, error) {
	var knobs []said
	changed := setupFlags{file: f.file, said: f.said}
	for _, item := range assignments(list) {
		key, value, ok := strings.Cut(item, "=")
		key = strings.ReplaceAll(strings.TrimSpace(key), "_", "-")
		if k, known := knob.Find(knob.ID(key)); ok && known {
			if _, err := k.Set(engine.Setup{}, strings.TrimSpace(value)); err != nil {
				return engine.Setup{}, nil, err // before a search for the rest
			}
			knobs = append(knobs, said{key: key, value: strings.TrimSpace(value)})
			continue
		}
		// A model, a machine, or a field of one.
		changed.said = append(changed.said[:len(changed.said):len(changed.said)], said{"set", item, true})
	}
	s, chosen, err := changed.start(ctx, a)
	if err != nil {
		return s, nil, err
	}
	for _, k := range knobs {
		if s, err = knob.Turn(s, knob.ID(k.key), k.value, knob.Locks{GPUs: true, Batch: true}); err != nil {
			return s, nil, err
		}
	}
	return s, chosen, stillSaid(&s, knobs)
}

// stillSaid returns an error if a later knob of the list has changed an earlier one again.
func stillSaid(s *engine.Setup, knobs []said) error {
	for i, k := range knobs {
		p, _ := knob.Find(knob.ID(k.key))
		same, err := p.Set(*s, k.value)
		if err == nil && p.Text(same) == p.Text(*s) {
			continue
		}
		other := knobs[len(knobs)-1]
		if i == len(knobs)-1 && i > 0 {
			other = knobs[0]
		}
		if other.key == k.key {
			return &usageError{fmt.Sprintf("%s comes twice, as %s and %s", k.key, escape.Line(k.value), escape.Line(other.value))}
		}
		return &usageError{fmt.Sprintf("%s=%s and %s=%s contradict each other: together they give %s %s", k.key, escape.Line(k.value), other.key, escape.Line(other.value), k.key, p.Text(*s))}
	}
	return nil
}

// assignments splits tp=4,split=40,40,pp=2 into tp=4, split=40,40 and pp=2: a part without
// a key belongs to the value before it.
func assignments(list string) []string {
	var items []string
	for part := range strings.SplitSeq(list, ",") {
		if last := len(items) - 1; last >= 0 && !strings.Contains(part, "=") {
			items[last] += "," + part
			continue
		}
		items = append(items, part)
	}
	return items
}
