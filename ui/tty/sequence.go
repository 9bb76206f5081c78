package tty

import "bytes"

// escape begins every sequence of a terminal.
const escape = '\x1b'

// whole returns the length of the part of the input whose sequences are all complete: what
// follows it begins a sequence of which more is to come.
func whole(input []byte) int {
	for at := 0; at < len(input); {
		if input[at] != escape {
			at++
			continue
		}
		n := sequence(input[at:])
		if n == 0 {
			return at
		}
		at += n
	}
	return len(input)
}

// sequence returns the length of the sequence that the input begins with; 0: it is not complete.
func sequence(input []byte) int {
	if len(input) < 2 {
		return 0
	}
	switch input[1] {
	case '[':
		return controlSequence(input)
	case 'O': // a key of the keypad
		if len(input) < 3 {
			return 0
		}
		return 3
	case ']', 'P', '_', '^', 'X':
		return controlString(input)
	case escape: // the first of two is a key by itself
		return 1
	}
	return 2
}

// controlSequence returns the length of "ESC [", parameters and a final byte; 0: it is not complete.
func controlSequence(input []byte) int {
	const linuxFunctionKey, clickOfX10 = "\x1b[[", "\x1b[M"
	for _, long := range []struct {
		begin string
		bytes int
	}{{linuxFunctionKey, 4}, {clickOfX10, 6}} {
		if bytes.HasPrefix(input, []byte(long.begin)) {
			if len(input) < long.bytes {
				return 0
			}
			return long.bytes
		}
	}
	for at := 2; at < len(input); at++ {
		switch c := input[at]; {
		case c >= '@' && c <= '~':
			return at + 1
		case c < ' ' || c > '~': // broken off
			return at
		}
	}
	return 0
}

// controlString returns the length of a string that BEL or "ESC \" ends; 0: it is not complete.
func controlString(input []byte) int {
	for at := 2; at < len(input); at++ {
		switch {
		case input[at] == '\a':
			return at + 1
		case input[at] == escape && at+1 == len(input):
			return 0
		case input[at] == escape && input[at+1] == '\\':
			return at + 2
		case input[at] == escape: // broken off
			return at
		}
	}
	return 0
}

// answers reports whether the beginning of a sequence is that of a reply of the terminal, which no
// key has.
func answers(begin []byte) bool {
	const osc, dcs, private = "\x1b]", "\x1bP", "\x1b[?"
	for _, kind := range []string{osc, dcs} {
		if bytes.HasPrefix(begin, []byte(kind)) && len(begin) > len(kind) {
			return true
		}
	}
	return bytes.HasPrefix(begin, []byte(private))
}
