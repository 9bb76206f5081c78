// Package report turns an answer of the program into a document, and a document into
// every output format: text for a terminal, Markdown, CSV, JSON, and speech for screen
// readers. Each format is one file and one row of Formats.
package report

import (
	"strings"

	"meshscope/engine/escape"
)

// Document is an answer for people, in reading order.
type Document struct {
	Title    string // the setup, on one line; "": the sections tell
	Sections []Section
}

// Section is a heading with its blocks.
type Section struct {
	Heading string // "": the blocks belong to the title
	Lead    string // the result in brief, next to the heading
	Blocks  []Block
	// Filed tells that only files contain the section: it is too long for a terminal.
	Filed bool
}

// Block is a part of a section: a Sentence with its Details, a Line, Facts, an
// Item, a *Table or a Command.
type Block interface{ block() }

// Sentence is text that a terminal wraps.
type Sentence string

// Line is text that is never wrapped.
type Line string

// Facts are values with their names. A fact without a name continues the one before it.
type Facts []Fact

// Fact is a name with its value.
type Fact struct{ Name, Value string }

// Item is an entry of a list, with details below it.
type Item struct {
	Text    string
	Details []string
}

// Detail is a sentence about the block before it.
type Detail string

// Command is a command line to copy.
type Command string

// Picture is a drawing as SVG, for the formats that show pictures; the sections say in words what
// is in it.
type Picture string

func (Sentence) block() {}
func (Line) block()     {}
func (Facts) block()    {}
func (Item) block()     {}
func (*Table) block()   {}
func (Detail) block()   {}
func (Command) block()  {}
func (Picture) block()  {}

// add appends blocks to a section.
func (s *Section) add(blocks ...Block) { s.Blocks = append(s.Blocks, blocks...) }

// say appends a sentence to a section.
func (s *Section) say(text string) { s.add(Sentence(text)) }

// Blocks returns a document of some blocks as an answer.
func Blocks(title string, blocks ...Block) *Answer {
	return &Answer{Document: func() *Document {
		return &Document{Title: title, Sections: []Section{{Blocks: blocks}}}
	}}
}

// items returns a list of texts.
func items(texts []string) []Block {
	out := make([]Block, len(texts))
	for i, text := range texts {
		out[i] = Item{Text: text}
	}
	return out
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// name returns the first name that is not empty, short enough for a line.
func name(names ...string) string {
	for _, n := range names {
		if n != "" {
			return escape.Line(n)
		}
	}
	return "unnamed"
}
