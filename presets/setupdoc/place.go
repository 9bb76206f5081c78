package setupdoc

import (
	"errors"
	"slices"
	"strings"

	"meshscope/engine/knob"
	"meshscope/presets/input"
)

// placeOf returns the position of an offset, columns in bytes.
func placeOf(b input.Breaks, offset int) position {
	line, start := b.Line(offset)
	return position{line, offset - start + 1}
}

// origin is where something was said, and how it was spelled there.
type origin struct {
	at   position // of the value; zero for the command line
	path string
}

// note keeps where a value was said. In a document nothing may be said twice,
// by whatever name; the command line may say anything again.
func (d *Document) note(path string, m *member) error {
	name := canonical(path)
	first, before := d.origins[name]
	if before && m.at.line > 0 {
		twice := &KeyError{Key: path, Twice: true}
		if is, ok := knob.FindMachineWord(path); ok &&
			strings.ReplaceAll(first.path, "_", "-") != string(is.Name) {
			twice.First = first.path
		}
		return place(m.at, twice)
	}
	if d.origins == nil {
		d.origins = map[string]origin{}
	}
	d.origins[name] = origin{m.value.at, path}
	return nil
}

// noteAll notes every field of a table.
func (d *Document) noteAll(path string, n *node) error {
	for i := range n.members {
		m := &n.members[i]
		full := path + "." + m.key
		if m.value.kind == object {
			if err := d.noteAll(full, m.value); err != nil {
				return err
			}
			continue
		}
		if err := d.note(full, m); err != nil {
			return err
		}
	}
	return nil
}

// forget drops what was noted about a part that is replaced by another.
func (d *Document) forget(part string) {
	prefix := canonical(part)
	for name := range d.origins {
		if name == prefix || strings.HasPrefix(name, prefix+".") {
			delete(d.origins, name)
		}
	}
}

// canonical returns the one name of a key: gpu.id and cluster.gpu.id are the same,
// and so are grad-dtype and grad_dtype.
func canonical(path string) string {
	if path == "gpu" || strings.HasPrefix(path, "gpu.") {
		return "cluster." + path
	}
	if strings.Contains(path, ".") {
		return path
	}
	if w, ok := knob.FindMachineWord(path); ok {
		return "cluster." + w.Field
	}
	return strings.ReplaceAll(path, "-", "_")
}

// blame returns an error about a field the place where the field was said, or,
// for a field that was left out, the table that should have it.
func (d *Document) blame(err error) error {
	var value *knob.ValueError
	var conflict *knob.ConflictError
	var placed *input.Error
	switch {
	case err == nil, errors.As(err, &placed):
		return err
	case errors.As(err, &conflict):
		// The later of the two, when it is in the document.
		var last position
		for _, field := range conflict.Fields {
			if at := d.origins[canonical(field)].at; at.line > last.line || at.line == last.line &&
				at.column > last.column {
				last = at
			}
		}
		return place(last, err)
	case errors.As(err, &value):
		return place(d.placeOf(canonical(value.Field)), err)
	}
	return err
}

func (d *Document) placeOf(name string) position {
	if from, ok := d.origins[name]; ok {
		return from.at
	}
	for {
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			return position{}
		}
		name = name[:dot]
		if slices.ContainsFunc(d.sets, func(a assignment) bool {
			return a.at.line == 0 && strings.HasPrefix(canonical(a.path), name+".")
		}) {
			return position{} // the command line may be to blame
		}
		if from, ok := d.origins[name]; ok {
			return from.at
		}
	}
}

// spelled returns the name of a field as it was written, or the short one.
func (d *Document) spelled(name string) string {
	if from, ok := d.origins[name]; ok {
		return from.path
	}
	if short, ok := strings.CutPrefix(name, "cluster.gpu."); ok {
		return "gpu." + short
	}
	return name
}
