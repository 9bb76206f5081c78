package paste

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meshscope/engine_test/draws"
)

// chunk is what one read gives, and how long after the one before.
type chunk struct {
	after time.Duration
	text  string
}

// passed reads chunks as a terminal gives them.
func passed(chunks ...chunk) string {
	at := time.Unix(1000, 0)
	s := pastes{now: func() time.Time { return at }}
	var out strings.Builder
	for _, c := range chunks {
		at = at.Add(c.after)
		p := make([]byte, 4096)
		for from := io.Reader(strings.NewReader(c.text)); ; {
			n, err := s.read(from, p)
			out.Write(p[:n])
			if err != nil {
				break
			}
		}
	}
	return out.String()
}

// TestUnendedPaste: a paste without an end ends at ctrl+c, and at a key after a pause;
// one with an end, and everything outside, is passed on as it came.
func TestUnendedPaste(t *testing.T) {
	const begin, end = pasteBegins, pasteEnds
	long := strings.Repeat("x", longestPaste)
	for name, c := range map[string]struct {
		in   []chunk
		want string
	}{
		"keys":                      {[]chunk{{0, "a\x1b[A"}, {0, "\x03"}}, "a\x1b[A\x03"},
		"a paste":                   {[]chunk{{0, begin + "text\x03text" + end}, {0, "q"}}, begin + "text\x03text" + end + "q"},
		"marks in parts":            {[]chunk{{0, "\x1b[20"}, {0, "0~text\x1b"}, {0, "[201~"}, {0, "\x03"}}, begin + "text" + end + "\x03"},
		"an escape before a mark":   {[]chunk{{0, "\x1b\x1b[200~a"}, {0, "\x03"}}, "\x1b" + begin + "a" + end + "\x03"},
		"ctrl+c":                    {[]chunk{{0, begin + "abc"}, {0, "\x03"}}, begin + "abc" + end + "\x03"},
		"ctrl+c of kitty":           {[]chunk{{0, begin + "abc"}, {0, "\x1b[99;5u"}}, begin + "abc" + end + "\x1b[99;5u"},
		"ctrl+c of xterm":           {[]chunk{{0, begin + "abc"}, {time.Second / 2, "\x1b[27;5;99~"}, {0, "q"}}, begin + "abc" + end + "\x1b[27;5;99~q"},
		"several of xterm":          {[]chunk{{0, begin + "abc"}, {0, "\x1b[27;5;99~\x1b[27;5;99~"}}, begin + "abc" + end + "\x1b[27;5;99~\x1b[27;5;99~"},
		"shift+c of xterm is text":  {[]chunk{{0, begin + "abc"}, {0, "\x1b[27;2;99~"}}, begin + "abc\x1b[27;2;99~"},
		"ctrl+d of xterm is text":   {[]chunk{{0, begin + "abc"}, {0, "\x1b[27;5;100~"}}, begin + "abc\x1b[27;5;100~"},
		"a stalled rest is text":    {[]chunk{{0, begin + "tp=4 "}, {2 * time.Second, "xq"}, {0, "dd" + end}}, begin + "tp=4 xqdd" + end},
		"a stalled mark":            {[]chunk{{0, begin + "abc\x1b[201"}, {2 * time.Second, "~"}, {0, "q"}}, begin + "abc" + end + "q"},
		"half of a mark":            {[]chunk{{0, begin + "abc"}, {2 * time.Second, "\x1b["}, {0, "201~q"}}, begin + "abc" + end + "q"},
		"alt after a pause":         {[]chunk{{0, begin + "abc"}, {time.Minute, "\x1bq"}}, begin + "abc" + end + "\x1bq"},
		"escape after a pause":      {[]chunk{{0, begin + "abc"}, {time.Minute, "\x1b"}}, begin + "abc" + end + "\x1b"},
		"a letter after a pause":    {[]chunk{{0, begin + "abc"}, {time.Minute, "é"}}, begin + "abc" + end + "é"},
		"and num lock":              {[]chunk{{0, begin + "abc"}, {0, "\x1b[99::99;133:1u\x03"}}, begin + "abc" + end + "\x1b[99::99;133:1u\x03"},
		"c with shift is text":      {[]chunk{{0, begin + "abc"}, {0, "\x1b[99;2u"}}, begin + "abc\x1b[99;2u"},
		"ctrl+c after part of mark": {[]chunk{{0, begin + "abc\x1b[20"}, {0, "\x03"}, {0, "1~"}}, begin + "abc\x1b[20" + end + "\x031~"},
		"a key at once is text":     {[]chunk{{0, begin + "abc"}, {time.Second / 2, "q"}}, begin + "abcq"},
		"a key after a pause":       {[]chunk{{0, begin + "abc"}, {time.Second, "q"}, {0, "q"}}, begin + "abc" + end + "qq"},
		"an arrow after a pause":    {[]chunk{{0, begin + "abc"}, {time.Minute, "\x1b[A"}}, begin + "abc" + end + "\x1b[A"},
		"the rest after a pause":    {[]chunk{{0, begin + "abc"}, {time.Minute, "def" + end}}, begin + "abcdef" + end},
		"a long rest after a pause": {[]chunk{{0, begin + "abc"}, {time.Minute, long[:500]}, {0, end}}, begin + "abc" + long[:500] + end},
		"too long":                  {[]chunk{{0, begin + long + "more"}, {0, "and more" + end + "q"}}, begin + long + end + "q"},
		"too long without an end":   {[]chunk{{0, begin + long + "more"}, {0, "\x03"}}, begin + long + end + "\x03"},
	} {
		if got := passed(c.in...); got != c.want {
			t.Errorf("%s: %.80q, want %.80q", name, got, c.want)
		}
	}
}

// TestInputKeepsText: without a pause or a ctrl+c nothing is added or lost, however
// the text is cut into reads.
func TestInputKeepsText(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{pasteBegins, pasteEnds, "\x1b", "[20", "0~", "1~", "a", "\x1b[A", "ü"})).Draw(t, "parts")
		text := strings.Join(parts, "")
		var chunks []chunk
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			chunks, rest = append(chunks, chunk{0, rest[:n]}), rest[n:]
		}
		if got := passed(chunks...); got != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

// FuzzInput: whatever is read, no call gives more than it has room for.
func FuzzInput(f *testing.F) {
	f.Add([]byte(pasteBegins+"a"), []byte("\x03"), 20)
	f.Add([]byte("\x1b[99;5"), []byte("u"), 7)
	f.Fuzz(func(t *testing.T, first, second []byte, room int) {
		at := time.Unix(1000, 0)
		s := pastes{now: func() time.Time { at = at.Add(time.Hour); return at }}
		p := make([]byte, min(max(room, 1), 4096))
		for _, text := range [][]byte{first, second} {
			for from := bytes.NewReader(text); from.Len() > 0; {
				before := from.Len()
				n, err := s.read(from, p)
				if err != nil || n > before-from.Len()+len(pasteEnds) || n > len(p) {
					t.Fatalf("%d bytes, %v", n, err)
				}
			}
		}
	})
}
