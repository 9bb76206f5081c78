package record_test

import (
	"testing"

	"meshscope/engine/record"
)

// TestTermsCopies adds to a copy of a sum: the sum keeps its value and its text.
func TestTermsCopies(t *testing.T) {
	rec := record.New()
	h, f := rec.Named("h", 3), rec.Named("f", 5)
	var sum record.Terms
	sum.Add(2, h)
	more := sum
	more.Add(1, f)
	more.Add(4, h)
	if got := sum.Num(); got.V != 6 || got.Text() != "2 * h" {
		t.Errorf("the sum is %v = %s after its copy changed", got.V, got.Text())
	}
	if got := more.Num(); got.V != 23 || got.Text() != "6 * h + f" {
		t.Errorf("the copy is %v = %s", got.V, got.Text())
	}
}
