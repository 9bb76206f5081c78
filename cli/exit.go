package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/presets"
	"meshscope/presets/input"
	"meshscope/presets/near"
	"meshscope/presets/setupdoc"
)

// Exit codes of every command.
const (
	exitFine    = 0
	exitError   = 1 // something went wrong while running
	exitUsage   = 2 // wrong flags, arguments or files
	exitIllegal = 3 // the layout cannot be executed
	exitNoFit   = 4 // legal, but it does not fit into memory

	exitInterrupt = 130 // ctrl+c stopped a search
)

// outcome is an exit code that the answer on standard output already explains.
type outcome int

func (o outcome) Error() string { return fmt.Sprintf("exit code %d", int(o)) }

// usageError is an error in flags or arguments.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

// exitCode returns the exit code of an error: 2 for every mistake in flags, arguments and
// files, 1 for what went wrong while running.
func exitCode(err error) int {
	var (
		said     outcome
		usage    *usageError
		value    *knob.ValueError
		conflict *knob.ConflictError
		key      *setupdoc.KeyError
		unknown  *presets.UnknownError
		file     *input.Error
		share    *setupdoc.ShareError
		list     *setupdoc.ListError
	)
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &said):
		return int(said)
	case errors.As(err, &usage), errors.As(err, &value), errors.As(err, &conflict),
		errors.As(err, &key), errors.As(err, &unknown), errors.As(err, &file), errors.As(err, &share),
		errors.As(err, &list):
		return exitUsage
	}
	return exitError
}

// describe returns the message of an error. It names a value by its flag; an error in a
// file has its position in front already.
func describe(err error) string {
	var document *input.Error
	var value *knob.ValueError
	if !errors.As(err, &document) && errors.As(err, &value) {
		id, _, _ := knob.Named(knob.ID(value.Field), "")
		if _, isFlag := knob.Find(id); isFlag ||
			slices.Contains([]string{"set", "model", "gpu", "cluster"}, value.Field) {
			return "--" + err.Error()
		}
	}
	return err.Error()
}

// flagProblem turns an error of the flag parser into one that tells what is allowed.
func flagProblem(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		missing *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			return &usageError{fmt.Sprintf("unknown flag -%s: flags have long names, such as --tp",
				escape.Line(short))}
		}
		message := fmt.Sprintf("unknown flag --%s", escape.Line(name))
		if what := untrained[strings.TrimLeft(strings.ToLower(name), "q")]; what != "" {
			return &usageError{message + ": " + what}
		}
		if words := near.Words(name, flagNames(cmd), 3); len(words) > 0 {
			message += ": did you mean --" + strings.Join(words, ", --") + "?"
		} else if with := commandsWith(cmd.Root(), name); len(with) > 0 {
			message += ": a flag of " + strings.Join(with, ", ")
		}
		return &usageError{message}
	case errors.As(err, &missing):
		f := missing.GetFlag()
		return &usageError{fmt.Sprintf("--%s needs a value: %s", f.Name,
			strings.Join(strings.Fields(f.Usage), " "))}
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		wrong := &knob.ValueError{Field: "--" + f.Name, Given: invalid.GetValue(), Allowed: allowedType(f)}
		if b, ok := f.Value.(bounded); ok {
			wrong.Allowed, wrong.Nearest = b.allowed(), b.nearest(invalid.GetValue())
		}
		return wrong
	}
	return &usageError{err.Error()}
}

// untrained are ways to train and fields of a model that people ask for and no knob stands for.
//
//nolint:gochecknoglobals // nobody changes it
var untrained = map[string]string{
	"peft": adapters, "adapter": adapters, "adapters": adapters,
	"layers": modelFields, "num-layers": modelFields, "hidden-size": modelFields, "vocab-size": modelFields,
	"dpo": otherPasses, "ppo": otherPasses, "grpo": otherPasses, "rlhf": otherPasses,
}

const (
	modelFields = "fields of a model are set with --set, such as --set model.layers=40"
	adapters    = "of adapters on frozen weights LoRA and DoRA are modelled: --lora 16, --dora"
	otherPasses = "preference and reinforcement learning, with their other models and passes, are not " +
		"modelled; all figures are of pretraining and of fine-tuning on whole sequences"
)

// allowedType describes what a flag of a built-in type takes.
func allowedType(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false"
	case "float64":
		return "a number"
	case "int":
		return "a whole number"
	case "duration":
		return "a duration, such as 30m or 2h"
	case "file":
		return "the name of a file, or - for standard input"
	}
	return "a " + f.Value.Type()
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// commandsWith lists the commands that have a flag.
func commandsWith(root *cobra.Command, flag string) []string {
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden && slices.Contains(flagNames(c), flag) {
			names = append(names, c.Name())
		}
	}
	return names
}
