//go:build unix

package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"meshscope/presets"
)

// documents returns the README and the pages of docs.
func documents(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages in docs", err)
	}
	return append(pages, "../README.md", "../CONTRIBUTING.md", "../SECURITY.md")
}

// TestReadme runs every console block of the documents and compares what it shows
// with what the program says now. UPDATE_README=1 rewrites the blocks.
func TestReadme(t *testing.T) {
	path := filepath.Dir(build(t)) + string(os.PathListSeparator) + os.Getenv("PATH")
	blocks := 0
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		updated := eachBlock(string(text), "console", func(block string) string {
			blocks++
			got := transcript(t, path, block)
			if got != block && os.Getenv("UPDATE_README") == "" {
				t.Errorf("%s shows\n%s\nthe program says\n%s", file, block, got)
			}
			return got
		})
		if os.Getenv("UPDATE_README") != "" && updated != string(text) {
			if err := os.WriteFile(file, []byte(updated), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if blocks < 4 {
		t.Fatalf("%d console blocks", blocks)
	}
}

// TestReadmeCounts keeps the number of presets that docs/commands.md claims.
func TestReadmeCounts(t *testing.T) {
	text, err := os.ReadFile("../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	library := presets.Default()
	want := fmt.Sprintf("%d models, %d GPUs and %d clusters",
		len(library.Models()), len(library.GPUs()), len(library.Clusters()))
	if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
		t.Errorf("docs/commands.md does not say %q", want)
	}
}

// TestLinks: every link of the documents to a file leads to one.
func TestLinks(t *testing.T) {
	link, code := regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)]*)?\)`), regexp.MustCompile("`[^`\n]*`")
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", file, m[1], err)
			}
		}
	}
}

// eachBlock replaces the inside of every fenced block of one language.
func eachBlock(text, language string, replace func(string) string) string {
	var out, block strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		switch {
		case !inside && strings.TrimSpace(line) == "```"+language:
			inside = true
			out.WriteString(line)
		case inside && strings.TrimSpace(line) == "```":
			inside = false
			out.WriteString(replace(block.String()))
			block.Reset()
			out.WriteString(line)
		case inside:
			block.WriteString(line)
		default:
			out.WriteString(line)
		}
	}
	return out.String()
}

// transcript runs the lines of a block that start with "$ " and gives the block
// as a shell would show it. A block is one shell session in an empty folder.
func transcript(t *testing.T, path, block string) string {
	t.Helper()
	folder := t.TempDir()
	var out bytes.Buffer
	for line := range strings.Lines(block) {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		out.WriteString(line)
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "PATH="+path, "COLUMNS=80", "HOME="+folder)
		output, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatalf("%s: %v", command, err)
		}
		out.Write(output)
		if len(output) > 0 && output[len(output)-1] != '\n' {
			fmt.Fprintln(&out)
		}
	}
	return out.String()
}
