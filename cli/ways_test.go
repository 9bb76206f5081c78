package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine_test/draws"
	"meshscope/launch"
	"meshscope/presets"
	"meshscope/presets/own"
	"meshscope/presets/setupdoc"
)

// wayTo is a setup that many ways lead to: the words that somebody gives, and the setup that they mean,
// typed by hand from the words and the documented defaults. Where the layout is left to a search, the
// setup holds what the words fix.
type wayTo struct {
	words, setup string
	searched     bool
}

// tenSetups are dense and mixtures, small and large, with every kind of degree.
var tenSetups = []wayTo{
	{
		words: "model=llama3.1-70b gpus=64 tp=8 pp=2 gbs=512 seq=8192 precision=bf16",
		setup: "model=llama3.1-70b cluster=dgx-h100 gpus=64 dp=4 tp=8 pp=2 vpp=1 cp=1 ep=1 etp=1 sp=on " +
			"zero=1 mbs=1 microbatches=128 gbs=512 seq=8192 schedule=1f1b recompute=none precision=bf16",
	},
	{
		words: "model=qwen3-235b-a22b gpus=256 tp=2 pp=8 vpp=4 ep=32 cp=1 seq=4096 gbs=2048 precision=fp8 " +
			"dispatcher=alltoall",
		setup: "model=qwen3-235b-a22b cluster=dgx-h100 gpus=256 dp=16 tp=2 pp=8 vpp=4 cp=1 ep=32 etp=1 " +
			"sp=on zero=1 mbs=1 microbatches=128 gbs=2048 seq=4096 schedule=interleaved recompute=none " +
			"precision=fp8 dispatcher=alltoall",
	},
	{
		words: "model=gpt3-175b cluster=dgx-a100 gpus=1536 tp=8 pp=12 vpp=2 gbs=1536 seq=2048 " +
			"recompute=full calibration=megatron-2021 precision=fp16",
		setup: "model=gpt3-175b cluster=dgx-a100 gpus=1536 dp=16 tp=8 pp=12 vpp=2 cp=1 ep=1 etp=1 sp=off " +
			"zero=0 mbs=1 microbatches=96 gbs=1536 seq=2048 schedule=interleaved recompute=full " +
			"precision=fp16 calibration=megatron-2021 attention=standard",
	},
	{
		words: "model=mixtral-8x7b nodes=8 tp=2 ep=8 mbs=2 gbs=256 seq=4096 precision=bf16 " +
			"dispatcher=alltoall",
		setup: "model=mixtral-8x7b cluster=dgx-h100 gpus=64 dp=32 tp=2 pp=1 vpp=1 cp=1 ep=8 etp=1 sp=on " +
			"zero=1 mbs=2 microbatches=4 gbs=256 seq=4096 schedule=1f1b recompute=none precision=bf16 " +
			"dispatcher=alltoall",
	},
	{
		words: "model=llama3.1-8b gpus=16 dp=16 zero=3 recompute=full calibration=torchtitan gbs=64 " +
			"seq=8192 precision=bf16",
		setup: "model=llama3.1-8b cluster=dgx-h100 gpus=16 dp=16 tp=1 pp=1 vpp=1 cp=1 ep=1 etp=1 sp=off " +
			"zero=3 mbs=1 microbatches=4 gbs=64 seq=8192 schedule=1f1b recompute=full precision=bf16 " +
			"calibration=torchtitan",
	},
	{
		words: "model=llama3.1-8b gpus=8 cp=8 seq=131072 microbatches=32 recompute=full precision=bf16",
		setup: "model=llama3.1-8b cluster=dgx-h100 gpus=8 dp=1 tp=1 pp=1 vpp=1 cp=8 ep=1 etp=1 sp=off " +
			"zero=1 mbs=1 microbatches=32 gbs=32 seq=131072 schedule=1f1b recompute=full precision=bf16",
	},
	{
		words: "model=llama2-13b cluster=aws-p4d gpus=48 tp=2 pp=4 dp=6 mbs=2 microbatches=16 seq=4096 " +
			"precision=bf16 tokens=1e12",
		setup: "model=llama2-13b cluster=aws-p4d gpus=48 dp=6 tp=2 pp=4 vpp=1 cp=1 ep=1 etp=1 sp=on zero=1 " +
			"mbs=2 microbatches=16 gbs=192 seq=4096 schedule=1f1b recompute=none precision=bf16 tokens=1e12",
	},
	{
		words: "model=llama3.1-70b cluster=dgx-b200 gpus=32 tp=2 pp=4 vpp=5 gbs=128 seq=8192 " +
			"precision=bf16 optimizer=sgd loss=fused",
		setup: "model=llama3.1-70b cluster=dgx-b200 gpus=32 dp=4 tp=2 pp=4 vpp=5 cp=1 ep=1 etp=1 sp=on " +
			"zero=1 mbs=1 microbatches=32 gbs=128 seq=8192 schedule=interleaved recompute=none " +
			"precision=bf16 optimizer=sgd loss=fused",
	},
	{
		words: "model=llama3.1-8b gpus=8 gbs=128 seq=8192 precision=bf16",
		setup: "model=llama3.1-8b cluster=dgx-h100 gpus=8 gbs=128 seq=8192 precision=bf16", searched: true,
	},
	{
		words: "model=mixtral-8x7b cluster=dgx-h200 gpus=16 gbs=128 seq=4096 precision=bf16 " +
			"dispatcher=alltoall recompute=none",
		setup: "model=mixtral-8x7b cluster=dgx-h200 gpus=16 gbs=128 seq=4096 precision=bf16 " +
			"dispatcher=alltoall recompute=none", searched: true,
	},
}

// pairs are the keys and values of words.
func pairs(words string) (out [][2]string) {
	for _, word := range strings.Fields(words) {
		key, value, _ := strings.Cut(word, "=")
		out = append(out, [2]string{key, value})
	}
	return out
}

// flagsOf are words as flags of a command line.
func flagsOf(words string) (out []string) {
	for _, p := range pairs(words) {
		out = append(out, "--"+p[0]+"="+p[1])
	}
	return out
}

// textOf are words as a document, JSON or TOML.
func textOf(words string, toml bool) string {
	document, lines := map[string]any{}, ""
	for _, p := range pairs(words) {
		value := any(p[1])
		k, known := knob.Find(knob.ID(p[0]))
		switch n, err := strconv.ParseFloat(p[1], 64); {
		case known && k.Kind == knob.Switch:
			value = p[1] == "on"
		case known && k.Kind != knob.Choice && err == nil:
			value = n
		}
		document[p[0]] = value
		text, _ := json.Marshal(value)
		lines += p[0] + " = " + string(text) + "\n"
	}
	if toml {
		return lines
	}
	text, _ := json.Marshal(document)
	return string(text)
}

// ways is one setup on the test bench.
type ways struct {
	*wayTo
	t      *testing.T
	app    *app
	folder string
	want   engine.Setup
	report engine.Report
	full   string // every knob, typed
}

// bench resolves what a setup is, without the program's way from words to setups.
func bench(t *testing.T, of *wayTo, folder string) *ways {
	t.Helper()
	lib := presets.Default()
	w := &ways{
		wayTo: of, t: t, app: &app{lib: lib.ReadingModels(own.ReadModel), closed: lib}, folder: folder,
		full: of.setup,
	}
	if of.searched {
		var found struct {
			Results []struct {
				Layout map[string]any `json:"layout"`
			} `json:"results"`
		}
		w.read(w.run("", append([]string{"search", "--json", "--top=1"}, flagsOf(of.words)...)...), &found)
		given := " " + w.full + " "
		for key, value := range found.Results[0].Layout {
			if key = strings.ReplaceAll(key, "_", "-"); !strings.Contains(given, " "+key+"=") {
				text, _ := json.Marshal(value)
				w.full += " " + key + "=" + strings.NewReplacer(`"`, "", "true", "on", "false",
					"off").Replace(string(text))
			}
		}
	}
	var draft knob.Draft
	for _, p := range pairs(w.full) {
		var err error
		switch p[0] {
		case "model":
			m, failed := lib.Model(p[1])
			draft.SetModel(m)
			err = failed
		case "cluster":
			c, failed := lib.Cluster(p[1])
			draft.SetCluster(c)
			err = failed
		default:
			err = draft.Set(knob.ID(p[0]), p[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := draft.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if w.want, w.report = s, engine.Evaluate(s); !w.report.Legal {
		t.Fatalf("%s: %v", w.full, w.report.Problems)
	}
	return w
}

// run runs the program and returns its standard output.
func (w *ways) run(stdin string, args ...string) []byte {
	w.t.Helper()
	var out, messages bytes.Buffer
	if code := Run(args, strings.NewReader(stdin), &out, &messages); code != exitFine && code != exitNoFit {
		w.t.Fatalf("%q: exit code %d: %s", args, code, messages.String())
	}
	return out.Bytes()
}

// words runs a command with the flags of the words.
func (w *ways) command(args ...string) []byte {
	w.t.Helper()
	return w.run("", append(args, flagsOf(w.words)...)...)
}

func (w *ways) read(text []byte, into any) {
	w.t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		w.t.Fatalf("%v: %.200s", err, text)
	}
}

// file writes a file and returns its name.
func (w *ways) file(name, text string) string {
	w.t.Helper()
	name = filepath.Join(w.folder, name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return name
}

// evaluation is what commands say in JSON: a setup and its figures.
type evaluation struct {
	Setup  json.RawMessage `json:"setup"`
	Memory *struct {
		Peak float64 `json:"peak_bytes"`
	} `json:"memory"`
	Time *struct {
		Step float64 `json:"step_seconds"`
	} `json:"time"`
	Throughput *struct {
		Tokens float64 `json:"tokens_per_second_per_gpu"`
	} `json:"throughput"`
}

// same holds a setup against the one that is meant.
func (w *ways) same(way string, s engine.Setup) {
	w.t.Helper()
	if s == w.want {
		return
	}
	for _, k := range knob.All() {
		if got, want := k.Text(s), k.Text(w.want); got != want {
			w.t.Errorf("%s: %s is %s, not %s", way, k.ID, got, want)
		}
	}
	if s.Model != w.want.Model || s.Cluster != w.want.Cluster {
		w.t.Errorf("%s: %s on %s", way, s.Model.ID, s.Cluster.ID)
	}
}

// equal holds a figure against that of the setup that is meant, to the last bit.
func (w *ways) equal(way string, got, want float64) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s: %v, not %v", way, got, want)
	}
}

// evaluated holds a JSON document, or a part of one, against the setup and its figures.
func (w *ways) evaluated(way string, text []byte) {
	w.t.Helper()
	var e evaluation
	w.read(text, &e)
	doc, err := setupdoc.Parse("", e.Setup)
	if err != nil {
		w.t.Fatalf("%s: %v", way, err)
	}
	s, err := doc.Setup(w.app.lib)
	if err != nil {
		w.t.Fatalf("%s: %v", way, err)
	}
	w.same(way, s)
	w.figures(way, &e)
}

// figures holds those of a document against those of the setup that is meant.
func (w *ways) figures(way string, e *evaluation) {
	w.t.Helper()
	if e.Time != nil {
		w.equal(way+": step", e.Time.Step, float64(w.report.Time.Step))
		w.equal(way+": peak", e.Memory.Peak, float64(w.report.Memory.Peak))
		w.equal(way+": tokens/s", e.Throughput.Tokens, w.report.Throughput.TokensPerSecondPerGPU)
	}
}

// TestWays: forty ways from words to each of ten setups, through every reader and every command, give that
// setup and equal figures to the last bit.
func TestWays(t *testing.T) {
	t.Parallel()
	for i := range tenSetups {
		of := &tenSetups[i]
		t.Run(strings.ReplaceAll(of.words, " ", ","), func(t *testing.T) {
			t.Parallel()
			w := bench(t, of, t.TempDir())
			w.readers()
			w.files()
			w.commands()
			w.explorer()
		})
	}
}

// readers are the ways in which words are written down.
func (w *ways) readers() {
	w.t.Helper()
	flags, half := flagsOf(w.words), len(pairs(w.words))/2
	var spaced, sets []string
	for _, p := range pairs(w.words) {
		spaced = append(spaced, "--"+p[0], p[1])
		sets = append(sets, "--set", p[0]+"="+p[1])
	}
	halves := [2]string{
		strings.Join(strings.Fields(w.words)[:half], " "),
		strings.Join(strings.Fields(w.words)[half:], " "),
	}
	share, ok := setupdoc.Share(w.want, presets.Default(), w.app.lib)
	if !ok {
		w.t.Fatal("no share string")
	}
	line, ok := setupdoc.Flags(w.want, w.app.lib)
	if !ok {
		w.t.Fatal("no command line")
	}
	toml, object := textOf(w.words, true), textOf(w.words, false)
	whole := w.run("", append([]string{"eval", "--json"}, flags...)...)
	eval := func(way, stdin string, args ...string) {
		w.t.Helper()
		w.evaluated(way, w.run(stdin, append([]string{"eval", "--json"}, args...)...))
	}
	eval("flags with =", "", flags...)
	eval("flags with blanks", "", spaced...)
	eval("flags from the last to the first", "", reversed(flags)...)
	eval("--set", "", sets...)
	eval("a TOML file", "", "--setup", w.file("run.toml", toml))
	eval("a JSON file", "", "--setup", w.file("run.json", object))
	eval("a file without an ending", "", "--setup", w.file("run", toml))
	eval("TOML on standard input", toml, "--setup", "-")
	eval("JSON on standard input", object, "--setup", "-")
	eval("set of a JSON file", "", "--setup", w.file("set.json", `{"set":`+object+`}`))
	eval("a file and flags", "",
		append(flagsOf(halves[1]), "--setup", w.file("half.toml", textOf(halves[0], true)))...)
	eval("a share string", "", share)
	eval("a share string as --setup", "", "--setup", share)
	eval("the command that y copies", "", strings.Fields(strings.ReplaceAll(line, "'", ""))...)
	eval("the document of eval", string(whole), "--setup", "-")
	eval("every knob", "", flagsOf(w.full)...)
	eval("the document of import", string(w.run("", "import", "--json", w.file("run2.toml", toml))),
		"--setup", "-")
	w.evaluated("a line of a batch", w.run(object+"\n", "eval", "--batch", "-"))
	w.evaluated("a line of a batch and flags",
		w.run(textOf(halves[0], false)+"\n",
			append([]string{"eval", "--batch", "-"}, flagsOf(halves[1])...)...))
	w.evaluated("a share string's document in a batch",
		w.run(strings.TrimSpace(compacted(whole))+"\n", "eval", "--batch", "-"))
}

// compacted is a JSON document on one line.
func compacted(text []byte) string {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return ""
	}
	return out.String()
}

// reversed lists flags from the last to the first.
func reversed(list []string) (out []string) {
	for i := range list {
		out = append(out, list[len(list)-1-i])
	}
	return out
}

// commands are the commands that ask something of a setup.
func (w *ways) commands() {
	w.t.Helper()
	var sides struct{ A, B json.RawMessage }
	list := strings.ReplaceAll(w.words, " ", ",")
	w.read(w.run("", "compare", "--json", list, list), &sides)
	w.evaluated("compare: A, a list", sides.A)
	w.evaluated("compare: B, a list", sides.B)
	w.read(w.command("compare", "--json", "mbs="+strconv.Itoa(w.want.MBS)), &sides)
	w.evaluated("compare: A, the flags", sides.A)
	w.read(w.run("", "compare", "--json", w.file("a.toml", textOf(w.words, true)),
		w.file("b.json", textOf(w.words, false))), &sides)
	w.evaluated("compare: A, a file", sides.A)
	w.evaluated("compare: B, a file", sides.B)

	scanned := w.command("scan", "--json", "--x=mbs="+strconv.Itoa(w.want.MBS))
	var points struct{ Points []struct{ Value float64 } }
	w.read(scanned, &points)
	w.evaluated("scan", scanned)
	w.equal("scan: step", points.Points[0].Value, float64(w.report.Time.Step))

	if w.searched || draws.Deep() { // its moves take long
		w.evaluated("advise", w.command("advise", "--json", "--moves=1"))
	}
	explained := w.command("explain", "time.step", "--json")
	var figure struct{ Explanation struct{ Value float64 } }
	w.read(explained, &figure)
	w.evaluated("explain", explained)
	w.equal("explain: step", figure.Explanation.Value, float64(w.report.Time.Step))
	var drawn struct{ Makespan float64 }
	w.read(w.command("timeline", "--json"), &drawn)
	w.equal("timeline: makespan", drawn.Makespan, float64(w.report.Pipeline.Makespan))

	var found struct{ Results []struct{ Report evaluation } }
	w.read(w.run("", append([]string{"search", "--json", "--top=1"}, flagsOf(w.full)...)...), &found)
	if w.report.Memory.Fits {
		w.equal("search: step", found.Results[0].Report.Time.Step, float64(w.report.Time.Step))
	}

	// Pages and files say what they say of every knob.
	pages := [][]string{{"launch", "--legality", "--json"}, {"--plain"}, {"timeline", "--svg"}}
	if w.searched || draws.Deep() { // its other layouts take long
		pages = append(pages, []string{"report", "--format=markdown"})
	}
	for _, command := range pages {
		text, typed := string(w.command(command...)),
			string(w.run("", append(command, flagsOf(w.full)...)...))
		switch command[0] {
		case "report": // it tells how the layout was found
			text, typed = beforeHow(text), beforeHow(typed)
		case "--plain": // its searches end with a time
			text, typed = setupAndFigures(text), setupAndFigures(typed)
		}
		if text != typed {
			w.t.Errorf("%q: not what every knob gives:\n%s\n%s", command, text, typed)
		}
	}
}

// setupAndFigures are the first sentences of a plain page.
func setupAndFigures(page string) string {
	const first = 30
	lines := strings.SplitAfter(page, "\n")
	return strings.Join(lines[:min(len(lines), first)], "")
}

// beforeHow is a page without the section on how its layout was found.
func beforeHow(page string) string {
	before, _, _ := strings.Cut(page, "## How it was obtained")
	return before
}

// without leaves keys out of words: what follows from the others.
func without(words string, keys ...string) string {
	var out []string
	for _, word := range strings.Fields(words) {
		if key, _, _ := strings.Cut(word, "="); !slices.Contains(keys, key) {
			out = append(out, word)
		}
	}
	return strings.Join(out, " ")
}

// begun holds the setup that words begin with against the one that is meant.
func (w *ways) begun(way string, words ...string) {
	w.t.Helper()
	b, err := w.app.commandLine(words, true)
	if err != nil {
		w.t.Fatalf("%s: %v", way, err)
	}
	s, _, err := b.Choose(w.t.Context(), 1)
	if err != nil {
		w.t.Fatalf("%s: %v", way, err)
	}
	w.same(way, s)
}

// explorer are the ways into the explorer.
func (w *ways) explorer() {
	w.t.Helper()
	toml, object, flags := textOf(w.words, true), textOf(w.words, false), strings.Join(flagsOf(w.words), " ")
	share, _ := setupdoc.Share(w.want, presets.Default(), w.app.lib)
	w.begun("flags of the explorer", flagsOf(w.words)...)
	w.begun("a command line with a share string", "eval", share)
	for way, text := range map[string]string{
		"a pasted command line": "meshscope eval " + flags, "a pasted share string": share,
		"a pasted JSON text": object, "a pasted TOML text": toml,
		"a dropped file": w.file("dropped.toml", toml),
		"a pasted list of every knob": strings.Join(strings.Fields(without(w.full, "dp", "microbatches")),
			","),
	} {
		w.same(way, w.seat().paste(text).copied())
	}
	w.same("a command line in the palette", w.seat().typed(":", "", "").paste("meshscope "+flags).copied())
	w.same("m, g and typed knobs", w.seat().knobs(w.full).copied())
	if w.searched && !strings.Contains(w.words, "recompute") {
		// What is typed stays; the rest is chosen again.
		w.same("typed knobs, then m and g", w.seat().knobsFirst(w.setup).copied())
	}
	r, file, err := w.app.readDropped(w.file("open.json", object))
	if err != nil || file == "" {
		w.t.Fatal(err)
	}
	r.Resolve(w.app.lib)
	doc, err := r.Document(w.app.lib)
	if err != nil {
		w.t.Fatal(err)
	}
	b := launch.Begin(doc, w.app.lib, launch.Limit)
	s, _, err := b.Choose(w.t.Context(), 1)
	if err != nil {
		w.t.Fatal(err)
	}
	w.same("a file that opens", s)
}
