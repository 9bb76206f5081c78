package launch_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/launch"
	"meshscope/presets"
)

// publicTable lists public files of launchers with what is right to say of each.
//
//go:embed testdata/public.txt
var publicTable string

// publicFile is an entry of the table.
type publicFile struct {
	source, path string
	args, beside []string
	want         map[string]string
	says         []string
}

// publicFiles reads the table.
func publicFiles(t *testing.T) []publicFile {
	t.Helper()
	var out []publicFile
	for line := range strings.Lines(publicTable) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		words := strings.Fields(rest)
		if kind != "file" && kind != "#" && len(out) == 0 {
			t.Fatalf("%q stands before the first file", line)
		}
		switch kind {
		case "#":
		case "file":
			f := publicFile{source: words[0], path: words[1], want: map[string]string{}}
			if len(words) > 3 {
				f.args = words[3:]
			}
			out = append(out, f)
		case "with":
			out[len(out)-1].beside = append(out[len(out)-1].beside, words...)
		case "want":
			for _, w := range words {
				key, value, _ := strings.Cut(w, "=")
				out[len(out)-1].want[key] = value
			}
		case "says":
			out[len(out)-1].says = append(out[len(out)-1].says, strings.Split(rest, "; ")...)
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	return out
}

// read returns what is stated of a file by key, its unknown keys and all that is said about it.
func (f *publicFile) read(t *testing.T, folder string) (
	setup map[string]string, unknown []string, said string, refused bool,
) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, f.source, f.path))
	if err != nil {
		t.Fatal(err)
	}
	lib := presets.Default()
	r := launch.OpenGiven(path.Base(f.path), text, lib, launch.Given{
		Args: f.args,
		Source: func(name string) ([]byte, bool) {
			for _, b := range f.beside {
				if path.Base(b) == path.Base(name) {
					text, err := os.ReadFile(filepath.Join(folder, f.source, b))
					return text, err == nil
				}
			}
			return nil, false
		},
	})
	setup = map[string]string{}
	if len(r.Problems) == 0 {
		s := r.Resolve(lib)
		for _, k := range knob.All() {
			setup[strings.ReplaceAll(string(k.ID), "-", "_")] = k.Text(s)
		}
		setup["model"] = s.Model.ID
		data, err := json.Marshal(&s.Model)
		model := map[string]any{}
		if err != nil || json.Unmarshal(data, &model) != nil {
			t.Fatal(err)
		}
		for key, v := range model {
			if n, ok := v.(float64); ok {
				v = int(n)
			}
			setup["model."+key] = fmt.Sprint(v)
		}
	}
	for key, v := range r.Setup {
		setup[key] = fmt.Sprint(v)
	}
	for _, u := range r.Unknown {
		unknown = append(unknown, strings.TrimPrefix(u.Key, "set."))
	}
	return setup, unknown, fmt.Sprintf("%s %+v %+v %+v %+v", r.Launcher, r.Problems, r.Ignored, r.Understood,
		r.Unknown), len(r.Problems) > 0
}

// TestPublicFiles: of public files, which MESHSCOPE_PUBLIC has as OWNER/NAME@COMMIT/PATH, no value is
// stated wrongly, nine of ten are right, and four of five things are said that have to be.
func TestPublicFiles(t *testing.T) {
	folder := os.Getenv("MESHSCOPE_PUBLIC")
	files := publicFiles(t)
	if folder == "" {
		t.Skipf("MESHSCOPE_PUBLIC names no folder of the %d files", len(files))
	}
	right, wrong, unread, said, silent := 0, 0, 0, 0, 0
	for i := range files {
		f := &files[i]
		setup, unknown, all, refused := f.read(t, folder)
		name := path.Base(f.source) + " " + path.Base(path.Dir(f.path)) + "/" + path.Base(f.path)
		for key, want := range f.want {
			v, ok := setup[key]
			isOpen := !ok || refused || slices.Contains(unknown, key) ||
				strings.HasPrefix(key, "model.") && slices.Contains(unknown, "model")
			switch {
			case isOpen && want == open && !refused, ok && !isOpen && same(v, want):
				right++
			case isOpen:
				unread++
				t.Logf("%s: %s is not read, want %s", name, key, want)
			default:
				wrong++
				t.Errorf("%s: %s is %s, want %s", name, key, v, want)
			}
		}
		for _, s := range f.says {
			if strings.Contains(all, s) {
				said++
				continue
			}
			silent++
			t.Logf("%s: %q is not said: %.1500s", name, s, all)
		}
	}
	t.Logf("%d files: %d stated values right, %d wrong, %d unread; %d things said, %d not", len(files),
		right, wrong, unread, said, silent)
	if 10*unread > right || 4*silent > said {
		t.Error("too little is read or said")
	}
}
