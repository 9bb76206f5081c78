package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/presets/input"
	"meshscope/presets/setupdoc"
)

// setupFlags are the flags that say a setup. Their words are kept as typed and
// applied to a setup document, so that a flag, a key of a file and --set all go
// the same way.
type setupFlags struct {
	file fileName
	said []said

	ownBatch bool // of setup: nobody said the global batch
}

// fileName is a flag that names a file.
type fileName string

func (f *fileName) String() string { return string(*f) }
func (f *fileName) Type() string   { return "file" }

func (f *fileName) Set(value string) error {
	if value == "" {
		return errors.New("no name")
	}
	*f = fileName(value)
	return nil
}

// said is one flag in the order of the command line; an assignment is --set.
type said struct {
	key, value string
	assignment bool
}

// word is a flag that remembers what was typed.
type word struct {
	flags *setupFlags
	key   string
	kind  string
	last  string
}

func (w *word) String() string { return w.last }
func (w *word) Type() string   { return w.kind }

func (w *word) Set(value string) error {
	w.last = value
	w.flags.said = append(w.flags.said, said{w.key, value, w.key == "set"})
	return nil
}

// register adds the setup flags to a command.
func (f *setupFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	add := func(key, kind, usage string) *pflag.Flag {
		return flags.VarPF(&word{flags: f, key: key, kind: kind}, key, "", usage)
	}
	add("model", "id", "model: an id of 'presets models', a config.json of Hugging Face or a preset file; default "+setupdoc.DefaultModel)
	add("gpu", "id", "kind of GPU, an id of 'presets gpus', in its typical node")
	add("cluster", "id", "cluster, an id of 'presets clusters'; default "+setupdoc.DefaultCluster)
	for _, p := range knob.All() {
		kind := map[knob.Kind]string{
			knob.Number: "number", knob.Choice: "word", knob.Switch: "on|off", knob.List: "list", knob.Figure: "number",
		}[p.Kind]
		flag := add(string(p.ID), kind, flagHelp(&p))
		if p.Kind == knob.Switch {
			flag.NoOptDefVal = "on"
		}
	}
	add("set", "key=value", "any field, such as model.layers=40 or cluster.inter.bandwidth=25e9; repeatable")
	flags.Var(&f.file, "setup", "setup document to start from, TOML or JSON; - is standard input")
	complete(cmd)
}

// flagHelp is what a parameter is, with its choices; what it costs is told by
// the explorer, where there is room.
func flagHelp(p *knob.Knob) string {
	what, _, _ := strings.Cut(p.Help, ":")
	what = strings.TrimSuffix(what, ".")
	if p.Kind == knob.Choice {
		what += " (" + strings.TrimPrefix(p.Allowed(), "one of ") + ")"
	}
	if p.Binary {
		what += ", such as 8192 or 8k"
	}
	return what
}

// complete offers ids and choices to the shell.
func complete(cmd *cobra.Command) {
	for _, p := range knob.All() {
		if p.Kind == knob.Choice || p.Kind == knob.Switch {
			_ = cmd.RegisterFlagCompletionFunc(string(p.ID), cobra.FixedCompletions(p.Choices, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	_ = cmd.RegisterFlagCompletionFunc("setup", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"json", "toml"}, cobra.ShellCompDirectiveFilterFileExt
	})
}

// completeIDs offers preset ids to the shell.
func (a *app) completeIDs(cmd *cobra.Command) {
	for flag, kind := range map[string]string{"model": "models", "gpu": "gpus", "cluster": "clusters"} {
		_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return a.ids(kind), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// empty says that nothing was said about the setup.
func (f *setupFlags) empty() bool { return f.file == "" && len(f.said) == 0 }

// gives reports whether the command line gives a key, by its flag or by --set.
func (f *setupFlags) gives(key string) bool {
	return slices.ContainsFunc(f.said, func(s said) bool {
		name, _, _ := strings.Cut(s.value, "=")
		return s.key == key || s.assignment && strings.TrimSpace(name) == key
	})
}

// setup settles what the flags say on top of the file they name.
func (f *setupFlags) setup(a *app) (engine.Setup, error) {
	doc, err := f.document(a)
	if err != nil {
		return engine.Setup{}, err
	}
	s, err := f.over(doc, a.lib)
	f.ownBatch = !doc.SaysBatch()
	return s, err
}

// document is the file that the flags name, or one that says nothing.
func (f *setupFlags) document(a *app) (*setupdoc.Document, error) {
	if f.file == "" {
		return &setupdoc.Document{}, nil
	}
	in, err := a.open(string(f.file))
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	name := string(f.file)
	if name == "-" {
		name = "standard input"
	}
	data, err := input.Read(in, name, input.MaxDocument)
	if err != nil {
		return nil, fileError(name, err)
	}
	return setupdoc.Parse(name, data)
}

// over applies the flags to a document and settles it.
func (f *setupFlags) over(doc *setupdoc.Document, lib setupdoc.Library) (engine.Setup, error) {
	for _, s := range f.said {
		apply := doc.Set
		if s.assignment {
			apply = func(_, value string) error { return doc.Assign(value) }
		}
		if err := apply(s.key, s.value); err != nil {
			return engine.Setup{}, err
		}
	}
	return doc.Setup(lib)
}

// open opens a file or a pipe, or standard input for "-".
func (a *app) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.stdin), nil
	}
	file, err := input.Open(name)
	return file, fileError(name, err)
}

// fileError is an error of reading a file. One that says what is wrong in it stays as
// it is.
func fileError(name string, err error) error {
	if _, placed := errors.AsType[*input.Error](err); placed || err == nil {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %s", escape.Name(name))
	}
	return fmt.Errorf("read %s: %w", escape.Name(name), input.Reason(err))
}
