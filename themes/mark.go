package themes

// Reversed is a paint with ink and ground exchanged, for marks on areas that
// have colours of their own. It works without colours too.
func (p Paint) Reversed() Paint { return Paint{open: p.open + "\x1b[7m"} }

// Word is the paint of a role for a word, underlined if it can be looked up.
func (t *Theme) Word(r Role, word string) Paint {
	p := t.Paint(r)
	if t.Known == nil || !t.Known(word) {
		return p
	}
	return Paint{open: p.open + "\x1b[4m"}
}
