package escape_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"meshscope/engine/escape"
	"meshscope/engine_test/draws"
)

// hostile are texts that nobody must get to see as they are.
func hostile() []string {
	return []string{
		"\x1b]0;x\a", "\u009b31m", "a\u202eb", "\u2066x", "\u200e", "\ufeff", "\xff\xfe", "a\rb", "\u2028",
		"\U000e0041", "\x7f", "\x00", "\u061c", "a\u200db", "é\r\nb", "\r", "\xe2\x82",
	}
}

// shown reports whether a text is harmless.
func shown(s string) bool {
	return utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) })
}

// TestPrintableEveryByte has every byte at every place of a text longer than what is
// looked at together.
func TestPrintableEveryByte(t *testing.T) {
	for b := range 256 {
		for at := range 19 {
			text := []byte("a text of 19 bytes.")
			text[at] = byte(b)
			if got, want := escape.Printable(string(text)), b >= ' ' && b <= '~'; got != want {
				t.Errorf("%q: printable is %v", text, got)
			}
		}
	}
}

func TestPrintable(t *testing.T) {
	for _, s := range append(hostile(), "a\nb", "a\tb") {
		if escape.Printable(s) {
			t.Errorf("%q is printable", s)
		}
	}
	for _, s := range []string{"", "Llama 3.1 70B", "modèle 模型", "no\u00a0break", "😀"} {
		if !escape.Printable(s) {
			t.Errorf("%q is not printable", s)
		}
	}
}

// TestShown: whatever is given, what is shown of it is harmless and short, on one
// line; what is harmless and short stays as it is.
func TestShown(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(
			rapid.String(),
			rapid.SampledFrom(hostile()),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.StringN(150, 400, -1),
		).Draw(t, "text")
		for name, got := range map[string]string{
			"Line": escape.Line(s), "Quote": escape.Quote(s),
			"Name": escape.Name(s),
		} {
			if !shown(got) || strings.ContainsAny(got, "\n\t") {
				t.Fatalf("%s(%q) = %q", name, s, got)
			}
			if n := utf8.RuneCountInString(got); n > 12*escape.Most {
				t.Fatalf("%s gives %d characters", name, n)
			} else if name == "Quote" && n > escape.Most+len(`"..."`) {
				t.Fatalf("Quote gives %d characters", n)
			}
		}
		if escape.Printable(s) && utf8.RuneCountInString(s) <= escape.Most && escape.Line(s) != s {
			t.Fatalf("Line(%q) = %q", s, escape.Line(s))
		}
	})
}

func TestClip(t *testing.T) {
	for s, want := range map[string]string{
		"short":                               "short",
		strings.Repeat("é", escape.Most):      strings.Repeat("é", escape.Most),
		strings.Repeat("é", escape.Most+1):    strings.Repeat("é", escape.Most) + "...",
		strings.Repeat("x", 100_000):          strings.Repeat("x", escape.Most) + "...",
		strings.Repeat("\xff", escape.Most+1): strings.Repeat("\xff", escape.Most) + "...",
	} {
		if got := escape.Clip(s); got != want {
			t.Errorf("%d bytes become %d, want %d", len(s), len(got), len(want))
		}
	}
}

// TestWriter: text in pieces of any size comes out harmless, and the same for any
// cut. JSON keeps its meaning.
func TestWriter(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom(hostile()))).Draw(t,
			"texts"), "")
		var whole, pieces bytes.Buffer
		one := escape.NewWriter(&whole)
		if n, err := one.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatalf("%d of %d, %v", n, len(s), err)
		}
		if err := one.Flush(); err != nil {
			t.Fatal(err)
		}
		if want := escape.Text(strings.ReplaceAll(s, "\r\n", "\n")); whole.String() != want {
			t.Fatalf("%q becomes %q, want %q", s, whole.String(), want)
		}
		if !shown(whole.String()) {
			t.Fatalf("%q becomes %q", s, whole.String())
		}
		w := escape.NewWriter(&pieces)
		for rest := []byte(s); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			_, _ = w.Write(rest[:n])
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if whole.String() != pieces.String() {
			t.Fatalf("whole %q, in pieces %q", whole.String(), pieces.String())
		}

		var document bytes.Buffer
		clean := strings.ToValidUTF8(s, "?")
		if err := json.NewEncoder(escape.NewWriter(&document)).Encode(map[string]any{
			clean: clean,
			"n":   1e300,
		}); err != nil {
			t.Fatal(err)
		}
		var back map[string]any
		if err := json.Unmarshal(document.Bytes(), &back); err != nil || back[clean] != clean &&
			clean != "n" || !shown(document.String()) {
			t.Fatalf("%q: %q, %v", clean, document.String(), err)
		}
	})
}

// closed is a stream that takes nothing.
type closed struct{}

var errClosed = errors.New("closed")

func (closed) Write([]byte) (int, error) { return 0, errClosed }

func TestWriterError(t *testing.T) {
	for _, text := range []string{"plain", "\x1b"} {
		if n, err := escape.NewWriter(closed{}).Write([]byte(text)); n != 0 || !errors.Is(err, errClosed) {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	table := escape.NewCSV(closed{})
	table.Write("a")
	if err := table.Close(); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}

func TestCell(t *testing.T) {
	for cell, want := range map[string]string{
		"": "", "-": "-", "x": "x", "-3.5e7": "-3.5e7", "+4": "+4", "=1+1": "'=1+1", "@SUM(A1)": "'@SUM(A1)",
		"+cmd": "'+cmd", "-x": "'-x", "\t=1": "'\t=1",
	} {
		if got := escape.Cell(cell); got != want {
			t.Errorf("%q becomes %q, want %q", cell, got, want)
		}
	}
	var out strings.Builder
	table := escape.NewCSV(&out)
	table.Write("=1", `a "b"`, "c")
	if err := table.Close(); err != nil || out.String() != "'=1,\"a \"\"b\"\"\",c\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestMarkdown(t *testing.T) {
	if got := escape.Markdown("a|b `c` <d> *e* [f](g)\nh"); got != `a\|b 'c' &lt;d> \*e\* \[f](g) h` {
		t.Error(got)
	}
}
