package report

import (
	"meshscope/engine"
	"meshscope/engine/search"
	"meshscope/presets/setupdoc"
)

// searchDocument is the JSON of a search.
type searchDocument struct {
	Header
	Setup     engine.Setup      `json:"setup"` // what no layout changes
	Objective search.Objective  `json:"objective"`
	Given     map[string]string `json:"given"` // the knobs that were given
	// DefaultGBS tells that no global batch was given.
	DefaultGBS bool `json:"default_gbs"`
	search.Result

	// Near counts layouts within 1 % of the best, Band those within its error band.
	Near *search.Near `json:"near,omitempty"`
	Band *search.Near `json:"within_error_band,omitempty"`
	// FitUnsure tells that the first place leaves less than its margin free
	// (engine.Memory.Margin); absent where there is no first place.
	FitUnsure *bool `json:"fit_unsure,omitempty"`
	// Launcher names the launcher whose rules the layouts meet.
	Launcher string `json:"launcher,omitempty"`

	Seconds float64 `json:"seconds"`

	Results  []foundDocument   `json:"results"`
	Front    *[]foundDocument  `json:"front,omitempty"`
	Conflict *conflictDocument `json:"conflict,omitempty"`
}

// foundDocument is one layout that was found.
type foundDocument struct {
	Rank   int     `json:"rank"`
	Layout Layout  `json:"layout"`
	Flags  string  `json:"flags,omitempty"` // of eval; absent if no flags give this setup
	Free   float64 `json:"free_bytes"`
	// Margin: it is first for its margin although it is not the fastest (search.Found.ForMargin).
	Margin bool        `json:"for_margin,omitempty"`
	Report *Evaluation `json:"report,omitempty"` // that of eval
}

// conflictDocument tells why nothing was found.
type conflictDocument struct {
	search.Conflict
	Message string         `json:"message"`
	Least   *foundDocument `json:"least_memory,omitempty"`
	Missed  *search.Missed `json:"deadline_missed,omitempty"` // if the deadline is a reason
	Fastest *foundDocument `json:"fastest,omitempty"`
	// Smallest is the fewest GPUs of those tried on which a layout fits, as in layout_chosen.
	Smallest int `json:"smallest_gpus,omitempty"`
}

// Answer returns the search for all formats.
func (o *Search) Answer(version string) *Answer {
	return &Answer{Document: o.Document, Records: o.Records, Data: func() any { return o.data(version) }}
}

func (o *Search) data(version string) searchDocument {
	r := &o.Result
	d := searchDocument{
		Header: NewHeader(version), Setup: o.Problem.Setup, Objective: o.Problem.Objective,
		Given: map[string]string{}, DefaultGBS: o.Query.UnsetBatch, Result: *r,
		Near: counted(&r.Near), Band: counted(&r.Band), Seconds: o.Seconds, Results: o.found(r.Best, version),
	}
	d.Launcher = o.Problem.Space.Launcher
	if len(r.Best) > 0 {
		unsure := !r.Best[0].Report.Memory.HasMargin()
		d.FitUnsure = &unsure
	}
	for id, text := range o.Query.Texts {
		d.Given[string(id)] = text
	}
	if o.Problem.Front {
		front := o.found(r.Front, version)
		d.Front = &front
	}
	if c := o.Conflict; c != nil {
		d.Conflict = &conflictDocument{
			Conflict: *c, Message: o.Reason(), Least: o.one(c.Least, version), Missed: o.Missed,
			Smallest: o.Smallest,
		}
		if o.Missed != nil {
			d.Conflict.Fastest = o.one(o.Missed.Fastest, version)
		}
		d.Conflict.Fields = Listed(c.Fields)
	}
	return d
}

// counted returns what is known of layouts near the best; nil where there is no best.
func counted(n *search.Near) *search.Near {
	if n.Least == 0 {
		return nil
	}
	return n
}

// one returns the document of a layout; nil of nil.
func (o *Search) one(f *search.Found, version string) *foundDocument {
	if f == nil {
		return nil
	}
	return &o.found([]search.Found{*f}, version)[0]
}

func (o *Search) found(list []search.Found, version string) []foundDocument {
	out := make([]foundDocument, 0, len(list))
	for i := range list {
		f := &list[i]
		r := NewEvaluation(version, f.Setup, f.Report)
		flags, _ := setupdoc.Flags(f.Setup, o.Library)
		out = append(out, foundDocument{i + 1, Layout(f.Setup), flags, float64(f.Free), f.ForMargin, &r})
	}
	return out
}
