package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"meshscope/engine/knob"
	"meshscope/engine/record"
)

// records returns every leaf of the JSON document as a row: the part of the document, the
// item in it (a pipeline rank, a dimension), the key, the value with all digits, and its
// unit. A setup that flags can give is listed as flags. The tables of a screen come first.
func (d *Evaluation) records() *Table {
	t := &Table{Head: []string{"part", "item", "figure", "value", "unit"}}
	row := func(cells ...string) {
		words := make([]Cell, len(cells))
		for i, cell := range cells {
			words[i] = Word(cell)
		}
		t.add(words...)
	}
	for i := range d.Screen {
		d.Screen[i].leaves(row)
	}
	bare := *d
	bare.Screen = nil
	text, err := json.Marshal(&bare)
	if err != nil {
		t.err = err
		return t
	}
	l := leaves{decoder: json.NewDecoder(bytes.NewReader(text)), row: row}
	if d.Command != "" { // which gives the whole setup
		l.skip = "setup"
		choices(d, row)
	}
	l.decoder.UseNumber()
	t.err = l.value(nil)
	return t
}

// leaves writes the figures of a table as rows: title, row, column, value, unit.
func (t *Table) leaves(row func(cells ...string)) {
	for _, cells := range t.Rows {
		for j := 1; j < len(cells); j++ {
			if cells[j].exact() != "" {
				row(t.Title, cells[0].Text, t.Head[j], cells[j].exact(), unitWord(cells[j].Unit))
			}
		}
	}
}

// choices writes the setup as flags, one per row.
func choices(d *Evaluation, row func(cells ...string)) {
	row("setup", "", "command", d.Command, "")
	row("setup", "", "model", d.Setup.Model.ID, "")
	row("setup", "", "cluster", d.Setup.Cluster.ID, "")
	params := knob.All()
	for i := range params {
		p := &params[i]
		row("setup", "", string(p.ID), p.Text(d.Setup), p.Unit)
	}
}

// leaves walks a JSON document in its own order.
type leaves struct {
	decoder *json.Decoder
	row     func(cells ...string)
	skip    string // a part to leave out
	item    string // the dimension of the current list item
}

func (l *leaves) value(path []string) error {
	token, err := l.decoder.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		return l.inside(path, token)
	case nil:
		return nil // an unknown figure
	case string:
		l.leaf(path, token)
	case json.Number:
		l.leaf(path, token.String())
	case bool:
		l.leaf(path, strconv.FormatBool(token))
	}
	return nil
}

// inside walks an object or a list to its end.
func (l *leaves) inside(path []string, open json.Delim) error {
	for i := 0; l.decoder.More(); i++ {
		name := strconv.Itoa(i)
		if open == '{' {
			key, err := l.decoder.Token()
			if err != nil {
				return err
			}
			text, ok := key.(string)
			if !ok {
				return errors.New("a key is not a string")
			}
			name = text
		}
		if err := l.value(append(path[:len(path):len(path)], name)); err != nil {
			return err
		}
	}
	_, err := l.decoder.Token() // the closing sign
	return err
}

// leaf writes one value: its part, the path between, and its key.
func (l *leaves) leaf(path []string, value string) {
	last := len(path) - 1
	part, item, name := path[0], "", path[last]
	if part == l.skip {
		return
	}
	switch {
	case last == 0:
		part = "document"
	case last > 1:
		item = strings.Join(path[1:last], ".")
	}
	if part == "communication" { // an item begins with its dimension
		if name == "dimension" {
			l.item = value
			return
		}
		item = l.item
	}
	l.row(part, item, name, value, unitOf(name))
}

// unitWord returns the name of a unit in CSV.
func unitWord(u record.Unit) string {
	switch u {
	case record.Share:
		return "ratio"
	case record.Seconds:
		return "s"
	case record.Traffic:
		return string(record.Memory)
	default:
		return string(u)
	}
}

// unitOf returns the unit that the suffix of a key tells.
func unitOf(key string) string {
	for _, u := range []struct {
		end  string
		unit record.Unit
	}{
		{"_per_second_per_gpu", record.Tokens},
		{"tokens_per_second", record.Tokens},
		{"tflops_per_gpu", record.TFLOPS},
		{"_bytes_per_gpu", record.Memory},
		{"bytes_per_gpu", record.Memory},
		{"_bytes", record.Memory},
		{"_seconds", record.Seconds},
		{"seconds", record.Seconds},
		{"_flops_per_token", record.FLOPs},
		{"_over_ideal", record.Share},
		{"_over_total", record.Share},
		{"bubble_closed_form", record.Share},
		{"mfu", record.Share},
		{"hfu", record.Share},
	} {
		if strings.HasSuffix(key, u.end) {
			return unitWord(u.unit)
		}
	}
	return ""
}
