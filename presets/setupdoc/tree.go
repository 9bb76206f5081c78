package setupdoc

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"meshscope/presets/input"
)

// Limits of a setup document beyond those of package input.
const (
	maxDepth = 8
	maxLabel = 200 // bytes of a text; the longest split has its own bound
)

// position is where something stands in the file, both from 1; zero for what
// does not come from a file.
type position struct{ line, column int }

// kind of a node.
type kind int

const (
	object kind = iota
	text
	number
	boolean
	other // null, arrays, dates: nothing that a setup takes
)

func (k kind) String() string {
	return [...]string{"a table", "text", "a number", "true or false", "another type"}[k]
}

// node is one value of a document, the same for every file format.
type node struct {
	kind    kind
	text    string // the literal of a scalar; of other kinds what to call it
	at      position
	members []member
}

// member is one key of an object, in the order of the file.
type member struct {
	key   string
	at    position
	value *node
}

func (n *node) find(key string) *node {
	for i := range n.members {
		if n.members[i].key == key {
			return n.members[i].value
		}
	}
	return nil
}

// shown returns how the value is quoted in a message.
func (n *node) shown() string {
	if n.kind == object {
		return "a table"
	}
	return n.text
}

// decimal tells a decimal number from what Go reads as one too: 0x1p4, 1_000.
func decimal(literal string) bool { return strings.Trim(literal, "0123456789+-.eE") == "" }

// whole reads a decimal literal as a whole number: 64, 64.0, 064 and 6.4e1 are
// the same.
func whole(literal string) (int64, bool) {
	if n, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(literal, 64)
	if !decimal(literal) {
		return 0, false
	}
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// tooMany returns the error of a document with more keys than any setup has.
func tooMany(at position, most int) error {
	return &input.Error{
		Line: at.line, Column: at.column,
		Err: fmt.Errorf("more than %d keys, which is no setup", most),
	}
}

// tooDeep returns the error for a document that nests more than any setup does.
func tooDeep(at position) error {
	return &input.Error{Line: at.line, Column: at.column, Err: fmt.Errorf("nested more than %d levels deep",
		maxDepth)}
}
