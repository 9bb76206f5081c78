package report

import (
	"bufio"
	"io"
	"strings"

	"meshscope/report/figure"
)

// writeSpeech writes a document for pipes and screen readers: headings and sentences, one
// fact per line, in ASCII, without drawings.
func writeSpeech(to io.Writer, d *Document) error {
	w := speech{Writer: bufio.NewWriter(to)}
	heading := d.Title
	for i := range d.Sections {
		s := &d.Sections[i]
		if s.Filed {
			continue
		}
		if s.Heading != "" {
			heading = s.Heading
		}
		w.heading = heading
		if s.Lead != "" {
			w.say(s.Lead)
		}
		for _, b := range s.Blocks {
			w.block(b)
		}
	}
	return w.Flush()
}

// speech writes a heading before its first sentence.
type speech struct {
	*bufio.Writer
	heading, last string
	begun         bool
}

// say writes a sentence on its own line.
func (w *speech) say(text string) {
	text = ascii(strings.NewReplacer(" ±", ", within ", "%", "percent").Replace(text))
	if text == "" {
		return
	}
	if w.heading != w.last {
		if w.begun {
			_, _ = w.WriteString("\n")
		}
		_, _ = w.WriteString(ascii(w.heading) + "\n")
		w.last, w.begun = w.heading, true
	}
	_, _ = w.WriteString(strings.TrimRight(text, ";,:. ") + "." + "\n")
}

func (w *speech) block(b Block) {
	switch b := b.(type) {
	case Sentence:
		w.say(string(b))
	case Detail:
		w.say(string(b))
	case Line:
		w.say(string(b))
	case Facts:
		for _, f := range b {
			w.say(named(f.Name, f.Value))
		}
	case Item:
		w.say(b.Text)
		for _, detail := range b.Details {
			w.say(detail)
		}
	case *Table:
		w.table(b)
	case Command:
		w.say("Command: " + string(b))
	}
}

// table writes each row as a sentence: its name, then the columns that are not empty.
func (w *speech) table(t *Table) {
	rows, folded := t.shown()
	for _, row := range rows {
		var rest []string
		for j := 1; j < len(row); j++ {
			if text := row[j].spoken(); text != "" && !t.drawn(j) {
				rest = append(rest, strings.TrimSpace(t.Head[j]+" "+text))
			}
		}
		first := row[0].Text
		if _, digits := leadingDigit(first); digits {
			first = strings.TrimSpace(t.Head[0] + " " + first)
		}
		w.say(named(first, strings.Join(rest, ", ")))
	}
	if folded > 0 {
		w.say(figure.Plural(folded, t.Head[0]) + " more are not listed")
	}
}

// leadingDigit returns the first byte of a text, and whether it is a digit.
func leadingDigit(s string) (byte, bool) {
	if s == "" {
		return 0, false
	}
	return s[0], s[0] >= '0' && s[0] <= '9'
}

func named(name, value string) string {
	if name == "" || value == "" {
		return name + value
	}
	return name + ": " + value
}

// ascii replaces characters beyond ASCII, and drops control characters.
func ascii(s string) string {
	s = strings.NewReplacer("±", "within ", "≈", "about ").Replace(s)
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '×':
			return 'x'
		case r == '–' || r == '—':
			return '-'
		case r < ' ' || r == 0x7f:
			return ' '
		case r > 0x7f:
			return '?'
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}
