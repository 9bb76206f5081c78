//go:build unix

// Command picture makes the README's tour from the program's own output: it
// builds meshscope, runs it in a pseudo-terminal, presses a few keys and writes
// the cells of the screen as SVG. Run it from the project's root:
//
//	go run ./docs/picture            # writes the animation docs/tour.svg
//	go run ./docs/picture -check     # says whether docs/tour.svg is current
//	go run ./docs/picture -keys tab,t -o picture.svg
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
	output  = "docs/tour.svg"
	title   = "meshscope: Llama 3.1 70B on 64 H100, memory, pipeline and step time of the current layout"
)

// quiet is how long the screen must stay the same to count as finished, also on
// a busy machine; the program draws at 120 frames a second.
const quiet = time.Second

func main() {
	check := flag.Bool("check", false, "compare with the file instead of writing it")
	out := flag.String("o", output, "file to write")
	keys := flag.String("keys", "", "take one picture after these keys instead of the tour: up, down, "+
		"left, right, enter, tab, esc or text, by commas")
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
	scenes := tour()
	if keys != "" {
		scenes = []scene{{keys: keys}}
	}
	pictures, err := draw(program, scenes)
	if err != nil {
		return err
	}
	drawn := pictures[0]
	if keys == "" {
		drawn = animate(pictures, scenes)
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

// draw starts the program, presses the keys of each scene and gives the screens as SVG.
func draw(program string, scenes []scene) ([]string, error) {
	foreground, background := color.RGBA{0xd8, 0xd8, 0xd8, 0xff}, color.RGBA{0x10, 0x10, 0x14, 0xff}
	home, err := os.MkdirTemp("", "meshscope-home")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home) //nolint:errcheck // a leftover temporary folder harms nobody
	t, err := terminal.Start(context.Background(), terminal.Options{
		Columns: columns, Rows: rows, Background: background,
		// A fresh home: nobody's settings are in the picture.
		Env: []string{"HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CONFIG_HOME=" + home},
	}, program)
	if err != nil {
		return nil, err
	}
	if err := t.WaitFor("the first frame",
		func(screen string) bool { return strings.Contains(screen, "meshscope") }); err != nil {
		return nil, err
	}
	t.AwaitQuiet(quiet)
	var drawn []string
	for _, s := range scenes {
		for key := range strings.SplitSeq(s.keys, ",") {
			if err := t.Type(named(key)); err != nil {
				return nil, err
			}
			t.AwaitQuiet(quiet)
		}
		t.Screen(func(e *vt.Emulator) {
			p := picture.Picture{
				Columns: columns, Rows: rows, Foreground: foreground, Background: background, Title: title,
				Cells: func(x, y int) *uv.Cell { return e.CellAt(x, y) },
			}
			drawn = append(drawn, p.SVG())
		})
	}
	if err := t.Type("q"); err != nil {
		return nil, err
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
	case "tab":
		return "\t"
	}
	return key
}
