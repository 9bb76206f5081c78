package input_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"meshscope/engine_test/draws"
	"meshscope/presets/input"
)

// wide writes a text in UTF-16 or UTF-32.
func wide(text string, order binary.ByteOrder, bytes int) string {
	var out []byte
	for _, r := range text {
		if bytes == 4 {
			out = append(out, 0, 0, 0, 0)
			order.PutUint32(out[len(out)-4:], uint32(r))
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			out = append(out, 0, 0)
			order.PutUint16(out[len(out)-2:], u)
		}
	}
	return string(out)
}

func TestText(t *testing.T) {
	const text = "model = \"llama3.1-8b\"\ngpus = 8\n"
	for name, c := range map[string]struct {
		data, want   string
		line, column int
	}{
		"UTF-8":         {text, "", 0, 0},
		"a mark first":  {"\ufeff" + text, "", 0, 0},
		"other letters": {"# modèle 模型\n" + text, "", 0, 0},
		"empty":         {"", "", 0, 0},
		"UTF-16, marked": {
			"\xff\xfe" + wide(text, binary.LittleEndian, 2),
			"UTF-16 (little-endian)|UTF-8|iconv -f UTF-16 -t UTF-8", 0, 0,
		},
		"UTF-16BE, marked": {
			"\xfe\xff" + wide(text, binary.BigEndian, 2), "UTF-16 (big-endian)|iconv", 0,
			0,
		},
		"UTF-16, bare": {
			wide(text, binary.LittleEndian, 2), "UTF-16LE|iconv -f UTF-16LE -t UTF-8", 0,
			0,
		},
		"UTF-16BE, bare":    {wide(text, binary.BigEndian, 2), "UTF-16BE", 0, 0},
		"UTF-16, an accent": {wide("# modèle\n"+text, binary.LittleEndian, 2), "UTF-16LE", 0, 0},
		"UTF-32, marked": {
			"\xff\xfe\x00\x00" + wide(text, binary.LittleEndian, 4),
			"UTF-32 (little-endian)", 0, 0,
		},
		"UTF-32, bare":     {wide(text, binary.LittleEndian, 4), "UTF-32LE", 0, 0},
		"UTF-32BE, bare":   {wide(text, binary.BigEndian, 4), "UTF-32BE", 0, 0},
		"gzip":             {"\x1f\x8b\x08\x00", "gzip|gunzip", 0, 0},
		"zip":              {"PK\x03\x04rest", "zip archive|unzip", 0, 0},
		"Latin-1":          {"gpus = 8\n# mod\xe8le\n", "byte 0xE8|Latin-1|Windows-1252", 2, 6},
		"Latin-1, accents": {"é = \"\xe9\"", "byte 0xE9", 1, 6},
		"cut":              {text + "\xc3", "byte 0xC3", 3, 1},
		"binary": {
			"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00>\x00\x01\x00",
			"zero byte", 1, 8,
		},
	} {
		trimmed, err := input.Text([]byte(c.data))
		if c.want == "" {
			if err != nil || string(trimmed) != strings.TrimPrefix(c.data, "\ufeff") {
				t.Errorf("%s: %q, %v", name, trimmed, err)
			}
			continue
		}
		var what *input.Error
		if !errors.As(err, &what) || what.Line != c.line || what.Column != c.column {
			t.Errorf("%s: %v at %+v, want line %d, column %d", name, err, what, c.line, c.column)
			continue
		}
		for want := range strings.SplitSeq(c.want+"|allowed is text in UTF-8", "|") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, err, want)
			}
		}
	}
}

// What is valid and has no zero byte passes, whatever it is, but for what begins like
// a file of another kind; nothing else does.
func TestTextTakesUTF8(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		data := []byte(rapid.OneOf(rapid.String(),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t,
			"text"))
		sound := utf8.Valid(data) && !strings.Contains(string(data), "\x00") &&
			!strings.HasPrefix(string(data), "PK\x03\x04")
		if _, err := input.Text(data); (err == nil) != sound {
			t.Fatalf("%q: %v", data, err)
		}
	})
}
