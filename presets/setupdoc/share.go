package setupdoc

import (
	"bytes"
	"compress/flate"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"regexp"
	"strings"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/presets/input"
)

// A share string is a setup on one line: "ms1:" and, in base64url without padding, the CRC-32
// (IEEE) of what follows it, the number of bytes of the rest, and the rest deflated: the keys of
// a setup document that differ from shareBase as JSON, null for a key that the setup does not
// have. ms1 is read for ever: neither the form nor shareBase ever changes; another form is ms2.

// shareMark begins a share string.
const shareMark = "ms1:"

// Bounds of a share string: of its signs, and of the bytes of its document.
const (
	longestShare  = 32 << 10
	longestShared = 64 << 10
)

// shareBase holds the values that a share string leaves out. They are those of the first
// release that wrote one, whatever the defaults are by now.
//
//go:embed ms1.json
var shareBase []byte

// ShareError is a share string that cannot be read.
type ShareError struct{ Why string }

func (e *ShareError) Error() string { return "share string: " + e.Why }

// IsShare reports whether a text looks like a share string of any version.
func IsShare(text string) bool { return shareVersion(text) != "" }

// shareVersion returns the version that a text begins with, "1" of ms1:, or nothing.
func shareVersion(text string) string {
	if m := regexp.MustCompile(`(?i)^\s*ms([0-9]{1,4}):`).FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// Share returns the share string of a setup. Models and machines of the built-in presets are
// named, all others are written out. It is false for a setup that no document gives.
func Share(s engine.Setup, builtin, lib Library) (string, bool) {
	for _, named := range []bool{true, false} {
		text, err := share(&s, builtin, named)
		if err != nil {
			continue
		}
		if d, err := Shared(text); err == nil {
			if got, err := d.Setup(lib); err == nil && got == s {
				return text, true
			}
		}
	}
	return "", false
}

// share writes a share string; named says that presets are named.
func share(s *engine.Setup, builtin Library, named bool) (string, error) {
	keys, err := tree(s)
	if err != nil {
		return "", err
	}
	var base map[string]json.RawMessage
	if err := json.Unmarshal(shareBase, &base); err != nil {
		return "", err
	}
	if named {
		if err := nameParts(keys, s, builtin); err != nil {
			return "", err
		}
	}
	for key, value := range base {
		switch of, has := keys[key]; {
		case !has:
			keys[key] = json.RawMessage("null")
		case bytes.Equal(of, value):
			delete(keys, key)
		}
	}
	document, err := json.Marshal(keys)
	if err != nil {
		return "", err
	}
	return packed(document)
}

// nameParts puts the names of presets in place of the tables of a model and a machine, and
// below "set" the fields in which they differ from them.
func nameParts(keys map[string]json.RawMessage, s *engine.Setup, builtin Library) error {
	m, err := builtin.Model(s.Model.ID)
	if err != nil {
		return err
	}
	part, id := "cluster", s.Cluster.ID
	c, err := builtin.Cluster(id)
	if err != nil { // the typical node of a GPU
		g, err := builtin.GPU(s.Cluster.GPU.ID)
		if err != nil {
			return err
		}
		part, id, c = "gpu", g.ID, builtin.NodeOf(g)
	}
	set := map[string]json.RawMessage{}
	if err := errors.Join(differing(set, "model", s.Model, m),
		differing(set, "cluster", s.Cluster, c)); err != nil {
		return err
	}
	delete(keys, "cluster")
	for key, value := range map[string]any{"model": m.ID, part: id, "set": set} {
		if keys[key], err = json.Marshal(value); err != nil {
			return err
		}
	}
	if len(set) == 0 {
		delete(keys, "set")
	}
	return nil
}

// differing adds the fields of a value that differ from those of a preset, by their path.
func differing(set map[string]json.RawMessage, path string, of, preset any) error {
	fields, err := tree(of)
	if err != nil {
		return err
	}
	known, err := tree(preset)
	if err != nil {
		return err
	}
	for key, value := range known {
		now, has := fields[key]
		switch {
		case !has: // zero, which JSON leaves out of some fields
			set[path+"."+key] = zeroOf(value)
		case bytes.Equal(now, value):
		case now[0] == '{':
			if err := differing(set, path+"."+key, now, value); err != nil {
				return err
			}
		default:
			set[path+"."+key] = now
		}
		delete(fields, key)
	}
	for key, value := range fields {
		set[path+"."+key] = value
	}
	return nil
}

// zeroOf returns the JSON of nothing of the kind of a value.
func zeroOf(value json.RawMessage) json.RawMessage {
	switch value[0] {
	case '"':
		return json.RawMessage(`""`)
	case 't', 'f':
		return json.RawMessage("false")
	}
	return json.RawMessage("0")
}

// tree returns the keys of a value as JSON writes them.
func tree(of any) (keys map[string]json.RawMessage, err error) {
	text, err := json.Marshal(of)
	if err == nil {
		err = json.Unmarshal(text, &keys)
	}
	return keys, err
}

// packed returns the share string of a document.
func packed(document []byte) (string, error) {
	var rest bytes.Buffer
	w, err := flate.NewWriter(&rest, flate.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := w.Write(document); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	body := append(binary.AppendUvarint(nil, uint64(rest.Len())), rest.Bytes()...)
	data := append(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(body)), body...)
	return shareMark + base64.RawURLEncoding.EncodeToString(data), nil
}

// SharedKeys returns the keys of the document of a share string. Blanks, line breaks and
// the edges of a box, which a terminal puts into a long line, are left out.
func SharedKeys(line string) (map[string]json.RawMessage, error) {
	document, err := unpacked(line)
	if err != nil {
		return nil, err
	}
	var keys, base map[string]json.RawMessage
	if err := errors.Join(input.DecodeJSON(document, &keys), json.Unmarshal(shareBase, &base)); err != nil {
		return nil, &ShareError{"its content is no setup: " + err.Error()}
	}
	for key, value := range keys {
		base[key] = value
		if string(value) == "null" {
			delete(base, key)
		}
	}
	return base, nil
}

// Shared returns the document of a share string.
func Shared(line string) (*Document, error) {
	keys, err := SharedKeys(line)
	if err != nil {
		return nil, err
	}
	whole, err := json.Marshal(keys)
	if err != nil {
		return nil, &ShareError{"its content is no setup"}
	}
	d, err := Parse("", whole)
	if err != nil {
		return nil, &ShareError{input.Reason(err).Error()}
	}
	d.AsStated()
	for _, part := range []*node{d.model, d.cluster, d.gpu} {
		if part != nil && part.kind == text && strings.ContainsAny(part.text, `/\`) {
			return nil,
				&ShareError{fmt.Sprintf("it names a file, %s: a share string has ids and figures only",
					escape.Name(part.text))}
		}
	}
	return d, nil
}

// unpacked returns the document of a share string as it was written.
func unpacked(text string) ([]byte, error) {
	switch v := shareVersion(text); {
	case v == "":
		return nil, &ShareError{"it begins with " + shareMark}
	case v != "1":
		return nil, &ShareError{fmt.Sprintf("ms%s is of another version of meshscope; this one reads ms1", v)}
	case len(text) > longestShare:
		return nil, &ShareError{fmt.Sprintf("longer than %d characters", longestShare)}
	}
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "│", "")), "")[len(shareMark):]
	if at := strings.IndexFunc(text,
		func(r rune) bool { return !strings.ContainsRune(alphabet, r) }); at >= 0 {
		return nil,
			&ShareError{fmt.Sprintf("character %d after %s is none of A-Z, a-z, 0-9, - and _", at+1,
				shareMark)}
	}
	const whole = 4 // characters of a group of bytes
	begin, _ := base64.RawURLEncoding.DecodeString(text[:len(text)/whole*whole])
	if len(begin) < crc32.Size+1 {
		return nil, &ShareError{"its end is missing"}
	}
	n, used := binary.Uvarint(begin[crc32.Size:])
	if used > 0 && n <= longestShare {
		switch long := base64.RawURLEncoding.EncodedLen(crc32.Size + used + int(n)); {
		case len(text) < long:
			return nil, &ShareError{fmt.Sprintf("its end is missing: %d characters of %d", len(text), long)}
		case len(text) > long:
			return nil,
				&ShareError{fmt.Sprintf("too long: %d characters stand after its end", len(text)-long)}
		}
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || used <= 0 || n > longestShare ||
		binary.BigEndian.Uint32(data) != crc32.ChecksumIEEE(data[crc32.Size:]) {
		return nil, &ShareError{"a character is wrong, too many or missing: its checksum does not match"}
	}
	body := data[crc32.Size:]
	document, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(body[used:])),
		longestShared+1))
	if err != nil || len(document) > longestShared {
		return nil,
			&ShareError{fmt.Sprintf("its content is no deflated text of at most %d bytes", longestShared)}
	}
	return document, nil
}

// alphabet is that of base64url.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
