package report

import (
	"fmt"

	"meshscope/engine/record"
	"meshscope/presets/curves"
	"meshscope/report/figure"
)

// CurveTables returns a table for each measured curve, its points next to what is predicted
// in their place.
func CurveTables(list []curves.Curve) []Table {
	out := make([]Table, 0, len(list))
	for i := range list {
		c := &list[i]
		t := Table{
			Title: c.ID + ": " + c.Title + ", " + c.Figure.Unit(),
			Head:  []string{c.Axis, "measured", "5 %", "95 %", "predicted", "error"},
		}
		for k := range c.Points {
			p := &c.Points[k]
			value := func(x float64) Cell {
				if x == 0 {
					return right("-")
				}
				return written(figure.Three(x), record.Count, x)
			}
			t.add(Figure(record.Count, float64(p.At)), value(p.Measured), value(p.Low), value(p.High),
				value(p.Predicted),
				written(fmt.Sprintf("%+.1f %%", 100*p.Error()), record.Share, p.Error()))
		}
		out = append(out, t)
	}
	return out
}

// curveSections returns every measured curve with its note and source.
func curveSections(list []curves.Curve) []Section {
	var out []Section
	tables := CurveTables(list)
	for i := range list {
		tables[i].Title = ""
		out = append(out, Section{
			Heading: list[i].ID, Lead: list[i].Title + ", " + list[i].Figure.Unit(),
			Blocks: []Block{&tables[i], Sentence(list[i].Note), Sentence("Source: " + list[i].Source)},
		})
	}
	return out
}
