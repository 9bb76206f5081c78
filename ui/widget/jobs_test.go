package widget

import "testing"

// TestJobs: only the report of the last piece of work counts, and only once.
func TestJobs(t *testing.T) {
	var j Jobs
	if j.Running() || j.End(0) {
		t.Error("nothing was begun")
	}
	first := j.Begin()
	second := j.Begin()
	if j.End(first) || !j.Running() {
		t.Error("the first ends the second")
	}
	if !j.End(second) || j.Running() || j.End(second) {
		t.Error("the second does not end, or ends twice")
	}
	third := j.Begin()
	j.Drop()
	if j.Running() || j.End(third) {
		t.Error("what was dropped counts")
	}
	if fourth := j.Begin(); j.End(third) || !j.End(fourth) {
		t.Error("what was dropped counts in the place of another")
	}
}
