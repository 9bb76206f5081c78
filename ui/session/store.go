package session

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"meshscope/engine/escape"
	"meshscope/presets/input"
	"meshscope/presets/setupdoc"
	"meshscope/report/figure"
)

// Store is the file of one run: read at its start, written at its end.
type Store struct {
	path string
	link string // what leads to it; empty: nothing
	lib  setupdoc.Library
	read document // as it was at the start

	mu  sync.Mutex // one Save at a time
	off bool       // the file must not be overwritten
}

// Open reads a session. The notices name the parts that could not be used, the file that they were moved to,
// and why this session will not be saved if its folder takes no file.
func Open(path string, lib setupdoc.Library) (store *Store, last Session, notices []string) {
	s := &Store{path: path, lib: lib, read: document{}}
	if path == "" {
		s.off = true
		return s, None(), nil
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		if target != path {
			s.path, s.link = target, path // a link stays one
		}
	}
	unlock := lock(filepath.Dir(s.path))
	defer unlock()
	d, text, notice := s.load()
	if notice != "" {
		return s, None(), []string{notice}
	}
	s.read = d
	r := d.read(lib)
	if len(r.refused) > 0 {
		notices = append(notices, s.refuse(text, r.refused))
	}
	if r.strange > 0 {
		notices = append(notices, fmt.Sprintf("%s of the last session cannot be used here; %s in the file",
			figure.Plural(r.strange, "pin"), stays(r.strange)))
	}
	if r.pins > MaxPins {
		notices = append(notices, fmt.Sprintf("%d pins are kept, %d are shown: d on Compare drops one",
			r.pins, MaxPins))
	}
	if err := writable(filepath.Dir(s.path)); err != nil && !s.off {
		notices = append(notices, "this session will not be kept in "+escape.Name(filepath.Dir(s.path))+": "+
			escape.Line(input.Reason(err).Error()))
	}
	return s, r.Session, notices
}

func stays(n int) string {
	if n == 1 {
		return "it stays"
	}
	return "they stay"
}

// load reads the file as it is now. What is none is set aside, with a notice.
func (s *Store) load() (d document, text []byte, notice string) {
	text, err := input.ReadRegular(s.path, input.MaxDocument)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return document{}, nil, ""
	case errors.Is(err, input.ErrKind):
		s.off = true
		return document{}, nil,
			fmt.Sprintf("this session will not be kept; the file of the last one cannot be read: %v", err)
	case err == nil:
		if d, err = decode(text); err == nil {
			return d, text, ""
		}
	}
	return document{}, nil, s.setAside(input.Reason(err))
}

// refuse puts a copy of a file aside of which some keys cannot be used, and takes
// these out of it: they neither get lost nor are they said again.
func (s *Store) refuse(text []byte, refused map[string]error) string {
	keys := slices.Sorted(maps.Keys(refused))
	notice := fmt.Sprintf("%s of the last session cannot be used: %s", strings.Join(keys, ", "),
		escape.Line(refused[keys[0]].Error()))
	aside, err := free(s.path)
	if err == nil {
		err = os.WriteFile(aside, text, 0o600)
	}
	if err != nil {
		s.off = true
		return "this session will not be kept; " + notice + ", nor can it be set aside"
	}
	for _, key := range keys {
		delete(s.read, key)
	}
	if text, err = s.read.text(); err == nil {
		err = replace(filepath.Dir(s.path), s.path, text)
	}
	if err != nil {
		s.off = true
	}
	return "the last session was set aside as " + escape.Name(aside) + "; " + notice
}

// setAside renames a file that cannot be used, so that it is neither lost nor
// in the way.
func (s *Store) setAside(why error) string {
	notice := "it cannot be read: " + escape.Line(why.Error())
	if s.link != "" {
		s.off = true // it may be anything of somebody's
		return fmt.Sprintf("this session will not be kept: %s leads to %s, which is no session; %s",
			escape.Name(s.link), escape.Name(s.path), notice)
	}
	aside, err := free(s.path)
	if err == nil {
		err = os.Rename(s.path, aside)
	}
	if err != nil {
		s.off = true
		return "this session will not be kept; that of the last one cannot be set aside; " + notice
	}
	return "the last session was set aside as " + escape.Name(aside) + "; " + notice
}

// mostAside is how many files are set aside next to each other.
const mostAside = 99

// free makes an empty file with a name that nothing has: what was set aside
// earlier stays.
func free(path string) (string, error) {
	for n := 1; n <= mostAside; n++ {
		name := path + ".broken"
		if n > 1 {
			name += "." + strconv.Itoa(n)
		}
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return name, file.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return "", fs.ErrExist
}

// Keeps reports whether Save has a file to write.
func (s *Store) Keeps() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.off
}

// Save puts what a run changed between its start and its end into the file as it
// is by now. Unwritable tells the errors that Open has told of.
func (s *Store) Save(start, end Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off || start == end {
		return nil
	}
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("session: %w", err)
	}
	unlock := lock(dir)
	defer unlock()
	now, old, notice := s.load()
	if s.off {
		return errors.New("session: " + notice)
	}
	if old == nil {
		now = s.read // it was taken away, or spoilt and set aside
	}
	merged, left := now.merged(&start, &end, s.lib)
	text, err := merged.text()
	if err != nil {
		return err
	}
	if len(text) > input.MaxDocument {
		return fmt.Errorf("session: not kept: longer than %d bytes", input.MaxDocument)
	}
	if bytes.Equal(text, old) {
		return left
	}
	if err := replace(dir, s.path, text); err != nil {
		return fmt.Errorf("session: %w", err)
	}
	if notice != "" {
		left = errors.Join(errors.New("session: "+notice), left)
	}
	return left
}
