package cli

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/compare"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/launch"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
	"meshscope/report/figure"
)

// start returns the setup of the flags. Where they name no degree, every knob that they do
// not give is that of the best layout of a search, or of the one that needs least memory where none fits;
// the chosen value then tells so.
func (f *setupFlags) start(ctx context.Context, a *app) (engine.Setup, *search.Chosen, error) {
	b, err := f.begin(a)
	if err != nil {
		return engine.Setup{}, nil, err
	}
	s, chosen, err := b.Choose(ctx, runtime.GOMAXPROCS(0))
	if err == nil && (chosen == nil || chosen.Found) {
		f.sayBatch(a, s.GBS, s.Seq)
	}
	return s, chosen, err
}

// begin returns the setup of the flags with the defaults of every knob, and the search that
// gives the layout instead.
func (f *setupFlags) begin(a *app) (search.Begun, error) {
	if f.launcher != nil {
		if err := f.launcher.check(); err != nil {
			return search.Begun{}, err
		}
	}
	doc, err := f.document(a)
	if err != nil {
		return search.Begun{}, err
	}
	b, err := f.beginOver(doc, a.lib)
	f.ownBatch, f.sequences, f.fixed = !doc.SaysBatch(), doc.BatchInSequences(), b.Fixed
	f.noGPUs = givesNoGPUs(doc)
	f.unasked = knob.Set{}
	for _, id := range compare.Work() {
		if !doc.Gives(id) && (id != knob.GBS || f.ownBatch) {
			f.unasked = f.unasked.With(id)
		}
	}
	return b, err
}

// gpuKnobs are what says how many GPUs there are.
func gpuKnobs() []knob.ID { return []knob.ID{knob.GPUs, knob.Nodes, knob.DP} }

// givesNoGPUs reports whether a document says nothing of how many GPUs there are.
func givesNoGPUs(doc *setupdoc.Document) bool { return !slices.ContainsFunc(gpuKnobs(), doc.Gives) }

// gpusTaken says how many GPUs a setup has that were not given.
func gpusTaken(s *engine.Setup) string {
	return fmt.Sprintf("gpus not given: %s, on %s", figure.Comma(s.GPUs), figure.Plural(s.Nodes(), "node"))
}

// beginOver is begin of the flags over a document.
func (f *setupFlags) beginOver(doc *setupdoc.Document, lib *presets.Library) (search.Begun, error) {
	if err := f.apply(doc); err != nil {
		return search.Begun{}, err
	}
	launcher := f.launcher
	if launcher == nil {
		launcher = &launcherFlag{id: autoLauncher}
	}
	return launch.Begin(doc, lib, launcher.limit), nil
}

// partial tells, where some degrees are named but not both TP and PP, how the best layout with what
// is named is found; empty where they are, or a value would need quotes.
func (f *setupFlags) partial() string {
	var named, words []string
	for _, id := range search.Degrees() {
		if f.gives(string(id)) {
			named = append(named, "--"+string(id))
		}
	}
	if len(named) == 0 || f.file != "" || f.gives(string(knob.TP)) && f.gives(string(knob.PP)) {
		return ""
	}
	for _, s := range f.said {
		words = append(words, "--"+s.key, s.value)
		if s.value == "" ||
			strings.Trim(s.value,
				"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._,:=/+-") != "" {
			return ""
		}
	}
	return fmt.Sprintf("only %s given, other degrees are 1; for the best layout with it: meshscope search %s",
		strings.Join(named, " and "), strings.Join(words, " "))
}

// saysTokens reports whether the flags give the global batch in tokens.
func (f *setupFlags) saysTokens() bool {
	for _, s := range f.said {
		key, value := s.key, s.value
		if s.assignment {
			key, value, _ = strings.Cut(s.value, "=")
		}
		if _, ok := knob.BatchTokens(value); ok && key == string(knob.GBS) {
			return true
		}
	}
	return false
}

// sayBatch tells where a global batch that the flags give in tokens is another one, for only whole
// micro-batches on every replica make a batch.
func (f *setupFlags) sayBatch(a *app, gbs, seq int) {
	for _, s := range f.said {
		key, value := s.key, s.value
		if s.assignment {
			key, value, _ = strings.Cut(s.value, "=")
		}
		if tokens, ok := knob.BatchTokens(value); ok && key == string(knob.GBS) && tokens != gbs*seq {
			a.sayf("meshscope: --gbs %s: the nearest batch is %s sequences of %s = %s tokens\n", value,
				figure.Comma(gbs), figure.Comma(seq), figure.FineCount(float64(gbs)*float64(seq)))
		}
	}
}

// sayTaken tells on standard error what a setup has that was not given: its GPUs, and the layout that a
// search chose. Side is that of a comparison, with a colon.
func (f *setupFlags) sayTaken(a *app, side string, s *engine.Setup, c *search.Chosen) {
	if f.noGPUs {
		a.sayf("meshscope: %s%s\n", side, gpusTaken(s))
	}
	if c == nil {
		return
	}
	a.sayf("meshscope: %s%s\n", side, c.Words(figure.Comma))
	if filled := c.Filled(); filled != "" {
		a.sayf("meshscope: %sthe search took %s\n", side, filled)
	}
}
