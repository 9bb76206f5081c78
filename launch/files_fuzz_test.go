package launch_test

import (
	"bytes"
	"encoding/json"
	"math"
	"path"
	"strings"
	"testing"

	"meshscope/launch"
	"meshscope/presets"
)

// fuzzFile holds of any file that a launcher reads: it is read in a second, every finding has a
// place in the file, what was understood is what a setup document takes as JSON, and reading it
// again gives the same.
func fuzzFile(f *testing.F, id string) {
	f.Helper()
	s := samples(f)[id]
	l, _ := launch.Find(id)
	d, refused := l.Export(&s, "")
	if len(refused) > 0 {
		f.Fatal(refused)
	}
	f.Add(d.Text())
	for _, h := range hostile(d.Text()) {
		if len(h) < 10_000 {
			f.Add(h)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := l.Read(d.File, data)
		sound(t, &r, data)
	})
}

// sound fails where a reading has something that no file can give.
func sound(t *testing.T, r *launch.Reading, data []byte) {
	t.Helper()
	// which breaks lines in YAML
	lines := 1 + bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r"))
	for _, p := range r.Problems {
		if p.Message == "" || p.Line < 0 || p.Line > lines+1 {
			t.Fatalf("%+v of %d lines", p, lines)
		}
	}
	for _, i := range r.Ignored {
		if i.Why == "" || i.Line > lines+1 {
			t.Fatalf("%+v of %d lines", i, lines)
		}
	}
	for key, v := range r.Setup {
		if n, ok := v.(int); ok && (n < 0 || n > 1<<51) {
			t.Fatalf("%s is %d", key, n)
		}
		if x, ok := v.(float64); ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
			t.Fatalf("%s is %v", key, x)
		}
	}
	if _, err := json.Marshal(r.Setup); err != nil {
		t.Fatal(err)
	}
	if doc, err := r.Document(presets.Default()); err == nil {
		_, _ = doc.Setup(presets.Default()) // may refuse, in words
	}
}

func FuzzTorchTitan(f *testing.F)     { fuzzFile(f, "torchtitan") }
func FuzzTorchTitanTOML(f *testing.F) { fuzzFile(f, "torchtitan-toml") }
func FuzzNanotron(f *testing.F)       { fuzzFile(f, "nanotron") }
func FuzzDeepSpeed(f *testing.F)      { fuzzFile(f, "deepspeed") }
func FuzzAccelerate(f *testing.F)     { fuzzFile(f, "accelerate") }
func FuzzTrainers(f *testing.F)       { fuzzFile(f, "axolotl") }

// fuzzWild holds of any text under a name what sound asks for, whoever reads it; it begins with the files as
// they are met.
func fuzzWild(f *testing.F, name string, read func(data []byte) launch.Reading) {
	f.Helper()
	for _, w := range wilds() {
		if path.Ext(w.file) == path.Ext(name) {
			f.Add([]byte(w.text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := read(data)
		sound(t, &r, data)
	})
}

func opened(name string) func(data []byte) launch.Reading {
	return func(data []byte) launch.Reading {
		return launch.OpenGiven(name, data, presets.Default(), launch.Given{Source: new(wild).beside})
	}
}

func readBy(id, name string) func(data []byte) launch.Reading {
	l, _ := launch.Find(id)
	return func(data []byte) launch.Reading { return l.Read(name, data) }
}

func FuzzScript(f *testing.F)       { fuzzWild(f, "a.sh", opened("a.sh")) }
func FuzzPrograms(f *testing.F)     { fuzzWild(f, "a.yaml", opened("a.yaml")) }
func FuzzPython(f *testing.F)       { fuzzWild(f, "a.py", opened("a.py")) }
func FuzzMegatronArgs(f *testing.F) { fuzzWild(f, "a.yaml", readBy("megatron", "a.yaml")) }

// hostile returns broken forms of a file, and files that are none.
func hostile(text []byte) [][]byte {
	half := text[:len(text)/2]
	utf16 := []byte{0xff, 0xfe}
	for _, b := range text {
		utf16 = append(utf16, b, 0)
	}
	bomb := "a: &a [x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'm'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+", ", 8) + "]\n"
	}
	repeat := func(s string, n int) []byte { return []byte(strings.Repeat(s, n)) }
	out := [][]byte{
		{},
		[]byte("\n"), half, text[:len(text)-2], utf16, bytes.ReplaceAll(text, []byte("e"), []byte{0xff}),
		bytes.ReplaceAll(text, []byte("1"), []byte("9999999999999999999999")),
		bytes.ReplaceAll(text, []byte("1"), []byte("-1")), bytes.ReplaceAll(text, []byte("1"), []byte("0")),
		bytes.ReplaceAll(text, []byte("8"), []byte(`"auto"`)),
		bytes.ReplaceAll(text, []byte("8"), []byte("[[1]]")),
		[]byte(bomb), append([]byte(bomb), text...), append(bytes.Clone(text), text...),
		{0x7f, 'E', 'L', 'F', 0, 1, 2, 3},
		[]byte("\x1f\x8b\x08\x00"),
		repeat("[", 1_000_000), repeat("{", 500_000), repeat("- ", 500_000), repeat("? ", 500_000),
		repeat("a:\n ", 200_000), repeat(`{"a":`, 200_000), repeat("x = [", 200_000), repeat("[a.", 200_000),
		repeat("!!a ", 100_000), repeat("&a ", 100_000), repeat("a.", 500_000), repeat("'", 500_000),
		repeat("\"", 500_000), repeat("k = 1\n", 200_000), repeat("p.x = 1 * ", 100_000),
		append(repeat("# pad\n", 2_000_000), text...), repeat("\t", 1_000_000), repeat("a: b: ", 100_000),
		repeat("- a\n", 300_000), repeat("|\n", 100_000), repeat("<<: *a\n", 10_000),
	}
	deep := []byte{}
	for i := range 2000 {
		deep = append(append(deep, strings.Repeat(" ", i)...), "a:\n"...)
	}
	return append(out, deep)
}

// TestHostileFiles: truncated, enormous, deeply nested, binary and wrongly encoded files are read
// (one that takes for ever is stopped by the limit of go test), with what is wrong in words and what was
// understood kept.
func TestHostileFiles(t *testing.T) {
	all := samples(t)
	for _, l := range files(t) {
		s := all[l.ID]
		d, _ := l.Export(&s, "")
		for i, data := range hostile(d.Text()) {
			r := l.Read(d.File, data)
			sound(t, &r, data)
			if len(data) > 1<<20 && len(r.Problems) == 0 {
				t.Errorf("%s, %d: no problem with %d bytes (%.40q)", l.ID, i, len(data), data)
			}
		}
		truncated := l.Read(d.File, d.Text()[:len(d.Text())*2/3])
		if l.ID == "torchtitan" && len(truncated.Understood) < 8 {
			t.Errorf("%s: of a truncated file only %+v is understood", l.ID, truncated.Understood)
		}
	}
}
