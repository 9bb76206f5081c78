package layout

import "slices"

// HasErrors reports whether any of the problems makes a setup illegal.
func HasErrors(problems []Problem) bool {
	for i := range problems {
		if problems[i].Severity == Error {
			return true
		}
	}
	return false
}

// HasCode reports whether one of the problems has that code.
func HasCode(problems []Problem, code string) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Code == code })
}
