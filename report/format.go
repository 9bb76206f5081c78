package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/search"
	"meshscope/presets/setupdoc"
)

// Answer is an answer of the program in the shapes that the formats take, each made when a
// format needs it.
type Answer struct {
	Document func() *Document // for people
	Records  func() *Table    // for spreadsheets, with all digits
	Data     func() any       // for programs: the JSON document
	// Whole tells that Markdown contains the document; else it contains the records.
	Whole bool
	// Width is that of the terminal that text is for; 0: a pipe or a file.
	Width int
	// Setup is the setup that the answer is about, for a setup file; nil: there is no one setup.
	Setup func() *engine.Setup

	Chosen *search.Chosen // how the setup was found where no degree was given, for the JSON document
}

// Format is an output format.
type Format string

// The formats.
const (
	Text     Format = "text"
	CSV      Format = "csv"
	Markdown Format = "markdown"
	HTML     Format = "html"
	JSON     Format = "json"
	TOML     Format = "toml"
	Speech   Format = "speech"
)

// format is a row of the table of formats.
type format struct {
	Format
	about     string // its use; "": not for files
	extension string
	records   bool // a table of records: what is not in them goes to the messages
	write     func(io.Writer, *Answer) error
}

// formats returns all formats, those for files in the order in which they are offered.
func formats() []format {
	return []format{
		{Text, "", "", false, func(to io.Writer, a *Answer) error {
			return writeText(to, a.Document(), a.Width)
		}},
		{CSV, "CSV, for spreadsheets", ".csv", true, func(to io.Writer, a *Answer) error {
			return writeCSV(to, a.Records())
		}},
		{Markdown, "Markdown, for a document", ".md", true, func(to io.Writer, a *Answer) error {
			if a.Whole {
				return writeMarkdown(to, a.Document())
			}
			return writeMarkdown(to, &Document{Sections: []Section{{Blocks: []Block{a.Records()}}}})
		}},
		{HTML, "HTML page, for a ticket", ".html", false, func(to io.Writer, a *Answer) error {
			return writeHTML(to, a.Document())
		}},
		{JSON, "JSON, for programs", ".json", false, func(to io.Writer, a *Answer) error {
			return WriteJSON(to, a.Data())
		}},
		{TOML, "setup file, for --setup", ".toml", false, func(to io.Writer, a *Answer) error {
			text, err := setupdoc.TOML(*a.Setup())
			if err == nil {
				_, err = to.Write(text)
			}
			return err
		}},
		{Speech, "", "", false, func(to io.Writer, a *Answer) error { return writeSpeech(to, a.Document()) }},
	}
}

// row returns the row of a format.
func (f Format) row() (format, bool) {
	all := formats()
	i := slices.IndexFunc(all, func(row format) bool { return row.Format == f })
	if i < 0 {
		return format{}, false
	}
	return all[i], true
}

// Formats returns the formats of files.
func Formats() []Format {
	var out []Format
	for _, row := range formats() {
		if row.extension != "" {
			out = append(out, row.Format)
		}
	}
	return out
}

// Extension returns the file extension of a format.
func (f Format) Extension() string { row, _ := f.row(); return row.extension }

// About describes the use of a format.
func (f Format) About() string { row, _ := f.row(); return row.about }

// Records reports whether the format is a table of records, in which a search that
// found nothing cannot say why.
func (f Format) Records() bool { row, _ := f.row(); return row.records }

// Write writes an answer in a format.
func Write(to io.Writer, f Format, a *Answer) error {
	row, ok := f.row()
	if !ok {
		return fmt.Errorf("unknown format %q", f)
	}
	shown := escape.NewWriter(to)
	return cmp.Or(row.write(shown, a), shown.Flush())
}
