package main

import (
	"fmt"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/presets"
)

// change gives one figure of the calibration another value on the runs that all words
// of who describe.
type change struct {
	who    []string
	key    string
	values []float64
}

// parseChange reads [runs:]key=value[,value].
func parseChange(text string) (change, error) {
	var c change
	name, values, ok := strings.Cut(text, "=")
	if who, key, found := strings.Cut(name, ":"); found {
		c.who, c.key = strings.Split(who, ","), key
	} else {
		c.key = name
	}
	if !ok || c.key == "" {
		return c, fmt.Errorf("given %q, wanted [runs:]key=value[,value]", text)
	}
	for word := range strings.SplitSeq(values, ",") {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return c, fmt.Errorf("%s: %q is no number", c.key, word)
		}
		c.values = append(c.values, v)
	}
	return c, nil
}

// String returns the change as it is written on the command line.
func (c change) String() string {
	values := make([]string, len(c.values))
	for i, v := range c.values {
		values[i] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	text := c.key + "=" + strings.Join(values, ",")
	if len(c.who) > 0 {
		text = strings.Join(c.who, ",") + ":" + text
	}
	return text
}

// variants returns every combination of values, each change with a single one.
func (c changes) variants() []changes {
	out := []changes{nil}
	for _, one := range c {
		var longer []changes
		for _, before := range out {
			for _, v := range one.values {
				single := change{one.who, one.key, []float64{v}}
				longer = append(longer, append(before[:len(before):len(before)], single))
			}
		}
		out = longer
	}
	return out
}

// describes reports whether every word fits a run.
func (c *change) describes(r *row, s *engine.Setup) bool {
	for _, word := range c.who {
		switch word {
		case s.Cluster.GPU.ID, s.Cluster.ID, string(s.Stack.Resolve()), kind(s), width(s):
		default:
			if !strings.HasPrefix(r.group.ID, word) {
				return false
			}
		}
	}
	return true
}

// apply returns a setup with the changes that are about its run.
func (c changes) apply(r *row, s engine.Setup) (engine.Setup, error) {
	for i := range c {
		if !c[i].describes(r, &s) {
			continue
		}
		cluster, err := presets.WithFigure(s.Cluster, s.Stack, c[i].key, c[i].values[0])
		if err != nil {
			return s, err
		}
		s.Cluster = cluster
	}
	return s, nil
}

func kind(s *engine.Setup) string {
	if s.Model.IsMoE() {
		return "experts"
	}
	return "dense"
}

func width(s *engine.Setup) string {
	if s.Precision.On(s.Stack.Resolve()).IsFP8() {
		return "8bit"
	}
	return "16bit"
}
