package wire

import (
	"strconv"

	"github.com/charmbracelet/x/ansi"
)

// colour is the default one (0), one of 16, one of 256, or 24 bits, told apart
// by the top byte: terminals may show the first sixteen differently when they are
// called by their short names.
type colour uint32

const (
	sixteen colour = (iota + 1) << 24
	indexed
	full

	kindMask = 0xff << 24
)

// attr are the attributes that a pen can have.
type attr uint16

const (
	bold attr = 1 << iota
	faint
	italic
	underline
	blink
	reverse
	conceal
	strike

	// What is seen on a blank, too.
	onBlank = underline | reverse | strike
)

// pen is what text is written with.
type pen struct {
	fg, bg colour
	attrs  attr
}

// sgr is the number that turns an attribute on; turning off is shared by bold
// and faint.
func (a attr) sgr() (on, off int) {
	switch a {
	case bold:
		return 1, 22
	case faint:
		return 2, 22
	case italic:
		return 3, 23
	case underline:
		return 4, 24
	case blink:
		return 5, 25
	case reverse:
		return 7, 27
	case conceal:
		return 8, 28
	default:
		return 9, 29
	}
}

// apply changes the pen as an SGR sequence does; false for one that says what a
// pen here cannot.
func (p *pen) apply(params ansi.Params) bool {
	if len(params) == 0 {
		*p = pen{}
		return true
	}
	for i := 0; i < len(params); i++ {
		n := params[i].Param(0)
		if params[i].HasMore() { // parts with colons
			return false
		}
		switch {
		case n == 0:
			*p = pen{}
		case n == 38 || n == 48:
			c, used := colourOf(params[i+1:])
			if used == 0 {
				return false
			}
			i += used
			p.paint(n == 48, c)
		case !p.one(n):
			return false
		}
	}
	return true
}

// one applies a parameter that stands alone.
func (p *pen) one(n int) bool {
	switch {
	case n >= 30 && n <= 37:
		p.fg = sixteen | colour(n-30)
	case n >= 90 && n <= 97:
		p.fg = sixteen | colour(n-90+8)
	case n >= 40 && n <= 47:
		p.bg = sixteen | colour(n-40)
	case n >= 100 && n <= 107:
		p.bg = sixteen | colour(n-100+8)
	case n == 39:
		p.fg = 0
	case n == 49:
		p.bg = 0
	default:
		for a := bold; a <= strike; a <<= 1 {
			on, off := a.sgr()
			switch n {
			case on:
				p.attrs |= a
				return true
			case off:
				p.attrs &^= a
				if a == bold {
					p.attrs &^= faint
				}
				return true
			}
		}
		return false
	}
	return true
}

func (p *pen) paint(back bool, c colour) {
	if back {
		p.bg = c
	} else {
		p.fg = c
	}
}

// colourOf reads what follows 38 or 48, and how many parameters that is.
func colourOf(params ansi.Params) (c colour, used int) {
	at := func(i int) int {
		if i >= len(params) || params[i].HasMore() {
			return -1
		}
		return params[i].Param(0)
	}
	switch at(0) {
	case 5:
		if n := at(1); n >= 0 && n <= 255 {
			return indexed | colour(n), 2
		}
	case 2:
		r, g, b := at(1), at(2), at(3)
		if min(r, g, b) >= 0 && max(r, g, b) <= 255 {
			return full | colour(r<<16|g<<8|b), 4
		}
	}
	return 0, 0
}

// list is the parameters of an SGR sequence.
type list []byte

func (l list) add(n int) list {
	if len(l) > 0 {
		l = append(l, ';')
	}
	return strconv.AppendInt(l, int64(n), 10)
}

// colour adds a colour; base is 30 or 40.
func (l list) colour(base int, c colour) list {
	v := int(c &^ kindMask)
	switch c & kindMask {
	case 0:
		return l.add(base + 9)
	case sixteen:
		if v < 8 {
			return l.add(base + v)
		}
		return l.add(base + 60 + v - 8)
	case indexed:
		return l.add(base + 8).add(5).add(v)
	default:
		return l.add(base + 8).add(2).add(v >> 16).add(v >> 8 & 255).add(v & 255)
	}
}

// turn appends the shortest sequence that turns one pen into another.
func turn(out []byte, from, to pen) []byte {
	if from == to {
		return out
	}
	step := steps(nil, from, to)
	fresh := steps(nil, pen{}, to)
	switch {
	case len(fresh) == 0:
		return append(out, "\x1b[m"...)
	case len(fresh)+1 < len(step):
		step = append(list{';'}, fresh...) // an empty parameter resets
	}
	out = append(out, "\x1b["...)
	out = append(out, step...)
	return append(out, 'm')
}

// steps are the parameters that change what is different.
func steps(l list, from, to pen) list {
	gone := from.attrs &^ to.attrs
	if gone&(bold|faint) != 0 {
		l = l.add(22)
		from.attrs &^= bold | faint // both end
		gone &^= bold | faint
	}
	for a := italic; a <= strike; a <<= 1 {
		if gone&a != 0 {
			_, off := a.sgr()
			l = l.add(off)
		}
	}
	for a := bold; a <= strike; a <<= 1 {
		if to.attrs&^from.attrs&a != 0 {
			on, _ := a.sgr()
			l = l.add(on)
		}
	}
	if from.fg != to.fg {
		l = l.colour(30, to.fg)
	}
	if from.bg != to.bg {
		l = l.colour(40, to.bg)
	}
	return l
}
