package themes

import (
	"strconv"
	"strings"
)

// Halves returns the paint of a cell that shows two grounds above each other, and the
// block that does: upper and lower are the paints of areas. A paint without a
// ground leaves its half empty.
func Halves(upper, lower Paint) (Paint, string) {
	above, below := ground(upper), ground(lower)
	switch {
	case above == "" && below == "":
		return Paint{}, " "
	case above == "":
		return Paint{open: "\x1b[" + fore(below) + "m"}, "▄"
	case below == "":
		return Paint{open: "\x1b[" + fore(above) + "m"}, "▀"
	case above == below:
		return Paint{open: "\x1b[" + above + "m"}, " "
	}
	return Paint{open: "\x1b[" + fore(above) + ";" + below + "m"}, "▀"
}

// ground returns the part of a paint's sequence that sets its background, or for a
// reversed paint the one that sets its foreground, as a background; empty where
// it sets none.
func ground(p Paint) string {
	var back, front string
	reversed := false
	list := strings.FieldsFunc(p.open,
		func(r rune) bool { return r == '\x1b' || r == '[' || r == 'm' || r == ';' })
	for i := 0; i < len(list); i++ {
		n, _ := strconv.Atoi(list[i])
		switch {
		case n == 7:
			reversed = true
		case n == 38 || n == 48:
			more := 2 // 5 and an index
			if i+1 < len(list) && list[i+1] == "2" {
				more = 4 // 2 and three channels
			}
			end := min(i+more+1, len(list))
			code := strings.Join(append([]string{"48"}, list[i+1:end]...), ";")
			if n == 38 {
				front = code
			} else {
				back = code
			}
			i = end - 1
		case n >= 40 && n <= 47 || n >= 100 && n <= 107:
			back = list[i]
		case n >= 30 && n <= 37 || n >= 90 && n <= 97:
			front = strconv.Itoa(n + 10)
		}
	}
	if reversed {
		return front
	}
	return back
}

// fore returns a background's code for the foreground.
func fore(code string) string {
	first, rest, more := strings.Cut(code, ";")
	n, _ := strconv.Atoi(first)
	if more {
		return strconv.Itoa(n-10) + ";" + rest
	}
	return strconv.Itoa(n - 10)
}

// Reversed returns a paint with ink and ground exchanged, for marks on areas that
// have colours of their own. It works without colours too.
func (p Paint) Reversed() Paint { return Paint{open: p.open + "\x1b[7m"} }

// Underlined returns a paint with a line below the text.
func (p Paint) Underlined() Paint { return Paint{open: p.open + "\x1b[4m"} }

// Word returns the paint of a role for a word, underlined if it can be looked up.
func (t *Theme) Word(r Role, word string) Paint {
	p := t.Paint(r)
	if t.Known == nil || !t.Known(word) {
		return p
	}
	return p.Underlined()
}
