package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/launch"
	"meshscope/presets"
	"meshscope/presets/hfconfig"
	"meshscope/presets/input"
	"meshscope/presets/setupdoc"
	"meshscope/report"
	"meshscope/report/figure"
)

func (a *app) importCommand() *cobra.Command {
	var output outputFlags
	var flags setupFlags
	var with string
	var environment []string
	cmd := &cobra.Command{
		Use:   "import FILE [-- ARGUMENT...]",
		Short: "Read a model or a layout from a file of another program",
		Long: "Read what the file of another program says of a setup: a Hugging Face config.json or the " +
			"folder of a checkpoint, a file of a launcher, a setup file, a share string. " +
			"It prints the setup, every key that was understood, what is assumed where the file leaves it " +
			"out, and what was ignored and why. Nothing of a file is executed. - is standard input; a file " +
			"has at most 10 MiB. " +
			"Flags of a setup give what the file lacks, such as --model or --gpus, and count over what it " +
			"says. What neither gives is unknown: the answer lists it, with a guess in its place and the " +
			"command that completes it.\n\n" +
			"A shell script is followed, not run: --env gives variables of its environment, --with the " +
			"folder of the files that it sources (its own folder without), and what stands after -- are " +
			"its arguments.\n\n" +
			"'meshscope FILE' opens the explorer with it. The JSON document is a setup document too: eval " +
			"--setup reads it.\n\n" +
			"Exit code: 0 read, 1 run-time error, 2 a file with problems, or none.",
		Example: "meshscope import Llama-3.1-8B/config.json\nmeshscope import --json config.json | " +
			"meshscope eval --setup - --gpus 8\nmeshscope import ds_config.json --model llama3.1-70b " +
			"--gpus 64\nmeshscope import run.sh --env NODES=4 -- A3B 1 8",
		Args: cobra.ArbitraryArgs,
	}
	output.register(cmd, []string{
		textFormat, string(report.Markdown), string(report.JSON),
		string(report.TOML),
	}, string(report.JSON))
	flags.register(a, cmd)
	cmd.Flags().StringArrayVar(&environment, "env", nil,
		"`NAME=VALUE`: a variable of the script's environment")
	cmd.Flags().StringVar(&with, "with", "", "`folder` of the files that the script sources")
	cmd.RunE = a.wrap(func(cmd *cobra.Command, args []string) error {
		if err := output.resolveFormat(cmd); err != nil {
			return err
		}
		if flags.file != "" {
			return &usageError{"import reads the file that it is given: give no --setup"}
		}
		around := launch.Given{Env: map[string]string{}}
		if dash := cmd.ArgsLenAtDash(); dash >= 0 {
			args, around.Args = args[:dash], args[dash:]
		}
		if len(args) != 1 {
			return &usageError{fmt.Sprintf("import takes one file, given %d", len(args))}
		}
		for _, word := range environment {
			name, value, ok := strings.Cut(word, "=")
			if !ok || !launch.IsName(name) {
				return &usageError{fmt.Sprintf("--env %s: not NAME=VALUE", escape.Quote(word))}
			}
			around.Env[name] = value
		}
		if info, err := os.Stat(with); with != "" && (err != nil || !info.IsDir()) {
			return &usageError{fmt.Sprintf("--with %s: no folder", escape.Quote(with))}
		}
		around.Source = a.sourced(with, true)
		a.around = around
		r, file, err := a.readFile(args[0], &flags)
		if err != nil {
			return err
		}
		var s engine.Setup
		if len(r.Problems) == 0 {
			s = r.Resolve(a.lib)
		}
		if output.format == string(report.TOML) && len(r.Problems) > 0 { // there is no setup
			return r.Err(file)
		}
		if err := a.print(output.format, a.readingAnswer(hfconfig.Named(args[0], flags.as), file, r,
			&s)); err != nil {
			return err
		}
		if len(r.Problems) > 0 {
			return outcome(exitUsage)
		}
		return nil
	})
	return cmd
}

// isFile reports whether a word of the command line is a file to open rather than a command.
func isFile(word string) bool {
	if word == "-" || strings.ContainsAny(word, `/\`) || filepath.Ext(word) != "" {
		return true
	}
	_, err := os.Stat(word)
	return err == nil
}

// openFile reads a file that the explorer opens with, and flags beside it.
func (a *app) openFile(name string, flags *setupFlags) (*launch.Reading, error) {
	r, file, err := a.readFile(name, flags)
	if err == nil && len(r.Problems) == 0 {
		r.Resolve(a.lib)
	}
	if err == nil {
		err = r.Err(file)
	}
	if err != nil {
		return nil, err
	}
	var assumed []string
	for _, u := range r.Assumed() {
		if strings.HasPrefix(u.Assumed, launch.Guessed) {
			continue
		}
		assumed = append(assumed, u.Key+" "+shown(u.Value))
	}
	for _, i := range r.Ignored { // another stack is predicted than that of the file
		if i.Key == string(knob.Calibration) {
			a.notices = append(a.notices, fmt.Sprintf("%s: %s", escape.Name(name), escape.Clip(i.Why)))
		}
	}
	// The foot shows what stands before the last colon, with its subject.
	notice := func(what string, list []string, more string) {
		if n := len(list); n > 0 {
			verb := "are"
			if n == 1 {
				verb = "is"
			}
			a.notices = append(a.notices, fmt.Sprintf("%s %s %s %s: %s; 'meshscope import' tells %s",
				figure.Plural(n, "setting"), verb, what, escape.Name(name),
				escape.Sentence(strings.Join(list, ", ")), more))
		}
	}
	var unknown []string
	for _, u := range r.Unknown {
		unknown = append(unknown, u.Name())
	}
	notice("unknown and guessed in", unknown, "how to give them")
	notice("not in the file", assumed, "where each comes from")
	return r, nil
}

// readFile reads a file, the config.json of a folder, or a share string, and puts flags over it. The
// file is that which was read.
func (a *app) readFile(name string, flags *setupFlags) (r *launch.Reading, file string, err error) {
	as := flags.as
	if !flags.gives("model") { // of the file itself
		name, flags.as = hfconfig.Named(name, as), ""
	}
	err = errors.Join(flags.contradiction(a), flags.loadFitted(a))
	flags.as = as
	if err != nil {
		return nil, name, err
	}
	if err := flags.apply(&setupdoc.Document{}); err != nil { // a value that no file can make right
		return nil, name, err
	}
	over := map[string]string{}
	for _, s := range flags.said {
		over[strings.ReplaceAll(s.key, "-", "_")] = s.value
	}
	a.around.Over = over
	if r, file, err = a.readAlone(name); err != nil {
		return nil, file, err
	}
	for _, s := range flags.said {
		r.Give(s.key, s.value)
	}
	return r, file, nil
}

// readAlone reads a file as it is.
func (a *app) readAlone(name string) (read *launch.Reading, file string, err error) {
	if name == "" {
		return nil, name, &usageError{"import: an empty name, allowed is that of a file or of a folder " +
			"with a config.json, or a share string"}
	}
	if setupdoc.IsShare(name) {
		r := launch.Open("", []byte(name), a.lib)
		return &r, name, nil
	}
	around := a.around
	name, around.As = hfconfig.As(name)
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, "config.json")
	}
	in, err := a.open(name)
	if err != nil {
		if _, gone := os.Stat(name); os.IsNotExist(gone) {
			return nil, name, &usageError{err.Error()} // the argument is wrong
		}
		return nil, name, err
	}
	defer func() { _ = in.Close() }()
	switch {
	case name == "-":
		name = "standard input"
	case around.Source == nil: // no other folder is given
		around.Source = a.sourced(filepath.Dir(name), false)
	}
	data, err := input.Read(in, name, launch.MaxFile)
	if err != nil {
		return nil, name, fileError(name, err)
	}
	r := launch.OpenGiven(name, data, a.lib, around)
	return &r, name, nil
}

// sourced returns how the files of a folder are found that a script sources: by the name that it has for
// them, or the end of it that is known. One with a path of its own is another file than that beside the
// script, unless files from anywhere are said to be in the folder.
func (a *app) sourced(folder string, anywhere bool) func(name string) ([]byte, bool) {
	if folder == "" {
		return nil
	}
	return func(name string) ([]byte, bool) {
		root, err := os.OpenRoot(folder) // neither .. nor a link leads out of it
		if err != nil {
			return nil, false
		}
		defer func() { _ = root.Close() }()
		files := []string{filepath.Clean(name)}
		if anywhere || !filepath.IsAbs(name) {
			files = append(files, filepath.Base(name))
		}
		for _, file := range files {
			if info, err := root.Stat(file); err != nil || !info.Mode().IsRegular() {
				continue
			}
			in, err := root.Open(file)
			if err != nil {
				continue
			}
			data, err := input.Read(in, file, launch.MaxFile)
			_ = in.Close()
			if err == nil {
				return data, true
			}
		}
		return nil, false
	}
}

// readDropped reads a file by a name as a terminal writes that of a dropped file: a shell's word, with
// backslashes or quotes. A file of the very name comes first.
func (a *app) readDropped(name string) (read *launch.Reading, file string, err error) {
	// the explorer takes quotes around it away
	for _, of := range []string{name, shellWord(name), shellWord("'" + name + "'")} {
		if _, err := os.Stat(of); of != "" && err == nil {
			return a.readAlone(of)
		}
	}
	return a.readAlone(name)
}

// shellWord returns a word without the backslashes and quotes of a shell; empty where a quote is not closed.
func shellWord(text string) string {
	var b strings.Builder
	var quote rune
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			escaped = false
			b.WriteRune(r)
		case r == '\\' && quote != '\'':
			escaped = true
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote:
			quote = 0
		default:
			b.WriteRune(r)
		}
	}
	if escaped || quote != 0 {
		return ""
	}
	return b.String()
}

// shown returns a value of a file as JSON writes it.
func shown(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return escape.Clip(string(text))
}

// valueOf returns a value of a file after its key; nothing for a flag without one.
func valueOf(value any) string {
	if value == nil {
		return ""
	}
	return " " + shown(value)
}

// readingDocument is the JSON document of import.
type readingDocument struct {
	report.Header
	Launcher   string              `json:"launcher"`
	Setup      map[string]any      `json:"setup"`
	Understood []launch.Understood `json:"understood"`
	Ignored    []launch.Ignored    `json:"ignored"`
	Problems   []launch.Problem    `json:"problems"`
	// keys of the setup, each with its guess among understood
	Unknown  []string `json:"unknown"`
	Complete string   `json:"complete,omitempty"` // the command that gives them
	// parts of a checkpoint that the model leaves out
	OtherParts []hfconfig.OtherPart `json:"other_parts,omitempty"`
}

// readingAnswer returns what the file of a name says, for people and for programs.
func (a *app) readingAnswer(name, file string, r *launch.Reading, s *engine.Setup) *report.Answer {
	return &report.Answer{
		Whole: true,
		Setup: func() *engine.Setup { return s },
		Data: func() any {
			d := readingDocument{
				report.NewHeader(version), r.Launcher, r.Whole(a.lib),
				report.Listed(slices.Clone(r.Understood)), report.Listed(r.Ignored),
				report.Listed(r.Problems),
				[]string{},
				completing(name, r), r.OtherParts,
			}
			for _, u := range r.Unknown {
				d.Unknown = append(d.Unknown, u.Name())
			}
			for i := range d.Understood {
				d.Understood[i].Setup = report.Listed(d.Understood[i].Setup)
			}
			return d
		},
		Document: func() *report.Document {
			out := &report.Document{Title: escape.Name(name)}
			if len(r.Problems) == 0 {
				out.Sections = append(out.Sections, a.setupSection(name, r, s))
			}
			return a.readingSections(out, file, r)
		},
	}
}

// completing returns the command line that gives a file what it lacks; empty where it lacks nothing.
func completing(name string, r *launch.Reading) string {
	if len(r.Unknown) == 0 || len(r.Problems) > 0 {
		return ""
	}
	words := []string{"meshscope import", setupdoc.Quoted(name)}
	if of := r.Arguments(); of != "" {
		words = append(words, of)
	}
	return strings.Join(append(words, r.Completes()), " ")
}

// setupSection tells the setup of a reading, and how to go on with it.
func (a *app) setupSection(name string, r *launch.Reading, s *engine.Setup) report.Section {
	facts := report.Facts{{Name: "read as", Value: r.Launcher}}
	is := func(key string) bool {
		return slices.ContainsFunc(r.Unknown,
			func(u launch.Unknown) bool { return strings.HasPrefix(u.Name(), key) })
	}
	switch parameters := figure.Comma(int(s.Model.Total())); {
	case slices.ContainsFunc(r.Unknown, func(u launch.Unknown) bool { return u.Key == "model" }):
		facts = append(facts,
			report.Fact{Name: "model", Value: "? (" + escape.Line(s.Model.Name) + " is a guess)"})
	case is("model."):
		facts = append(facts,
			report.Fact{Name: "model", Value: fmt.Sprintf("? parameters (%s is a guess)", parameters)})
	default:
		facts = append(facts,
			report.Fact{Name: "model", Value: fmt.Sprintf("%s, %s parameters", escape.Line(s.Model.Name),
				parameters)})
	}
	for _, b := range r.OtherParts {
		text := figure.Comma(int(b.Parameters)) + " parameters of " + b.Name + ", not counted"
		if b.Parameters == 0 {
			text = b.Name + ", not counted: its parameters are not known"
		}
		facts = append(facts, report.Fact{Name: "other parts", Value: text})
	}
	if command := completing(name, r); command != "" {
		var keys []string
		for _, u := range r.Unknown {
			keys = append(keys, u.Name())
		}
		facts = append(facts, report.Fact{Name: "unknown", Value: strings.Join(keys, ", ")},
			report.Fact{Name: "complete", Value: command})
		return report.Section{Blocks: []report.Block{facts}}
	}
	if r.OnlyModel() { // the rest would be defaults
		return report.Section{Blocks: []report.Block{facts}}
	}
	if flags, ok := setupdoc.Flags(*s, a.lib); ok {
		facts = append(facts, report.Fact{Name: "command", Value: "meshscope " + flags})
	}
	if text, ok := setupdoc.Share(*s, presets.Default(), a.lib); ok {
		facts = append(facts, report.Fact{Name: "share", Value: text})
	}
	return report.Section{Blocks: []report.Block{facts}}
}

// readingSections adds what was understood, assumed, ignored and wrong.
func (a *app) readingSections(out *report.Document, file string, r *launch.Reading) *report.Document {
	add := func(heading string, lines []string) {
		if len(lines) == 0 {
			return
		}
		s := report.Section{Heading: heading}
		for _, line := range lines {
			s.Blocks = append(s.Blocks, report.Item{Text: escape.Sentence(line)})
		}
		out.Sections = append(out.Sections, s)
	}
	place := func(line int) string {
		if line == 0 {
			return ""
		}
		return fmt.Sprintf(" (line %d)", line)
	}
	var problems, unknown, understood, assumed, ignored []string
	for _, p := range r.Problems {
		problems = append(problems, (&launch.Reading{Problems: []launch.Problem{p}}).Err(file).Error())
	}
	for _, u := range r.Unknown {
		unknown = append(unknown, fmt.Sprintf("%s ?%s: %s; %s is a guess", u.Name(), place(u.Line), u.Why,
			shown(u.Guess)))
	}
	for _, u := range r.Understood {
		if strings.HasPrefix(u.Assumed, launch.Guessed) {
			continue
		}
		if u.Assumed != "" {
			assumed = append(assumed, fmt.Sprintf("%s %s: %s", u.Key, shown(u.Value), u.Assumed))
			continue
		}
		understood = append(understood, fmt.Sprintf("%s%s%s: %s", escape.Line(u.Key), valueOf(u.Value),
			place(u.Line), strings.Join(u.Setup, ", ")))
	}
	together := map[string][]string{} // of one entry: a file may have thousands
	for _, i := range r.Ignored {
		if i.Why == hfconfig.NoKey || i.Why == launch.OwnDefault {
			together[i.Why] = append(together[i.Why], escape.Line(i.Key)+place(i.Line))
			continue
		}
		ignored = append(ignored, fmt.Sprintf("%s%s: %s", escape.Line(i.Key), place(i.Line), i.Why))
	}
	for _, why := range [...]string{launch.OwnDefault, hfconfig.NoKey} {
		const most = 40
		keys := together[why]
		if n := len(keys); n > most {
			keys = append(keys[:most], fmt.Sprintf("and %d more", n-most))
		}
		if len(keys) > 0 {
			all := strings.ReplaceAll(strings.Join(keys, ", "), ", and ", " and ")
			ignored = append(ignored, all+": "+why)
		}
	}
	add("Problems", problems)
	add("Unknown", unknown)
	add("Understood", understood)
	add("Assumed", assumed)
	add("Ignored", ignored)
	return out
}
