package widget

// Jobs tells the piece of work that counts from those that it took the place of.
// A question does not tell them apart: asked, left and asked again it is the same,
// and the report of the stopped first work would end the second, for ever. The
// zero value is ready. It belongs to the key path: work itself does not touch it.
type Jobs struct {
	last    int
	running bool
}

// Begin takes a new piece of work and gives its number; what ran before no longer
// counts.
func (j *Jobs) Begin() int {
	j.last++
	j.running = true
	return j.last
}

// Running reports whether work that counts has not reported yet.
func (j *Jobs) Running() bool { return j.running }

// End takes the report of a piece of work. False: another has taken its place or
// it was dropped, and its report changes nothing.
func (j *Jobs) End(n int) bool {
	if n != j.last || !j.running {
		return false
	}
	j.running = false
	return true
}

// Drop lets what runs no longer count.
func (j *Jobs) Drop() { j.running = false }
