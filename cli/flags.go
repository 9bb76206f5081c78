package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/launch"
	"meshscope/presets"
	"meshscope/presets/hfconfig"
	"meshscope/presets/input"
	"meshscope/presets/setupdoc"
)

// setupFlags are the flags that give a setup. Their values are kept as typed and applied
// to a setup document, so a flag, a key of a file and --set are handled alike.
type setupFlags struct {
	file fileName
	said []said
	as   string // the type that the config.json of a model is read as

	opened *launch.Reading // what a file says that the explorer opens, in place of file

	launcher *launcherFlag // whose rules a layout meets that is not given; nil: the stack's

	lists      bool     // a knob takes a list of values
	freedSplit string   // layers per stage of a file whose stages a search may change
	displaced  []string // a model or a machine of a list, in place of what the file says

	ownBatch  bool     // set by begin: no global batch was given
	sequences bool     // set by begin: one was given, in sequences
	fixed     knob.Set // set by begin: what was given
	noGPUs    bool     // set by begin: neither GPUs nor nodes nor replicas were given
	unasked   knob.Set // set by begin: what was not given of compare.Work
	text      []byte   // of the file, once it was read: standard input is read once
}

// fileName is the value of a flag that names a file.
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

// said is one flag of the command line, in its order; an assignment is a --set.
type said struct {
	key, value string
	assignment bool
}

// pair returns the key and the value, of an assignment those that it has; its key as that of a flag.
func (s said) pair() (key, value string) {
	if !s.assignment {
		return s.key, s.value
	}
	key, value, _ = strings.Cut(s.value, "=")
	return strings.ReplaceAll(strings.TrimSpace(key), "_", "-"), strings.TrimSpace(value)
}

// word is the value of a flag that keeps what was typed.
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

// register adds the setup flags to a command, with their completion in a shell.
func (f *setupFlags) register(a *app, cmd *cobra.Command) {
	f.add(cmd.Flags())
	a.complete(cmd)
}

// add adds the setup flags to others.
func (f *setupFlags) add(flags *pflag.FlagSet) {
	flags.SortFlags = false
	heading := "SETUP"
	add := func(key, kind, usage string) *pflag.Flag {
		flag := flags.VarPF(&word{flags: f, key: key, kind: kind}, key, "", usage)
		flag.Annotations = map[string][]string{helpGroup: {heading}}
		return flag
	}
	add("model", "id", "model: an id of 'presets models', OWNER/NAME of Hugging Face where NAME is "+
		"one, "+
		"a config.json, its folder (./NAME) or a preset file; default "+setupdoc.DefaultModel)
	add("gpu", "id", "a GPU in its typical node: an id of 'presets gpus'")
	add("cluster", "id", "cluster: an id of 'presets clusters'; default "+setupdoc.DefaultCluster)
	add("set", "key=value",
		"set any field, such as model.layers=40 or cluster.inter.bandwidth=25e9; repeatable")
	flags.Var(&filled{&f.as, "a model_type, such as qwen3_moe"}, "as",
		"read the config.json of an unknown model as one of a known model_type, such as qwen3_moe: `type`")
	flags.Var(&f.file, "setup",
		"start from a setup file, TOML or JSON, or a share string; - is standard input")
	for _, group := range knob.Groups() {
		heading = group.Title()
		for _, p := range knob.All() {
			if p.Group() == group {
				flag := add(string(p.ID), kindWords()[p.Kind], flagHelp(&p))
				if p.Kind == knob.Switch {
					flag.NoOptDefVal = "on"
				}
			}
		}
		for _, w := range knob.MachineWords() {
			if group == knob.MachineGroup {
				what, _, _ := strings.Cut(w.Help, ":")
				add(string(w.Name), w.Kind, what)
			}
		}
	}
	for _, alias := range knob.Aliases() {
		flag := add(string(alias.Name), "on|off", alias.Help)
		if flag.Hidden = alias.Old; alias.On != "" {
			flag.NoOptDefVal = "on"
		}
	}
}

// kindWords returns what a value of a kind is called.
func kindWords() map[knob.Kind]string {
	return map[knob.Kind]string{
		knob.Number: "number", knob.Choice: "word", knob.Switch: "on|off", knob.List: "list",
		knob.Figure: "number",
	}
}

// flagHelp returns the help of a knob's flag: what it is and its choices. The explorer
// tells what it costs.
func flagHelp(p *knob.Knob) string {
	what, _, _ := strings.Cut(p.Help, ":")
	what = strings.TrimSuffix(what, ".")
	if p.Kind == knob.Choice {
		what += " (" + strings.TrimPrefix(p.Allowed(), "one of ") + ")"
	}
	if p.ID == knob.GBS {
		what += ", such as 512, or in tokens 4Mtok"
	}
	if p.Binary {
		what += ", such as 8192 or 8k"
	}
	return what
}

// complete registers shell completion of choices, setup files and preset ids.
func (a *app) complete(cmd *cobra.Command) {
	for _, p := range knob.All() {
		if p.Kind == knob.Choice || p.Kind == knob.Switch {
			_ = cmd.RegisterFlagCompletionFunc(string(p.ID),
				cobra.FixedCompletions(p.Choices, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	_ = cmd.RegisterFlagCompletionFunc("setup",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"json", "toml"}, cobra.ShellCompDirectiveFilterFileExt
		})
	for flag, kind := range map[string]string{"model": "models", "gpu": "gpus", "cluster": "clusters"} {
		_ = cmd.RegisterFlagCompletionFunc(flag,
			func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return a.ids(kind), cobra.ShellCompDirectiveNoFileComp
			})
	}
}

// empty reports whether no flag gives anything about the setup.
func (f *setupFlags) empty() bool { return f.file == "" && f.opened == nil && len(f.said) == 0 }

// rest takes a share string, which counts as --setup, from the arguments of a command and returns
// the others.
func (f *setupFlags) rest(args []string) []string {
	if len(args) == 0 || f.file != "" || !setupdoc.IsShare(args[0]) {
		return args
	}
	f.file = fileName(args[0])
	return args[1:]
}

// gives reports whether the command line gives a key, by its flag or by --set.
func (f *setupFlags) gives(key string) bool {
	return slices.ContainsFunc(f.said, func(s said) bool {
		name, _ := s.pair()
		return name == key
	})
}

// presetModel reports whether a model is named by a preset and by no file.
func (a *app) presetModel(name string) bool {
	_, noFile := os.Stat(name)
	_, unknown := a.lib.Model(name)
	return noFile != nil && unknown == nil
}

// contradiction returns an error for a knob that is given another value by --set, or by its other name, as
// --async-tp is of --tp-overlap.
func (f *setupFlags) contradiction(a *app) error {
	if f.as != "" && !f.gives("model") && f.opened == nil {
		return &usageError{"--as is the type of a config.json: give its file, such as --model FILE --as " +
			f.as}
	}
	for i, s := range f.said {
		key, value := s.pair()
		if key == "model" && f.as != "" && a.presetModel(value) {
			return &usageError{fmt.Sprintf("--as is the type of a config.json, and --model %s is a preset",
				escape.Line(value))}
		}
		for _, other := range f.said[:i] {
			if name, before := other.pair(); name == key && before != value {
				name := "--" + key
				if s.assignment {
					name, _, _ = strings.Cut(s.value, "=")
				}
				message := fmt.Sprintf("%s comes twice, as %s and %s", escape.Line(name), escape.Line(before),
					escape.Line(value))
				if f.lists && slices.Contains(knob.Searched(), knob.ID(key)) && key != string(knob.Split) {
					message += fmt.Sprintf("; give a list as one flag: --%s %s,%s", key, escape.Line(before),
						escape.Line(value))
				}
				return &usageError{message}
			}
		}
	}
	if f.gives("node-bandwidth") && f.gives("gpu-bandwidth") {
		return &usageError{"--node-bandwidth and --gpu-bandwidth contradict each other: one is the other " +
			"times the GPUs of a node"}
	}
	for _, alias := range knob.Aliases() {
		for _, s := range f.said {
			if s.key != string(alias.Name) {
				continue
			}
			_, means, err := knob.Named(alias.Name, s.value)
			for _, other := range f.said {
				if err == nil && other.key == string(alias.Knob) && other.value != means {
					return &usageError{fmt.Sprintf("--%s, which is --%s %s, and --%s %s contradict each "+
						"other", alias.Name, alias.Knob, means, alias.Knob, escape.Line(other.value))}
				}
			}
		}
	}
	return nil
}

// stackWanted adds to what --calibration allows that it also takes a file.
func stackWanted(err error) error {
	bad, ok := errors.AsType[*knob.ValueError](err)
	if !ok {
		return err
	}
	if id, _, _ := knob.Named(knob.ID(bad.Field), ""); id == knob.Calibration {
		wider := *bad
		wider.Allowed += ", or a file of 'calibrate', whose name ends in .toml"
		return &wider
	}
	return err
}

// loadFitted reads the file that --calibration names, in place of its software stack, and puts it
// before all other presets.
func (f *setupFlags) loadFitted(a *app) error {
	for i := range f.said {
		s := &f.said[i]
		if s.key != string(knob.Calibration) || !strings.HasSuffix(s.value, ".toml") {
			continue
		}
		text, err := input.ReadFile(s.value, input.MaxPreset)
		if err != nil {
			return fileError(s.value, err)
		}
		lib, stack, err := presets.WithFitted(s.value, text, a.lib)
		if err != nil {
			return err
		}
		a.lib, s.value = lib, string(stack)
	}
	return nil
}

// document returns the document that --setup names, or an empty one.
func (f *setupFlags) document(a *app) (*setupdoc.Document, error) {
	doc, err := f.fileDocument(a)
	if err != nil {
		return nil, err
	}
	for _, item := range f.displaced {
		doc.Displace(item)
	}
	return doc, nil
}

// fileDocument returns the document that --setup names as it is.
func (f *setupFlags) fileDocument(a *app) (*setupdoc.Document, error) {
	if err := errors.Join(f.contradiction(a), f.loadFitted(a)); err != nil {
		return nil, err
	}
	switch {
	case f.opened != nil:
		return f.opened.Document(a.lib)
	case f.file == "":
		return &setupdoc.Document{}, nil
	case setupdoc.IsShare(string(f.file)):
		return setupdoc.Shared(string(f.file))
	}
	name := string(f.file)
	if name == "-" {
		name = "standard input"
	}
	if f.text == nil {
		in, err := a.open(string(f.file))
		if err != nil {
			return nil, err
		}
		defer func() { _ = in.Close() }()
		if f.text, err = input.Read(in, name, input.MaxDocument); err != nil {
			return nil, fileError(name, err)
		}
	}
	if len(bytes.TrimSpace(f.text)) == 0 {
		return nil, &usageError{escape.Name(name) + " is empty: a setup has keys such as model, gpus, tp"}
	}
	if setupdoc.IsShare(string(f.text)) {
		return setupdoc.Shared(strings.TrimSpace(string(f.text)))
	}
	doc, err := setupdoc.Parse(name, f.text)
	if read, ok := launch.Read(name, f.text); err != nil && ok && read.Launcher != "" {
		return nil, fmt.Errorf("%w. This is a file of %s: meshscope import reads it", err, read.Launcher)
	}
	return doc, err
}

// over applies the flags to a document and returns its setup.
func (f *setupFlags) over(doc *setupdoc.Document, lib setupdoc.Library) (engine.Setup, error) {
	if err := f.apply(doc); err != nil {
		return engine.Setup{}, err
	}
	return doc.Setup(lib)
}

// apply puts the flags over the keys of a document.
func (f *setupFlags) apply(doc *setupdoc.Document) error {
	for _, s := range f.said {
		apply := doc.Set
		if s.assignment {
			apply = func(_, value string) error { return doc.Assign(value) }
		}
		if s.key == "model" {
			s.value = hfconfig.Named(s.value, f.as)
		}
		if err := apply(s.key, s.value); err != nil {
			return stackWanted(err)
		}
	}
	return nil
}

// open opens a file or a pipe, or standard input for "-".
func (a *app) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.stdin), nil
	}
	file, err := input.Open(name)
	return file, fileError(name, err)
}

// fileError names the file in an error of reading it. Errors with a position in the file
// stay unchanged.
func fileError(name string, err error) error {
	if _, placed := errors.AsType[*input.Error](err); placed || err == nil {
		return err
	}
	switch {
	case name == "":
		return errors.New("the name of the file is empty")
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file %s", escape.Name(name))
	}
	return fmt.Errorf("read %s: %w", escape.Name(name), input.Reason(err))
}
