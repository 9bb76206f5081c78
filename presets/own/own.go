// Package own finds the presets that users add themselves: models, GPUs and
// clusters in the XDG config folder, in addition to the built-in ones.
package own

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"meshscope/engine/escape"
	"meshscope/presets"
	"meshscope/presets/input"
)

// Folder returns their folder: in $XDG_CONFIG_HOME, which counts only when it is
// absolute, else in .config of the home folder. Empty: nowhere.
func Folder(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "meshscope", "presets")
}

// Load puts the presets of a folder before those of base. A folder that is not
// there is none; a file that is refused is named in a notice with its line and
// key, and the rest is loaded.
func Load(folder string, base *presets.Library) (*presets.Library, []string) {
	if folder == "" {
		return base, nil
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return base, nil
	}
	lib, errs := presets.Load(os.DirFS(folder), base)
	var notices []string
	for _, err := range flatten(errs) {
		notices = append(notices, notice(folder, err))
	}
	if more := len(notices) - mostNotices; more > 0 {
		what := "errors"
		if more == 1 {
			what = "error"
		}
		notices = append(notices[:mostNotices], fmt.Sprintf("%d more %s of presets left out in %s", more,
			what, escape.Name(folder)))
	}
	taken, kept := replaced(lib, base, folder)
	if len(taken) > 0 {
		notices = append(notices, "your presets replace built-in ones: "+strings.Join(taken, ", "))
	}
	if len(kept) > 0 {
		notices = append(notices,
			"built-in ones are used in place of yours that are left out: "+strings.Join(kept, ", "))
	}
	return lib, notices
}

// replaced names the built-in presets that the user's replace with different figures:
// it may be on purpose, but "llama3.1-8b" is then another model. Kept are those whose replacement is left
// out.
func replaced(lib, base *presets.Library, folder string) (taken, kept []string) {
	for _, kind := range []string{"models", "gpus", "clusters"} {
		for _, name := range input.Names(os.DirFS(folder), kind) {
			id, ok := strings.CutSuffix(name, ".toml")
			if !ok || len(taken)+len(kept) >= mostNotices {
				continue
			}
			was, err := base.Text(kind, id)
			if err != nil {
				continue // it replaces none, and may be one of very many
			}
			is, err := lib.Text(kind, id)
			switch {
			case err != nil:
			case !bytes.Equal(was, is):
				taken = append(taken, kind+" "+escape.Name(id))
			case !lib.Own(kind, id):
				kept = append(kept, kind+" "+escape.Name(id))
			}
		}
	}
	return taken, kept
}

// mostNotices bounds the notices about single files.
const mostNotices = 8

// flatten splits joined errors: each is one notice.
func flatten(errs []error) []error {
	var all []error
	for _, err := range errs {
		joined, ok := errors.AsType[interface {
			error
			Unwrap() []error
		}](err)
		if !ok {
			all = append(all, err)
			continue
		}
		all = append(all, flatten(joined.Unwrap())...)
	}
	return all
}

// notice returns a message that names the file with its folder.
func notice(folder string, err error) string {
	at, ok := errors.AsType[*input.Error](err)
	if !ok {
		return err.Error()
	}
	full := *at
	full.File = filepath.Join(folder, filepath.FromSlash(at.File))
	return fmt.Sprintf("preset left out: %v", &full)
}
