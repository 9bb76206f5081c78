package setupdoc

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/model"
)

// checkModel turns what the model says about its own fields into a value error, and refuses a window of 0
// where the preset has one in every layer, which would be another model in silence.
func (d *Document) checkModel(m *model.Model, lib Library) error {
	err := m.Check().Err()
	var wrong model.Errors
	if !errors.As(err, &wrong) {
		of, unknown := lib.Model(m.ID)
		if err != nil || unknown != nil || m.LocalWindow > 0 || of.LocalWindow == 0 ||
			m.LocalRatio != of.LocalRatio || m.Pattern != of.Pattern {
			return err
		}
		return d.refuse("model.local_window", "0", fmt.Sprintf("at least 1 in %s, whose layers all have a "+
			"window, of %d; a window as long as max_seq has the same effect as none",
			of.Name, of.LocalWindow), strconv.Itoa(m.MaxSeq))
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
