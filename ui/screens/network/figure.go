package network

import "meshscope/ui/screen"

// Figure returns the traffic of the dimension in focus, as the report names it.
func (v *overview) Figure(in *screen.Context) string {
	if in.Setup == nil || in.Report == nil || len(in.Report.Communication) == 0 {
		return ""
	}
	return "communication." + v.dim(in) + ".bytes"
}
