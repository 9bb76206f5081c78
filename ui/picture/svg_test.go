package picture

import (
	"encoding/xml"
	"errors"
	"image/color"
	"io"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"
)

// screen is a picture of what a terminal shows after some output.
func screen(columns, rows int, output string) *Picture {
	emulator := vt.NewEmulator(columns, rows)
	_, _ = emulator.WriteString(output) // it fails only when closed
	return &Picture{
		Columns: columns, Rows: rows, Title: "a < b & c",
		Foreground: color.RGBA{0xd8, 0xd8, 0xd8, 0xff}, Background: color.RGBA{0, 0, 0, 0xff},
		Cells: func(x, y int) *uv.Cell { return emulator.CellAt(x, y) },
	}
}

func TestPicture(t *testing.T) {
	for name, test := range map[string]struct {
		output string
		want   []string
		not    []string
	}{
		"plain text": {"ab cd", []string{
			`<text x="0" y="13" textLength="40"`, ">ab cd</text>",
			`fill="#d8d8d8"`,
		}, nil},
		"columns are kept": {
			"a    b",
			[]string{`<text x="0" `, ">a</text>", `<text x="40" `, ">b</text>"},
			nil,
		},
		"second row": {"\r\nx", []string{`<text x="0" y="30"`}, nil},
		"escaped":    {"<&>", []string{"&lt;&amp;&gt;", "<title>a &lt; b &amp; c</title>"}, nil},
		"colour":     {"\x1b[38;2;1;2;255mx", []string{`fill="#0102ff"`}, nil},
		"background": {
			" \x1b[48;2;9;9;9m  \x1b[m ",
			[]string{`<rect x="8" y="0" width="16" height="17" fill="#090909"/>`},
			nil,
		},
		"reverse": {"\x1b[7mx", []string{
			`<rect x="0" y="0" width="8" height="17" fill="#d8d8d8"/>`,
			`fill="#000000" xml`,
		}, nil},
		"attributes": {
			"\x1b[1;3;4mx\x1b[m\x1b[2my",
			[]string{`font-weight="bold"`, `font-style="italic"`, `"underline"`, `opacity="0.6"`},
			nil,
		},
		"full block":       {"█", []string{"M0 0h8v17h-8z"}, []string{"█"}},
		"left half block":  {"▌", []string{"M0 0h4v17h-4z"}, nil},
		"left eighth":      {"▏", []string{"M0 0h1v17h-1z"}, nil},
		"lower half block": {"▄", []string{"M0 8.5h8v8.5h-8z"}, nil},
		"light shade":      {"░", []string{`fill-opacity="0.25"`}, nil},
		"quadrant":         {"▚", []string{"M0 0h4v8.5h-4zM4 8.5h4v8.5h-4z"}, nil},
		"line":             {"─", []string{"M0 8h8v1h-8z"}, []string{"─"}},
		"corner":           {"┌", []string{"M3.5 8h4.5v1h-4.5zM3.5 8h1v9h-1z"}, nil},
		"braille":          {"⠁", []string{"M1 1.06h2v2h-2z"}, []string{"⠁"}},
		"text round a bar": {"a █ b", []string{">a</text>", `<text x="32" `}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := screen(10, 2, test.output).SVG()
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is missing in\n%s", want, got)
				}
			}
			for _, not := range test.not {
				if strings.Contains(got, not) {
					t.Errorf("%q must not be in\n%s", not, got)
				}
			}
			wellFormed(t, got)
		})
	}
}

// wellFormed reads the document as XML.
func wellFormed(t *testing.T, document string) {
	t.Helper()
	for decoder := xml.NewDecoder(strings.NewReader(document)); ; {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
	}
}

func TestPictureIsDeterministic(t *testing.T) {
	output := "\x1b[31m██\x1b[32m▓▓\x1b[33m░░\x1b[34m──\x1b[35m⡇⡇\r\nx"
	first := screen(10, 2, output).SVG()
	for range 20 {
		if again := screen(10, 2, output).SVG(); again != first {
			t.Fatalf("two pictures of one screen differ:\n%s\n%s", first, again)
		}
	}
}
