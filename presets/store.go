package presets

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"meshscope/presets/input"
)

// Names of preset files.
const (
	maxIDBytes = 64
	extension  = ".toml"
)

// store holds the presets of one kind, each parsed once when first requested.
type store[T any] struct {
	kind, dir string
	parse     func(*Library, *document) (T, error)

	mu     sync.Mutex
	parsed map[string]result[T]

	listing sync.Once
	all     []T
	errs    []error
}

type result[T any] struct {
	preset T
	err    error
}

// get parses the file of an id. The error is fs.ErrNotExist where there is none.
func (s *store[T]) get(l *Library, id string) (T, error) {
	key := strings.ToLower(id)
	var none T
	if !validID(key) {
		return none, fs.ErrNotExist
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.parsed[key]; ok {
		return r.preset, r.err
	}
	name := path.Join(s.dir, key+extension)
	text, err := readFile(l.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return none, err // not kept: there is no end of ids that do not exist
	}
	var preset T
	if err == nil {
		preset, err = s.parse(l, &document{name: name, id: key, text: text})
	}
	if s.parsed == nil {
		s.parsed = map[string]result[T]{}
	}
	s.parsed[key] = result[T]{preset, err}
	return preset, err
}

// list returns every valid preset, in the order of the file names.
func (s *store[T]) list(l *Library) []T {
	s.listing.Do(func() {
		for _, id := range s.ids(l) {
			if err := l.budget.take(l.fsys, path.Join(s.dir, id+extension)); err != nil {
				s.errs = append([]error{err}, s.errs...) // it says why others are not there
				break
			}
			preset, err := s.get(l, id)
			if err != nil {
				l.budget.refused()
				s.errs = append(s.errs, err)
				continue
			}
			s.all = append(s.all, preset)
		}
	})
	return s.all
}

// budget bounds what the presets of a folder take together: of one file alone it is bounded what it takes.
type budget struct{ files, bytes, refusals int }

// Budgets of a folder. Hundreds of presets of one's own have a tenth of the bytes, and a refused file may
// take a hundred times as long as one that is right.
func folderBudget() *budget { return &budget{files: 2000, bytes: 2 << 20, refusals: 24} }

// take takes a file out of the budget; the error names what is used up. A nil budget has no end.
func (b *budget) take(fsys fs.FS, name string) error {
	if b == nil {
		return nil
	}
	if info, err := fs.Stat(fsys, name); err == nil {
		b.bytes -= int(min(info.Size(), input.MaxPreset))
	}
	b.files--
	most, used := *folderBudget(), ""
	switch {
	case b.refusals <= 0:
		used = fmt.Sprintf("%d files are refused", most.refusals)
	case b.files < 0:
		used = fmt.Sprintf("more than %d files", most.files)
	case b.bytes < 0:
		used = fmt.Sprintf("more than %d MiB", most.bytes>>20)
	default:
		return nil
	}
	return &input.Error{File: name, Err: errors.New(used + "; this one and those after it are not read")}
}

// refused takes a refused file out of the budget.
func (b *budget) refused() {
	if b != nil {
		b.refusals--
	}
}

// problems reads every file and returns the errors of those that are refused.
func (s *store[T]) problems(l *Library) []error {
	s.list(l)
	errs := slices.Clone(s.errs)
	for _, name := range input.Names(l.fsys, s.dir) {
		if id, ok := strings.CutSuffix(name, extension); ok && !validID(id) {
			errs = append(errs, &input.Error{
				File: path.Join(s.dir, name), Key: "id",
				Err: errors.New("the file must be named as its id: lower-case letters, digits, dot, dash, " +
					"underscore"),
			})
		}
		if strings.HasSuffix(name, ".json") {
			errs = append(errs, &input.Error{
				File: path.Join(s.dir, name),
				Err:  errors.New("a preset is a .toml; a config.json is named by its path (--model)"),
			})
		}
	}
	return errs
}

// ids returns the names of the files, without reading them.
func (s *store[T]) ids(l *Library) []string {
	var ids []string
	for _, name := range input.Names(l.fsys, s.dir) {
		if id, ok := strings.CutSuffix(name, extension); ok && validID(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// readFile reads the text of a preset. A file that is not there is fs.ErrNotExist.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	data, err := input.ReadFS(fsys, name, input.MaxPreset)
	if err == nil {
		data, err = input.Text(data)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fs.ErrNotExist
	case err == nil:
		return data, nil
	}
	if _, placed := errors.AsType[*input.Error](err); placed {
		return nil, input.InFile(name, err)
	}
	return nil, &input.Error{File: name, Err: input.Reason(err)}
}

// validID reports whether an id is a file name without folders.
func validID(id string) bool {
	if id == "" || len(id) > maxIDBytes || strings.Trim(id[:1], ".-_") == "" {
		return false
	}
	return strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789.-_") == ""
}
