package input_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"meshscope/presets/input"
)

func TestError(t *testing.T) {
	wrong := errors.New("wrong\x1b")
	for want, e := range map[string]*input.Error{
		`a.toml:2:3: k\u009b: wrong\u001b`: {File: "a.toml", Line: 2, Column: 3, Key: "k\u009b", Err: wrong},
		`"\u202ea": wrong\u001b`:           {File: "\u202ea", Err: wrong},
		`line 2, column 3: wrong\u001b`:    {Line: 2, Column: 3, Err: wrong},
		`wrong\u001b`:                      {Err: wrong},
	} {
		if e.Error() != want || !errors.Is(e, wrong) {
			t.Errorf("%q, want %q", e.Error(), want)
		}
	}
	if err := input.InFile("b", &input.Error{Err: wrong}); err.Error() != `b: wrong\u001b` {
		t.Error(err)
	}
	if err := input.Reason(&fs.PathError{Op: "open", Path: "p", Err: fs.ErrPermission}); !errors.Is(err,
		fs.ErrPermission) || strings.Contains(err.Error(), "p:") {
		t.Error(err)
	}
}

func TestReadFile(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, read := range []func(string, int) ([]byte,
		error){input.ReadFile, input.ReadRegular, func(name string, most int) ([]byte, error) {
		return input.ReadFS(os.DirFS("/"), strings.TrimPrefix(filepath.ToSlash(name), "/"), most)
	}} {
		if text, err := read(file, 5); string(text) != "12345" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		if _, err := read(file, 4); err == nil || !strings.Contains(err.Error(), "longer than 4 bytes") {
			t.Error(err)
		}
		if _, err := read(folder, 5); !errors.Is(err, input.ErrKind) ||
			!strings.Contains(err.Error(), "a folder") {
			t.Error(err)
		}
		if _, err := read(file+"x", 5); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
}

func TestNames(t *testing.T) {
	files := fstest.MapFS{"a/c": {}, "a/b": {}, "a/d/e": {}, "f": {}}
	if got := input.Names(files, "a"); !slices.Equal(got, []string{"b", "c"}) {
		t.Error(got)
	}
	if got := append(input.Names(files, "none"), input.Names(files, "f")...); got != nil {
		t.Error(got)
	}
}

// endless gives one byte for ever.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", input.MaxDocument)
	for text, want := range map[string][]string{
		"":                               nil,
		"\ufeff":                         nil,
		"a\nb\r\n\nc":                    {"a", "b", "", "c"},
		"\ufeffa\n":                      {"a"},
		long + "\n" + long + "y":         {"long", "too long"},
		"\ufeff" + long + "\r\n" + long:  {"long", "long"},
		"a\n" + long + "xx\nb":           {"a", "too long", "b"},
		long + "\r\r\r\r\r\rxx\n" + long: {"too long", "long"},
	} {
		var got []string
		err := input.Lines(strings.NewReader(text), func(line []byte, tooLong bool) bool {
			switch {
			case tooLong:
				line = []byte("too long")
			case len(line) == input.MaxDocument:
				line = []byte("long")
			}
			got = append(got, string(line))
			return true
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%.20q: %.60q, %v", text, got, err)
		}
	}
	lines := 0
	count := func([]byte, bool) bool { lines++; return lines < 10 }
	if err := input.Lines(endless(0), count); err == nil || lines > 0 {
		t.Errorf("no line break: %d lines, %v", lines, err)
	}
	if err := input.Lines(endless('\n'), count); err != nil || lines != 10 {
		t.Errorf("only line breaks: %d lines, %v", lines, err)
	}
	lines = 0
	if err := input.Lines(io.MultiReader(strings.NewReader("a\nhalf"), errReader{}), count); !errors.Is(err,
		fs.ErrClosed) || lines != 1 {
		t.Errorf("%d lines before a read error, %v", lines, err)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, fs.ErrClosed }

// many returns a document of n keys.
func many(n int, format, end string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String() + end
}

func TestTOMLLimits(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{many(input.MaxKeys, "k%d = 1\n", ""), ""},
		{many(input.MaxKeys+1, "k%d = 1\n", ""), "a.toml:1001:1: more than 1000 keys"},
		{strings.Repeat("k", input.MaxKey) + " = 1", ""},
		{
			"n = 1\n" + strings.Repeat("k", input.MaxKey+1) + " = 1",
			"a.toml:2:1: a key of 201 bytes; allowed: at most 200",
		},
		{many(100_000, "k%d = 1\n", ""), "more than 1000 keys"},
		{many(100_000, "[k%d]\n", ""), "a.toml:1001:2: more than 1000 keys"},
		{"k = [" + many(100_000, "{a%d = 1}, ", "]"), "more than 1000 keys"},
		{"k = " + strings.Repeat("[", 15) + strings.Repeat("]", 15), ""},
		{"k = " + strings.Repeat("[", 17) + strings.Repeat("]", 17), "nested more than 16 levels deep"},
		{
			"k = " + strings.Repeat("{a = ", 300) + "1" + strings.Repeat("}", 300),
			"nested more than 16 levels deep",
		},
		{"k" + strings.Repeat(".k", 16) + " = 1", "nested more than 16 levels deep"},
		{"k = " + strings.Repeat("[", 20_000), "nested more than"},
		{"k = ", "a.toml:1:"},
		{"k = 1\nk = 2\n", "a.toml:2:1: "},
	} {
		var into map[string]any
		_, err := input.DecodeTOML("a.toml", []byte(c.text), &into)
		if c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.30q: %v, want %q", c.text, err, c.want)
		}
	}
}

// TestTOMLSize: a document whose unknown keys take long to name is refused at once.
func TestTOMLSize(t *testing.T) {
	for name, text := range map[string]string{
		"lines": strings.Repeat("\n", input.MaxLines+1) + "a = 1\n",
		"bytes": "a = \"" + strings.Repeat("x", input.MaxPreset) + "\"\n",
	} {
		var into struct{}
		if _, err := input.DecodeTOML("f.toml", []byte(text), &into); err == nil ||
			!strings.Contains(err.Error(), "more than") {
			t.Errorf("too many %s: %v", name, err)
		}
	}
}

func TestDecodeTOML(t *testing.T) {
	var into struct {
		N    int    `toml:"n"`
		Text string `toml:"text"`
	}
	unknown, err := input.DecodeTOML("a.toml", []byte(many(100, "k%d = 1\n", "n = 3\n")), &into)
	if err != nil || into.N != 3 || len(unknown) != input.MaxErrors ||
		unknown[1].Error() != "a.toml:2:1: k1: unknown key" {
		t.Errorf("%+v, %v, %v", into, unknown, err)
	}
	for text, want := range map[string]string{
		"n = \"x\"":                   "a.toml:1:5: n: is a TOML string; allowed: a whole number",
		"text = 3":                    "text in quotes",
		"n = 99999999999999999999999": "is too large to be read as a number",
	} {
		if _, err := input.DecodeTOML("a.toml", []byte(text), &into); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestJSONLimits(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{" + many(input.MaxJSONKeys-1, `"k%d":1,`, `"z":1}`), ""},
		{"{" + many(input.MaxJSONKeys, `"k%d":1,`, `"z":1}`), "more than 500000 keys"},
		{"[" + many(input.MaxJSONKeys+1, `{"k%d":[]},`, `1]`), "more than 500000 keys"},
		{strings.Repeat("[", 16) + strings.Repeat("]", 16), ""},
		{
			strings.Repeat("[", 17) + strings.Repeat("]", 17),
			"line 1, column 18: nested more than 16 levels deep",
		},
		{strings.Repeat(`{"a":`, 100_000), "nested more than 16 levels deep"},
		{"", "ends too early"},
		{"{", "ends too early"},
		{"{\n}x", "not JSON"},
		{`{"a" 1}`, "line 1, column"},
	} {
		err := input.CheckJSON([]byte(c.text))
		if c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.30q: %v, want %q", c.text, err, c.want)
		}
	}
	var into struct {
		N int `json:"n"`
	}
	if err := input.DecodeJSON([]byte("{\n\"n\": \"x\"}"), &into); err == nil ||
		!strings.HasPrefix(err.Error(), "line 2, column ") ||
		!strings.HasSuffix(err.Error(), "n: is a JSON string, which it cannot be") {
		t.Error(err)
	}
}

// Whatever a document holds: no panic, and a message that can be shown.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{
		"a = 1", "[a]\nb = [1, {c = 'x'}]", `{"a": [1, {"b": null}]}`, "\ufeff{}",
		"\xff\xfea\x00", "a.b.c = '''x", "[[a]]\n[[a.b]]", "x = 1979-05-27", "\"\\u202e\" = 1",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		shown := func(err error) {
			if err != nil &&
				strings.ContainsFunc(err.Error(),
					func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }) {
				t.Fatalf("%q", err.Error())
			}
		}
		text, err := input.Text(data)
		shown(err)
		if err != nil {
			return
		}
		var table map[string]any
		_, err = input.DecodeTOML("a", text, &table)
		shown(err)
		var any any
		err = input.DecodeJSON(text, &any)
		if (err == nil) != json.Valid(text) && json.Valid(text) && len(text) < 17 {
			t.Fatalf("%q: %v", text, err)
		}
		if at, ok := errors.AsType[*input.Error](err); ok {
			shown(at)
		}
		shown(input.Lines(bytes.NewReader(data), func([]byte, bool) bool { return true }))
	})
}
