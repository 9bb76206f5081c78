package themes

// Reversed is a paint with ink and ground exchanged, for marks on areas that
// have colours of their own. It works without colours too.
func (p Paint) Reversed() Paint { return Paint{open: p.open + "\x1b[7m"} }
