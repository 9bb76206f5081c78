//go:build unix

// Command picture makes the README's picture from the program's own output: it
// builds meshscope, runs it in a pseudo-terminal, presses a few keys and writes
// the cells of the screen as SVG. Run it from the project's root:
//
//	go run ./docs/picture            # writes docs/explore.svg
//	go run ./docs/picture -check     # says whether docs/explore.svg is current
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"

	"meshscope/cli/terminal"
	"meshscope/ui/picture"
)

// The screen in the README.
const (
	columns = 120
	rows    = 36
	output  = "docs/explore.svg"
	title   = "meshscope: Llama 3.1 70B on 64 H100, memory, pipeline and step time of the current layout"
)

// quiet is how long the screen must stay the same to count as finished, also on
// a busy machine; the program draws at 60 frames a second.
const quiet = time.Second

func main() {
	check := flag.Bool("check", false, "compare with the file instead of writing it")
	out := flag.String("o", output, "file to write")
	keys := flag.String("keys", "", "keys to press before the picture is taken: up, down, left, right, enter, esc or text, by commas")
	program := flag.String("program", "", "take the picture of this program instead of building meshscope")
	flag.Parse()
	if err := run(*program, *out, *keys, *check); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(program, out, keys string, check bool) error {
	if program == "" {
		folder, err := os.MkdirTemp("", "meshscope-picture")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder) //nolint:errcheck // a leftover temporary file harms nobody
		program = filepath.Join(folder, "meshscope")
		build := exec.CommandContext(context.Background(), "go", "build", "-o", program, ".")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build: %w", err)
		}
	}
	drawn, err := draw(program, keys)
	if err != nil {
		return err
	}
	if !check {
		return os.WriteFile(out, []byte(drawn), 0o644)
	}
	kept, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	if string(kept) != drawn {
		return fmt.Errorf("%s is not what the program shows now; run go run ./docs/picture", out)
	}
	return nil
}

// draw starts the program, presses the keys and gives the screen as SVG.
func draw(program, keys string) (string, error) {
	foreground, background := color.RGBA{0xd8, 0xd8, 0xd8, 0xff}, color.RGBA{0x10, 0x10, 0x14, 0xff}
	home, err := os.MkdirTemp("", "meshscope-home")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(home) //nolint:errcheck // a leftover temporary folder harms nobody
	t, err := terminal.Start(context.Background(), terminal.Options{
		Columns: columns, Rows: rows, Background: background,
		// A fresh home: nobody's settings are in the picture.
		Env: []string{"HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CONFIG_HOME=" + home},
	}, program)
	if err != nil {
		return "", err
	}
	if err := t.WaitFor("the first frame", func(screen string) bool { return strings.Contains(screen, "meshscope") }); err != nil {
		return "", err
	}
	t.Settle(quiet)
	for key := range strings.SplitSeq(keys, ",") {
		if err := t.Type(named(key)); err != nil {
			return "", err
		}
		t.Settle(quiet)
	}
	var drawn string
	t.Screen(func(e *vt.Emulator) {
		p := picture.Picture{
			Columns: columns, Rows: rows, Foreground: foreground, Background: background, Title: title,
			Cells: func(x, y int) *uv.Cell { return e.CellAt(x, y) },
		}
		drawn = p.SVG()
	})
	if err := t.Type("q"); err != nil {
		return "", err
	}
	end, err := t.Wait()
	if err == nil && end.Code != 0 {
		err = errors.New("the program ended with an error: " + end.Stderr)
	}
	return drawn, err
}

// named turns the name of a key into what the keyboard sends.
func named(key string) string {
	switch key {
	case "up":
		return terminal.Up
	case "down":
		return terminal.Down
	case "left":
		return terminal.Left
	case "right":
		return terminal.Right
	case "enter":
		return terminal.Enter
	case "esc":
		return terminal.Esc
	}
	return key
}
