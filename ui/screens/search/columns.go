package search

import "meshscope/report"

// column is one column of the table.
type column = report.Column[row]

// columns returns all of them; what a wide table would show only where somebody asks is hidden.
func columns() []column {
	all := report.CandidateColumns()
	for i := range all {
		all[i].Aside = all[i].Aside || all[i].ID == "free" || all[i].ID == "hours"
	}
	return all
}
