package cli

import (
	"meshscope/engine"
	"meshscope/engine/search"
	"meshscope/presets/setupdoc"
	"meshscope/report"
)

// searchDocument is what search --json prints.
type searchDocument struct {
	header
	Setup     engine.Setup      `json:"setup"` // what no layout changes
	Objective search.Objective  `json:"objective"`
	Given     map[string]string `json:"given"` // the knobs that were given
	// DefaultGBS tells that no global batch was given.
	DefaultGBS bool `json:"default_gbs"`

	// GPUs are the numbers of GPUs that were tried for fewest-gpus.
	GPUs []int `json:"gpus_tried,omitempty"`

	Partial   bool    `json:"partial"`
	Share     float64 `json:"share_searched"`
	Legal     int     `json:"legal"`
	Excluded  int     `json:"excluded_by_bound"`
	Evaluated int     `json:"evaluated"`
	Fitting   int     `json:"fitting"`

	// Near counts layouts within 1 % of the best, Band those within its error band.
	Near *search.Near `json:"near,omitempty"`
	Band *search.Near `json:"within_error_band,omitempty"`
	// FitUnsure says that the error band of the first place's memory reaches beyond what
	// is usable; absent where there is no first place or no band.
	FitUnsure *bool `json:"fit_unsure,omitempty"`

	Seconds float64 `json:"seconds"`

	Results  []foundDocument   `json:"results"`
	Front    *[]foundDocument  `json:"front,omitempty"`
	Conflict *conflictDocument `json:"conflict,omitempty"`
}

// some is what is known of layouts near the best; absent where there is no best.
func some(n search.Near) *search.Near {
	if n.Least == 0 {
		return nil
	}
	return &n
}

// foundDocument is one layout that was found.
type foundDocument struct {
	Rank   int                `json:"rank"`
	Layout report.Layout      `json:"layout"`
	Flags  string             `json:"flags,omitempty"` // of eval; absent if no flags give this setup
	Free   float64            `json:"free_bytes"`
	Report *report.Evaluation `json:"report,omitempty"` // that of eval
}

// conflictDocument tells why nothing was found.
type conflictDocument struct {
	Fields  []string       `json:"fields"`
	Message string         `json:"message"`
	Partial bool           `json:"partial,omitempty"` // the time ended before a shorter list was found
	Least   *foundDocument `json:"least_memory,omitempty"`
	Fastest *foundDocument `json:"fastest,omitempty"` // if the deadline is a reason
	// The time ended before all layouts were ranked: some may need less, or be faster.
	LeastSoFar   bool     `json:"least_memory_so_far,omitempty"`
	FastestSoFar bool     `json:"fastest_so_far,omitempty"`
	Frees        []string `json:"enough_to_give_up,omitempty"`
	Helps        []string `json:"would_fit_with,omitempty"`
}

func (o *answer) document(a *app) searchDocument {
	r := &o.Result
	d := searchDocument{
		header: header{schemaVersion, version}, Setup: o.Problem.Setup, Objective: o.Problem.Objective,
		Given: map[string]string{}, DefaultGBS: o.Query.UnsetBatch,
		Partial: r.Partial, Share: r.Share, Legal: r.Legal, Excluded: r.Excluded, Evaluated: r.Evaluated, Fitting: r.Fitting,
		GPUs: r.GPUs,
		Near: some(r.Near), Band: some(r.Band),
		Seconds: o.seconds, Results: a.foundDocuments(r.Best),
	}
	if len(r.Best) > 0 && r.Best[0].Report.Memory.ErrorBand != nil {
		unsure := r.Best[0].Report.Memory.Close()
		d.FitUnsure = &unsure
	}
	for id, text := range o.Query.Texts {
		d.Given[string(id)] = text
	}
	if o.Problem.Front {
		front := a.foundDocuments(r.Front)
		d.Front = &front
	}
	if c := o.Conflict; c != nil {
		d.Conflict = &conflictDocument{Fields: listed(c.Fields), Message: o.Reason(), Partial: c.Partial, LeastSoFar: c.LeastSoFar, FastestSoFar: o.FastestSoFar, Frees: c.Frees, Helps: c.Helps}
		if c.Least != nil {
			d.Conflict.Least = &a.foundDocuments([]search.Found{*c.Least})[0]
		}
		if o.Fastest != nil {
			d.Conflict.Fastest = &a.foundDocuments([]search.Found{*o.Fastest})[0]
		}
	}
	return d
}

func (a *app) foundDocuments(list []search.Found) []foundDocument {
	out := make([]foundDocument, 0, len(list))
	for i := range list {
		f := &list[i]
		r := newReport(f.Setup, f.Report)
		flags, _ := setupdoc.Flags(f.Setup, a.lib)
		out = append(out, foundDocument{i + 1, report.Layout(f.Setup), flags, float64(f.Free), &r})
	}
	return out
}

// listed returns a list that JSON writes as [] if it is empty.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
