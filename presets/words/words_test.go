package words

import (
	"slices"
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/engine/model"
)

// TestMethods: every knob has a note, and every note a knob.
func TestMethods(t *testing.T) {
	notes, err := Methods()
	if err != nil {
		t.Error(err)
	}
	for _, p := range knob.Shown() {
		note, ok := notes[p.ID]
		if !ok {
			t.Errorf("%s has no note", p.ID)
			continue
		}
		if note.ID != p.ID || strings.Contains(note.Cuts+note.Costs, p.Help) {
			t.Errorf("%s: %+v", p.ID, note)
		}
		delete(notes, p.ID)
	}
	for id := range notes {
		t.Errorf("a note on %s, which is no knob", id)
	}
}

// TestGlossary: the words are sorted and refer to each other only; every degree,
// every unit and every term of memory has one.
func TestGlossary(t *testing.T) {
	all, err := Glossary()
	if err != nil {
		t.Error(err)
	}
	if !slices.IsSortedFunc(all,
		func(a, b Word) int { return strings.Compare(strings.ToLower(a.Term), strings.ToLower(b.Term)) }) {
		t.Error("not sorted")
	}
	for _, w := range all {
		for _, other := range w.See {
			i, ok := Find(all, other)
			if !ok || all[i].Term != other || other == w.Term {
				t.Errorf("%s refers to %q, which is no term", w.Term, other)
			}
		}
	}
	for _, name := range []string{
		"dp", "tp", "pp", "vpp", "cp", "ep", "etp", "sp", "ZeRO", "mbs", "gbs", "gas", "MFU", "HFU", "bubble",
		"exposed",
		"weights", "gradients", "optimizer state", "activations", "logits", "buffers", "overhead",
		"in flight", "rank", "stage", "chunk", "GiB", "shard", "all-reduce",
	} {
		if _, ok := Find(all, name); !ok {
			t.Errorf("no word %q", name)
		}
	}
	labels := []string{
		"EXPERT-DP", "PP-WAIT", "ring", "peak", "free", "margin", "launcher", "messages",
		"ranks idle", "in span", "exposed comm", "live", "idle", "layers",
	}
	for _, label := range labels {
		if _, ok := Find(all, label); !ok {
			t.Errorf("the label %q has no word", label)
		}
	}
	if _, ok := Find(all, "perpetuum mobile"); ok {
		t.Error("found what is not there")
	}
}

// TestKindsHaveWords: every kind of layer that a pattern can name has a word with the card of kinds, and so
// has what changes a layer and is no kind of its own a word.
func TestKindsHaveWords(t *testing.T) {
	all, err := Glossary()
	if err != nil {
		t.Fatal(err)
	}
	for _, letter := range model.Letters() {
		if strings.ContainsRune("*-E", letter) { // attention to all tokens, an MLP and experts alone
			continue
		}
		name := (&model.Model{Layers: 1, Pattern: string(letter)}).Beyond("")
		if i, ok := Find(all, name); !ok || all[i].Card != "kinds" {
			t.Errorf("%c: no word %q with the card kinds", letter, name)
		}
		if i, ok := Find(all, "hybrid"); !ok || !strings.Contains(all[i].Means, string(letter)) {
			t.Errorf("%c is not among the letters of the word hybrid", letter)
		}
	}
	for _, name := range []string{
		"hash MoE", "MoE", "sliding of earlier keys", "full of earlier keys", "output gate", "sink", "NoPE",
		"MLA", "MFA", "AltUp", "hyper-connections", "attention residuals", "latent experts", "zero experts",
		"shortcut experts",
	} {
		if _, ok := Find(all, name); !ok {
			t.Errorf("no word %q", name)
		}
	}
}

// TestRefused: a file with a fault says which entry and why, and gives the rest.
func TestRefused(t *testing.T) {
	const good = "name='n'\ncuts='c'\ncosts='c'\nuse='u'\nsource='s'\n"
	for name, test := range map[string]struct {
		text, want string
		left       int
	}{
		"unknown knob": {"[warp]\n" + good + "[tp]\n" + good, `"warp" is no parameter`, 1},
		"nothing said": {"[tp]\n" + strings.Replace(good, "'u'", "' '", 1), "tp: use is missing", 0},
		"too long": {
			"[tp]\n" + strings.Replace(good, "'u'", "'"+strings.Repeat("x", longest+1)+"'", 1),
			"tp: use has 331 letters", 0,
		},
		"beyond ASCII": {"[tp]\n" + good + "watch='\u00d7'\n", "tp: watch has a sign", 0},
		"unknown key":  {"[tp]\n" + good + "wins='w'\n", "missing", 0},
		"not TOML":     {"[tp\n", "methods:", 0},
		"a control sign": {
			"[tp]\n" + strings.Replace(good, "'s'", `"\u001b[31m"`, 1),
			"tp: source has a sign", 0,
		},
	} {
		notes, err := parseMethods([]byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) || len(notes) != test.left {
			t.Errorf("%s: %d notes, %v", name, len(notes), err)
		}
	}
	const word = "[[word]]\nterm='%'\nmeans='m'\nsource='s'\n"
	twice := strings.ReplaceAll(word, "%", "TP") + strings.ReplaceAll(word, "%", "tp")
	if all, err := parseGlossary([]byte(twice)); err == nil || len(all) != 1 ||
		!strings.Contains(err.Error(), "is also that of TP") {
		t.Errorf("%d words, %v", len(all), err)
	}
	if all, err := parseGlossary([]byte("[[word]]\nterm='TP'\nmeans='m'\n")); err == nil || len(all) != 0 {
		t.Errorf("a word without a source: %d words, %v", len(all), err)
	}
}

// FuzzGlossary: no text makes the parsers panic, and what they give is sound.
func FuzzGlossary(f *testing.F) {
	f.Add([]byte("[[word]]\nterm='TP'\nmeans='m'\nsource='s'\n"))
	f.Add(glossaryFile)
	f.Fuzz(func(t *testing.T, text []byte) {
		all, _ := parseGlossary(text)
		for i := range all {
			if all[i].check() != nil {
				t.Errorf("%+v", all[i])
			}
		}
		_, _ = parseMethods(text)
	})
}

func BenchmarkGlossary(b *testing.B) {
	for b.Loop() {
		_, _ = Glossary()
	}
}
