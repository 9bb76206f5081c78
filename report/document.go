// Package report turns an answer of the program into a document once, and a document
// into every format that it is given in: text for a terminal, Markdown, CSV, JSON, and
// speech for screen readers. A format is one file here and a row of Formats.
package report

import (
	"strings"

	"meshscope/engine/escape"
)

// Document is an answer in the order in which it is read.
type Document struct {
	Title    string // what was asked about, on one line; empty: the sections say
	Sections []Section
}

// Section is a heading with what belongs below it.
type Section struct {
	Heading string // empty: the blocks belong to the title
	Lead    string // the result in brief, beside the heading
	Blocks  []Block
	// Filed says that files alone have it: at a terminal it is too long.
	Filed bool
}

// Block is a part of a section: a Sentence with its Details, a Line, Facts, an
// Item, a *Table or a Command.
type Block interface{ block() }

// Sentence is text that a terminal breaks between words.
type Sentence string

// Line is text that stays on one line, however wide.
type Line string

// Facts are values with their names in front. A fact without a name goes on with the
// one before it.
type Facts []Fact

// Fact is a name with its value.
type Fact struct{ Name, Value string }

// Item is an entry of a list, with details below it.
type Item struct {
	Text    string
	Details []string
}

// Detail is a sentence about the one before it.
type Detail string

// Command is a command line to copy.
type Command string

func (Sentence) block() {}
func (Line) block()     {}
func (Facts) block()    {}
func (Item) block()     {}
func (*Table) block()   {}
func (Detail) block()   {}
func (Command) block()  {}

// add puts blocks at the end of a section.
func (s *Section) add(blocks ...Block) { s.Blocks = append(s.Blocks, blocks...) }

// say puts a sentence at the end of a section.
func (s *Section) say(text string) { s.add(Sentence(text)) }

// items makes a list of texts.
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

// name is the first name that is not empty, short enough for a line.
func name(names ...string) string {
	for _, n := range names {
		if n != "" {
			return escape.Line(n)
		}
	}
	return "unnamed"
}
