package tty

import (
	"io"
	"slices"
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

// chunks is a terminal that sends them. Where it can be waited for, nothing of one that comes later is read
// before.
type chunks struct {
	rest []chunk
	at   time.Time
}

// Read gives what came next, or a part of it.
func (c *chunks) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	next := &c.rest[0]
	c.at, next.after = c.at.Add(next.after), 0
	n := copy(p, next.text)
	if next.text = next.text[n:]; next.text == "" {
		c.rest = c.rest[1:]
	}
	return n, nil
}

// ready reports whether there is more in time, and waits.
func (c *chunks) ready(within time.Duration) bool {
	if len(c.rest) == 0 || c.rest[0].after > within {
		c.at = c.at.Add(within)
		if len(c.rest) > 0 {
			c.rest[0].after -= within
		}
		return false
	}
	return true
}

// reads returns what each read gives of chunks: of a terminal that can be waited for, or not.
func reads(waits bool, sent ...chunk) (got []string) {
	c := &chunks{rest: sent, at: time.Unix(1000, 0)}
	in := &input{from: c, now: func() time.Time { return c.at }}
	if waits {
		in.ready = c.ready
	}
	for p := make([]byte, 4096); ; {
		n, err := in.Read(p)
		if got = append(got, string(p[:n])); err != nil {
			return got
		}
	}
}

// passed returns what chunks become.
func passed(sent ...chunk) string { return strings.Join(reads(false, sent...), "") }

// TestCutSequences: a sequence that comes in parts is read as one, or as what it is when no more of it comes,
// and ctrl+c ends one whose end was lost.
func TestCutSequences(t *testing.T) {
	const pause, colour = 300 * time.Millisecond, "\x1b]11;rgb:1e1e/1e1e/1e1e"
	for name, c := range map[string]struct {
		in   []chunk
		want string // the reads, with a bar between them
	}{
		"keys":      {[]chunk{{0, "a\x1b[A"}, {0, "b"}}, "a\x1b[Ab"},
		"an escape": {[]chunk{{0, "\x1b"}, {pause, "j"}}, "\x1b[27u|j"},
		"an arrow":  {[]chunk{{0, "\x1b["}, {pause, "A"}}, "\x1b[A"},
		"a colour": {
			[]chunk{{0, colour[:9]}, {pause, colour[9:] + "\x1b"}, {pause, "\\q"}},
			colour + "\x1b\\|q",
		},
		"a mode":                  {[]chunk{{0, "\x1b[?20"}, {time.Second, "26;2$y"}}, "\x1b[?2026;2$y"},
		"a lost end":              {[]chunk{{0, colour}, {time.Minute, "q"}}, colour + "|q"},
		"alt and a bracket":       {[]chunk{{0, "\x1b]"}, {time.Minute, "q"}}, "\x1b]|q"},
		"two escapes":             {[]chunk{{0, "\x1b\x1b"}, {time.Minute, "q"}}, "\x1b\x1b|q"},
		"a broken sequence":       {[]chunk{{0, "\x1b[1\x1b[A"}}, "\x1b[1\x1b[A"},
		"a letter beyond ASCII":   {[]chunk{{0, "\x1b[1ü"}}, "\x1b[1ü"},
		"ctrl+c":                  {[]chunk{{0, "a" + colour}, {0, "\x03"}}, "a\x03"},
		"ctrl+c at once":          {[]chunk{{0, "a" + colour + "\x03"}}, "a\x03"},
		"ctrl+c of kitty":         {[]chunk{{0, "\x1bP1+r"}, {pause, "\x1b[99;5u"}}, "\x1b[99;5u"},
		"ctrl+c of kitty at once": {[]chunk{{0, "\x1bP1+r\x1b[99;5u"}}, "\x1b[99;5u"},
		"a cut ctrl+c":            {[]chunk{{0, "\x1bP1+r\x1b"}, {pause, "[99;5u"}}, "\x1b[99;5u"},
		"a lost end and an arrow": {[]chunk{{0, colour}, {0, "\x1b[A"}}, "\x1b[A"},
		"an escape and its rest":  {[]chunk{{0, "\x1b"}, {pause, "[<0;92;1M"}}, escapeKey + "|\x1b[<0;92;1M"},
		"an escape and keys":      {[]chunk{{0, "\x1b"}, {pause, "[["}}, escapeKey + "|[["},
		"an escape cut soon":      {[]chunk{{0, "\x1b"}, {60 * time.Millisecond, "[A"}}, "\x1b[A"},
		"ctrl+c in a paste": {
			[]chunk{{0, pasteBegins + colour + "\x03" + colour + pasteEnds}},
			pasteBegins + "\x03" + pasteEnds,
		},
		"ctrl+c read with a paste": {
			[]chunk{{0, pasteBegins + "abc\x03"}},
			pasteBegins + "abc" + pasteEnds + "\x03",
		},
		"and that of kitty": {
			[]chunk{{0, pasteBegins + "abc\x1b[99;5u"}, {2 * time.Second, "q"}},
			pasteBegins + "abc" + pasteEnds + "\x1b[99;5u|q",
		},
		"in a paste that goes on": {
			[]chunk{{0, pasteBegins + "abc\x03"}, {pause, "d" + pasteEnds}},
			pasteBegins + "abc\x03|d" + pasteEnds,
		},
		"and ctrl+c ends it": {
			[]chunk{{0, pasteBegins + "abc" + colour}, {0, "\x03"}},
			pasteBegins + "abc" + pasteEnds + "\x03",
		},
	} {
		if got := strings.TrimSuffix(strings.Join(reads(true, c.in...), "|"), "|"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestCutFlood: of a flood that is cut at each byte of a sequence, also where a read is full, whole sequences
// are handed on.
func TestCutFlood(t *testing.T) {
	const click = "\x1b[<0;92;1M\x1b[<0;92;2M"
	for cut := 4050; cut < 4150; cut++ {
		sent := strings.Repeat(click, 250)
		got := reads(true, chunk{0, sent[:cut]}, chunk{300 * time.Millisecond, sent[cut:]})
		for _, read := range got {
			whole := strings.HasPrefix(read, "\x1b") && strings.HasSuffix(read, "M")
			if cut%(len(click)/2) == 1 { // nobody can tell that from the key
				whole = whole || read == escapeKey
			}
			if !whole && read != "" {
				t.Errorf("cut at %d: %q", cut, read)
			}
		}
		if text := strings.ReplaceAll(strings.Join(got, ""), escapeKey, ""); text != sent {
			t.Errorf("cut at %d: %d bytes of %d", cut, len(text), len(sent))
		}
	}
}

// TestInterruptAhead: ctrl+c behind many keys is told before they are handed on; one in a paste, and one
// behind a few keys, comes as a key.
func TestInterruptAhead(t *testing.T) {
	many := strings.Repeat("\x1b[A\x1b[B", 10_000)
	for name, c := range map[string]struct {
		in   []chunk
		told bool
	}{
		"keys":           {[]chunk{{0, many + "\x03"}}, true},
		"after a while":  {[]chunk{{0, many}, {0, "\x03"}}, true},
		"of kitty":       {[]chunk{{0, many + "\x1b[99;5u"}}, true},
		"behind a paste": {[]chunk{{0, pasteBegins + "tp=4" + pasteEnds + many + "\x03"}}, true},
		"a few keys":     {[]chunk{{0, "\x1b[A\x1b[B\x03"}}, false},
		"in a paste":     {[]chunk{{0, many + pasteBegins + "a\x03b" + pasteEnds}}, false},
		"in a paste in parts": {[]chunk{
			{0, many + pasteBegins + "a\x03b"},
			{0, "c\x03d"},
			{0, pasteEnds + "q"},
		}, false},
		"keys alone": {[]chunk{{0, many}}, false},
	} {
		source, handed, told := &chunks{rest: c.in, at: time.Unix(1000, 0)}, 0, -1
		in := &input{from: source, ready: source.ready, now: func() time.Time { return source.at }}
		in.interrupt = func(many bool) {
			if many {
				told = handed
			}
		}
		for p := make([]byte, 4096); ; {
			n, err := in.Read(p)
			if handed += n; err != nil {
				break
			}
		}
		if (told >= 0) != c.told || told > 2*handedOn {
			t.Errorf("%s: told after %d bytes of %d, want told %v", name, told, handed, c.told)
		}
	}
}

// TestHeldKey: of a key that was held while nothing was read, a few are; of text and of what is pasted, all.
func TestHeldKey(t *testing.T) {
	for _, key := range []string{"\t", "\x1b[A", "\x1b[1;2C", "\x7f"} {
		sent := "x" + strings.Repeat(key, 500) + "\x03"
		if got, want := strings.Join(reads(true, chunk{0, sent}), ""),
			"x"+strings.Repeat(key, manyKeys)+"\x03"; got != want {
			t.Errorf("%q: %q", key, got)
		}
		few := strings.Repeat(key+"\x1b[B", 500)
		pasted := pasteBegins + strings.Repeat(key, 500) + pasteEnds
		for _, sent := range []string{
			strings.Repeat("xä", 500), strings.Repeat("x", 500), few,
			pasted[:len(pasted)/2], pasted,
		} {
			if got := passed(chunk{0, sent}); got != sent {
				t.Errorf("%.20q: %d bytes of %d", sent, len(got), len(sent))
			}
		}
	}
}

// TestUnendedPaste: a paste without an end ends at ctrl+c, and at a key after a pause;
// one with an end, and everything outside, is passed on as it came.
func TestUnendedPaste(t *testing.T) {
	const begin, end = pasteBegins, pasteEnds
	long, read := strings.Repeat("x", longestPaste), 4096
	kept := long[:longestPaste/read*read-len(begin)] // whole reads
	for name, c := range map[string]struct {
		in   []chunk
		want string
	}{
		"keys": {[]chunk{{0, "a\x1b[A"}, {0, "\x03"}}, "a\x1b[A\x03"},
		"a paste": {
			[]chunk{{0, begin + "text\x03text" + end}, {0, "q"}},
			begin + "text\x03text" + end + "q",
		},
		"marks in parts": {
			[]chunk{{0, "\x1b[20"}, {0, "0~text\x1b"}, {0, "[201~"}, {0, "\x03"}},
			begin + "text" + end + "\x03",
		},
		"an escape before a mark": {
			[]chunk{{0, "\x1b\x1b[200~a"}, {0, "\x03"}},
			"\x1b" + begin + "a" + end + "\x03",
		},
		"ctrl+c": {[]chunk{{0, begin + "abc"}, {0, "\x03"}}, begin + "abc" + end + "\x03"},
		"ctrl+c of kitty": {
			[]chunk{{0, begin + "abc"}, {0, "\x1b[99;5u"}},
			begin + "abc" + end + "\x1b[99;5u",
		},
		"ctrl+c of xterm": {[]chunk{
			{0, begin + "abc"},
			{time.Second / 2, "\x1b[27;5;99~"},
			{0, "q"},
		}, begin + "abc" + end + "\x1b[27;5;99~q"},
		"several of xterm": {
			[]chunk{{0, begin + "abc"}, {0, "\x1b[27;5;99~\x1b[27;5;99~"}},
			begin + "abc" + end + "\x1b[27;5;99~\x1b[27;5;99~",
		},
		"shift+c of xterm is text": {
			[]chunk{{0, begin + "abc"}, {0, "\x1b[27;2;99~"}},
			begin + "abc\x1b[27;2;99~",
		},
		"ctrl+d of xterm is text": {
			[]chunk{{0, begin + "abc"}, {0, "\x1b[27;5;100~"}},
			begin + "abc\x1b[27;5;100~",
		},
		"a stalled rest is text": {
			[]chunk{{0, begin + "tp=4 "}, {2 * time.Second, "xq"}, {0, "dd" + end}},
			begin + "tp=4 xqdd" + end,
		},
		"a stalled mark": {
			[]chunk{{0, begin + "abc\x1b[201"}, {2 * time.Second, "~"}, {0, "q"}},
			begin + "abc" + end + "q",
		},
		"half of a mark": {
			[]chunk{{0, begin + "abc"}, {2 * time.Second, "\x1b["}, {0, "201~q"}},
			begin + "abc" + end + "q",
		},
		"alt after a pause": {
			[]chunk{{0, begin + "abc"}, {time.Minute, "\x1bq"}},
			begin + "abc" + end + "\x1bq",
		},
		"escape after a pause": {
			[]chunk{{0, begin + "abc"}, {time.Minute, "\x1b"}},
			begin + "abc" + end + "\x1b",
		},
		"a letter after a pause": {
			[]chunk{{0, begin + "abc"}, {time.Minute, "é"}},
			begin + "abc" + end + "é",
		},
		"and num lock": {
			[]chunk{{0, begin + "abc"}, {0, "\x1b[99::99;133:1u\x03"}},
			begin + "abc" + end + "\x1b[99::99;133:1u\x03",
		},
		"c with shift is text": {
			[]chunk{{0, begin + "abc"}, {0, "\x1b[99;2u"}},
			begin + "abc\x1b[99;2u",
		},
		"ctrl+c after part of mark": {
			[]chunk{{0, begin + "abc\x1b[20"}, {0, "\x03"}, {0, "1~"}},
			begin + "abc\x1b[20" + end + "\x031~",
		},
		"a key at once is text": {[]chunk{{0, begin + "abc"}, {time.Second / 2, "q"}}, begin + "abcq"},
		"a key after a pause": {
			[]chunk{{0, begin + "abc"}, {time.Second, "q"}, {0, "q"}},
			begin + "abc" + end + "qq",
		},
		"an arrow after a pause": {
			[]chunk{{0, begin + "abc"}, {time.Minute, "\x1b[A"}},
			begin + "abc" + end + "\x1b[A",
		},
		"the rest after a pause": {
			[]chunk{{0, begin + "abc"}, {time.Minute, "def" + end}},
			begin + "abcdef" + end,
		},
		"a long rest after a pause": {
			[]chunk{{0, begin + "abc"}, {time.Minute, long[:500]}, {0, end}},
			begin + "abc" + long[:500] + end,
		},
		"too long": {
			[]chunk{{0, begin + long + "more"}, {0, "and more" + end + "q"}},
			begin + kept + end + "q",
		},
		"too long without an end": {
			[]chunk{{0, begin + long + "more"}, {0, "\x03"}},
			begin + kept + end + "\x03",
		},
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
		parts := rapid.SliceOf(rapid.SampledFrom([]string{
			pasteBegins, pasteEnds, "\x1b", "[20", "0~", "1~",
			"a", "\x1b[A", "ü",
		})).Draw(t, "parts")
		text := strings.Join(parts, "")
		var sent []chunk
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			sent, rest = append(sent, chunk{0, rest[:n]}), rest[n:]
		}
		waits := rapid.Bool().Draw(t, "waits")
		want := []string{text}
		if at, found := strings.CutSuffix(text, "\x1b"); found && waits { // nothing follows: it is the key
			want = append(want, at+escapeKey)
		}
		if got := strings.Join(reads(waits, sent...), ""); !slices.Contains(want, got) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

// FuzzInput: whatever is read, no call gives more than it has room for, and the end is reached.
func FuzzInput(f *testing.F) {
	f.Add([]byte(pasteBegins+"a"), []byte("\x03"), 20)
	f.Add([]byte("\x1b[99;5"), []byte("u"), 7)
	f.Fuzz(func(t *testing.T, first, second []byte, room int) {
		c := &chunks{rest: []chunk{{0, string(first)}, {time.Hour, string(second)}}, at: time.Unix(1000, 0)}
		in := &input{from: c, ready: c.ready, now: func() time.Time { return c.at }}
		p := make([]byte, min(max(room, 1), 4096))
		for calls := 0; ; calls++ {
			n, err := in.Read(p)
			if n > len(p) || calls > len(first)+len(second)+8 {
				t.Fatalf("%d bytes of %d in call %d", n, len(p), calls)
			}
			if err != nil {
				return
			}
		}
	})
}
