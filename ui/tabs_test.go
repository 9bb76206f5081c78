package ui

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFewFilesNameTheTabs: the line of tabs is in the frames of the first screen only, so
// that a screen can be called otherwise without a hundred frames to read.
func TestFewFilesNameTheTabs(t *testing.T) {
	var files []string
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".golden" {
			return err
		}
		frame, err := os.ReadFile(path) //nolint:gosec // a frame next to the tests
		named := 0
		for tab := range tabs {
			if strings.Contains(string(frame), " "+tabName(tab)+"  ") ||
				strings.Contains(string(frame), "["+tabName(tab)+"]") {
				named++
			}
		}
		if named > 3 {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 || len(files) > 6 { // the feet and the first screen at five sizes
		t.Errorf("the names of the tabs are in %d files: %q", len(files), files)
	}
}
