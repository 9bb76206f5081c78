package engine_test

import (
	"testing"

	"meshscope/engine"
)

// TestSent: traffic adds up over the dimensions that are named, or over all.
func TestSent(t *testing.T) {
	r := engine.Report{Communication: []engine.Communication{
		{Dimension: "tp", Bytes: 1, Exposed: 10},
		{Dimension: "dp", Bytes: 2, Exposed: 20},
		{Dimension: "tp", Bytes: 4, Exposed: 40},
	}}
	for _, c := range []struct {
		names []string
		want  engine.Communication
		ok    bool
	}{
		{nil, engine.Communication{Bytes: 7, Exposed: 70}, true},
		{[]string{"tp"}, engine.Communication{Bytes: 5, Exposed: 50}, true},
		{[]string{"dp", "pp"}, engine.Communication{Bytes: 2, Exposed: 20}, true},
		{[]string{"pp"}, engine.Communication{}, false},
	} {
		if got, ok := r.Sent(c.names...); got != c.want || ok != c.ok {
			t.Errorf("%v: %+v, %t", c.names, got, ok)
		}
	}
	if _, ok := (&engine.Report{}).Sent(); ok {
		t.Error("a report without traffic sends some")
	}
}
