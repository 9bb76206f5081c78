package published

import "math"

// Spread says how errors of step times lie: of how many runs, their median, and which shares
// of them are at most 5, 10 and 20 % off.
type Spread struct {
	Name     string  `json:"name"`
	Rows     int     `json:"rows"`
	Median   float64 `json:"median_abs_error"`
	Within5  float64 `json:"within_5_percent"`
	Within10 float64 `json:"within_10_percent"`
	Within20 float64 `json:"within_20_percent"`
}

// Names of the populations of Spreads.
const (
	NotFitted = "groups that nothing was fitted to"
	Refitted  = "all but the sweep, constants refitted without the run's own release or paper"
	Fitted    = "groups that constants were fitted to, without the sweep"
	Sweep     = "the playbook's sweep, constants fitted to it"
)

// Spreads returns the errors of step times by how much the constants have seen of the runs,
// what they have seen least first. A population without runs is left out.
func Spreads(groups []Group, rows []Row, refits *Refits) []Spread {
	fitted := map[string]bool{}
	for i := range groups {
		fitted[groups[i].ID] = groups[i].Fitted
	}
	var list [4][]Row
	for i := range rows {
		switch r := &rows[i]; {
		case r.Metric != StepSeconds:
		case r.Group == sweepGroup:
			list[3] = append(list[3], *r)
		case fitted[r.Group]:
			list[1], list[2] = append(list[1], *r), append(list[2], *r)
		default:
			list[0], list[1] = append(list[0], *r), append(list[1], *r)
		}
	}
	absolute := func(rows []Row) []float64 { return (&stepErrors{rows: rows}).errors() }
	var out []Spread
	for i, name := range []string{NotFitted, Refitted, Fitted, Sweep} {
		errors := absolute
		if name == Refitted {
			errors = refits.Errors
		}
		if errs := errors(list[i]); len(errs) > 0 {
			out = append(out, spread(name, errs))
		}
	}
	return out
}

func spread(name string, errs []float64) Spread {
	within := func(most float64) float64 {
		n := 0
		for _, e := range errs {
			if math.Abs(e) <= most {
				n++
			}
		}
		return float64(n) / float64(len(errs))
	}
	return Spread{name, len(errs), median(errs), within(0.05), within(0.1), within(0.2)}
}
