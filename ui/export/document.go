// Package export writes a report for other programs and for documents: as the
// JSON of eval, as CSV with one figure a row, as Markdown tables. The command
// line and the explorer write the same.
package export

import (
	"encoding/json"
	"fmt"
	"io"

	"meshscope/engine"
	"meshscope/engine/escape"
)

// SchemaVersion is the version of every JSON document: it changes when a key
// changes its meaning or goes away.
const SchemaVersion = 1

// Document is a report with its setup in front. Figures that an illegal setup
// does not have are absent; a legal setup without traffic has an empty list of
// it.
type Document struct {
	SchemaVersion int                     `json:"schema_version"`
	Version       string                  `json:"version"`
	Setup         engine.Setup            `json:"setup"`
	Legal         bool                    `json:"legal"`
	Problems      []engine.Problem        `json:"problems"`
	Memory        *engine.Memory          `json:"memory,omitempty"`
	Pipeline      *engine.Pipeline        `json:"pipeline,omitempty"`
	Communication *[]engine.Communication `json:"communication,omitempty"`
	Time          *engine.Time            `json:"time,omitempty"`
	Throughput    *engine.Throughput      `json:"throughput,omitempty"`
	Run           *engine.Run             `json:"run,omitempty"`
	Model         *engine.ModelFigures    `json:"model,omitempty"`
	Assumptions   []string                `json:"assumptions"`
	NotModelled   []string                `json:"not_modelled"`

	// Command is the command line that gives the setup; empty where no flags do.
	Command string `json:"-"`

	// Screen are the tables of the screen that the document was asked on; eval has
	// none.
	Screen []Table `json:"screen,omitempty"`
}

// New is the document of a setup and its report, by a version of the program.
func New(version string, s engine.Setup, r engine.Report) Document {
	d := Document{
		SchemaVersion: SchemaVersion, Version: version, Setup: s,
		Legal: r.Legal, Problems: listed(r.Problems),
		Memory: r.Memory, Pipeline: r.Pipeline, Time: r.Time, Throughput: r.Throughput, Run: r.Run, Model: r.Model,
		Assumptions: listed(r.Assumptions), NotModelled: listed(r.NotModelled),
	}
	if r.Legal {
		traffic := listed(r.Communication)
		d.Communication = &traffic
	}
	return d
}

// listed is a list that is written as [] when it is empty.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Format is how a document is written.
type Format string

// Formats of files.
const (
	CSV      Format = "csv"
	Markdown Format = "markdown"
	JSON     Format = "json"
)

// Formats lists them all.
func Formats() []Format { return []Format{CSV, Markdown, JSON} }

// Extension is the end of the name of such a file.
func (f Format) Extension() string {
	if f == Markdown {
		return ".md"
	}
	return "." + string(f)
}

// Write writes a document. Keys, rows and tables keep one order.
func Write(to io.Writer, f Format, d *Document) error {
	to = escape.NewWriter(to)
	switch f {
	case CSV:
		return writeCSV(to, d)
	case Markdown:
		return writeMarkdown(to, d)
	case JSON:
		return writeJSON(to, d)
	}
	return fmt.Errorf("unknown format %q", f)
}

func writeJSON(to io.Writer, d *Document) error {
	enc := json.NewEncoder(to)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
