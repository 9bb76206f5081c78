package setupdoc

import (
	"errors"
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/model"
)

// checkModel turns what the model says about its own fields, and those of its preset, into a value error.
func (d *Document) checkModel(m *model.Model, lib Library) error {
	err := m.Check().Err()
	if of, unknown := lib.Model(m.ID); err == nil && unknown == nil {
		err = m.CheckOf(&of).Err()
	}
	var wrong model.Errors
	if !errors.As(err, &wrong) {
		return err
	}
	return d.refuse("model."+wrong[0].Field, wrong[0].Given, wrong[0].Allowed, wrong[0].Nearest)
}

// checkCluster does the same for the machine.
func (d *Document) checkCluster(c *hardware.Cluster) error {
	err := c.Check()
	var wrong hardware.Errors
	if !errors.As(err, &wrong) {
		return err
	}
	return d.refuse(wrong[0].Field, wrong[0].Given, wrong[0].Allowed, wrong[0].Nearest)
}

func (d *Document) refuse(field, given, allowed, nearest string) error {
	return place(d.placeOf(field), &knob.ValueError{
		Field: d.spelled(field), Given: strings.Trim(given, `"`), Allowed: allowed, Nearest: nearest,
	})
}
