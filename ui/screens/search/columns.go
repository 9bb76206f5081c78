package search

import "meshscope/report"

// column is one column of the table, and of the file that is written of it.
type column = report.Column[report.Candidate]
