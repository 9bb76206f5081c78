package engine

import "testing"

// TestSent: traffic adds up over the dimensions that are named, or over all.
func TestSent(t *testing.T) {
	r := Report{Communication: []Communication{
		{Dimension: "tp", Bytes: 1, Exposed: 10},
		{Dimension: "dp", Bytes: 2, Exposed: 20},
		{Dimension: "tp", Bytes: 4, Exposed: 40},
	}}
	for _, c := range []struct {
		names []string
		want  Communication
		ok    bool
	}{
		{nil, Communication{Bytes: 7, Exposed: 70}, true},
		{[]string{"tp"}, Communication{Bytes: 5, Exposed: 50}, true},
		{[]string{"dp", "pp"}, Communication{Bytes: 2, Exposed: 20}, true},
		{[]string{"pp"}, Communication{}, false},
	} {
		if got, ok := r.Sent(c.names...); got != c.want || ok != c.ok {
			t.Errorf("%v: %+v, %t", c.names, got, ok)
		}
	}
	if _, ok := (&Report{}).Sent(); ok {
		t.Error("a report without traffic sends some")
	}
}
