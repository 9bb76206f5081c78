package lessons

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meshscope/presets"
	"meshscope/presets/input"
)

// FuzzParse reads any text as a lesson: a lesson that is taken can be played to its end, one that is
// not has an error with a file each.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("*.toml")
	if err != nil || len(files) == 0 {
		f.Fatal("no lessons", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("id = \"x\"\n[[act]]\nask = \"?\"\n[[act.options]]\nsay = \"a\"\nright = \"after > before\"\n")
	f.Add("[[act]]\nsetup = { model = \"llama3.1-8b\", tp = 1e400 }\n")
	f.Fuzz(func(t *testing.T, text string) {
		l, errs := Parse("", []byte(text), presets.Default())
		if (l == nil) == (len(errs) == 0) {
			t.Fatalf("%v with %v", l, errs)
		}
		for _, err := range errs {
			var at *input.Error
			if said := err.Error(); said == "" || strings.ContainsAny(said, "\x1b\u202e\u009b") ||
				errors.As(err, &at) && at.Line < 0 {
				t.Fatalf("an error says %q", said)
			}
		}
		if l == nil {
			return
		}
		for at := range l.Acts {
			p := Play{Lesson: l, At: at}
			_ = p.Mask()
			_, _ = p.Answer("a")
			if s := p.Setup(); s.GPUs < 1 {
				t.Fatalf("act %d has %d GPUs", at, s.GPUs)
			}
		}
	})
}

// FuzzExpression compiles any text: what is taken knows nothing but figures, and is true, false or
// an error of an act, never a panic.
func FuzzExpression(f *testing.F) {
	for _, seed := range []string{
		"after > before", "peak(before) / peak(after) >= 1.9", "step(after) == step(before)",
		"not (mfu(after) > 0.4) and true", "1/0 > 0",
		"len(\"x\") > 0", "before.x", "[1,2][0] == 1", "let x = 1; x > 0", "1..1000000 | sum() > 1",
		"\"a\" matches \"(a+)+$\"", "peak(before)(after)", "-before < 0", "nil == nil", "env", "{\"a\":1}",
	} {
		f.Add(seed)
	}
	act := fuzzAct(f)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := compile(text)
		if err != nil {
			if err.Error() == "" || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q: %q", text, err)
			}
			return
		}
		first, err := e.holds(act)
		if second, again := e.holds(act); first != second || (err == nil) != (again == nil) {
			t.Fatalf("%q is %v and %v", text, first, second)
		}
	})
}

// fuzzAct is the first act of a built-in lesson.
func fuzzAct(f *testing.F) *Act {
	f.Helper()
	text, err := os.ReadFile("second-step.toml")
	if err != nil {
		f.Fatal(err)
	}
	l, errs := Parse("second-step.toml", text, presets.Default())
	if len(errs) > 0 {
		f.Fatal(errs)
	}
	return &l.Acts[0]
}
