package engine_test

import (
	"reflect"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/step"
)

// Each kind of traffic inside layers has its dimension, and each dimension its own traffic: a kind that is
// added to Links alone would be in no row, lane or lesson.
func TestLinkDimensionsNameAllTraffic(t *testing.T) {
	var l step.Links
	of, names := reflect.ValueOf(&l).Elem(), step.LinkDimensions()
	if of.NumField() != len(names) {
		t.Fatalf("%d kinds of traffic, %d dimensions", of.NumField(), len(names))
	}
	for i, d := range names {
		if got := l.Of(d); got != of.Field(i).Addr().Interface() ||
			d != strings.ToLower(of.Type().Field(i).Name) {
			t.Errorf("%s is not the traffic of %s", d, of.Type().Field(i).Name)
		}
		l.Of(d).Exposed = 1
		c := engine.Communication{Dimension: d}
		if copies := l.Copying() > 0; copies != c.Copies() {
			t.Errorf("%s counts as copies: %t, says it is: %t", d, copies, c.Copies())
		}
		*l.Of(d) = step.Traffic{}
	}
	if l.Of("dp") != nil || step.Copies("dp") {
		t.Error("gradients are not traffic inside layers")
	}
}
