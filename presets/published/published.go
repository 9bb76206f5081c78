// Package published holds measurements that others published, typed in with
// their source, and compares the model with them. One TOML file is one group
// of runs: figures only, no text of the sources.
package published

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/presets/setupdoc"
)

//go:embed *.toml
var files embed.FS

// Group is a set of runs of one source.
type Group struct {
	ID        string  `json:"name"`
	Source    string  `json:"source"`
	Fitted    bool    `json:"fitted"`    // constants were fitted to these runs
	FittedTo  string  `json:"constants"` // which, or that none were
	Peer      string  `json:"peer,omitempty"`
	PeerError float64 `json:"peer_error,omitempty"` // mean absolute relative error of the best peer on such runs
	Note      string  `json:"note,omitempty"`
	Runs      []Run   `json:"-"`
	file      *groupFile
}

// Run is one measured run and the setup that describes it.
type Run struct {
	ID     string
	Setup  engine.Setup
	Step   float64 // seconds; 0: not published
	Memory float64 // GiB on the fullest GPU; 0: not published
	Kind   MemoryKind
	First  bool // Memory is that of the first pipeline rank
}

// TokensPerSecondPerGPU returns the speed that was measured; 0 where no step was published.
func (r *Run) TokensPerSecondPerGPU() float64 {
	if r.Step <= 0 {
		return 0
	}
	return r.Setup.Tokens() / r.Step / float64(r.Setup.GPUs)
}

// MemoryKind is what a published figure of memory counts.
type MemoryKind string

// Kinds of memory.
const (
	Allocated MemoryKind = "allocated" // tensors at the peak
	Reserved  MemoryKind = "reserved"  // what the framework took from the driver for them
	Device    MemoryKind = "device"    // everything on the GPU, as the driver reports it
)

// Library finds models, GPUs and clusters.
type Library interface {
	setupdoc.Library
	Calibrate(c hardware.Cluster) hardware.Cluster
}

type groupFile struct {
	ID        string         `toml:"id"`
	Source    string         `toml:"source"`
	Fitted    bool           `toml:"fitted"`
	FittedTo  string         `toml:"constants"`
	Peer      string         `toml:"peer"`
	PeerError float64        `toml:"peer_error"`
	Note      string         `toml:"note"`
	Common    map[string]any `toml:"common"` // setup keys of every run
	Memory    MemoryKind     `toml:"memory"` // allocated by default
	First     bool           `toml:"memory_of_first_rank"`
	Runs      []runFile      `toml:"run"`
	Cells     []cellFile     `toml:"cell"`
}

type runFile struct {
	ID     string         `toml:"id"`
	Step   float64        `toml:"step_seconds"`
	Memory float64        `toml:"memory_GiB"`
	Setup  map[string]any `toml:"setup"`
}

// cellFile are many runs that differ in a few integers, a line each: the id, the
// values of Columns, the step time in seconds and the memory in GiB. A run out of
// memory has neither.
type cellFile struct {
	Setup       map[string]any `toml:"setup"`
	Columns     []string       `toml:"columns"`
	Runs        [][]float64    `toml:"runs"`
	OutOfMemory [][]float64    `toml:"out_of_memory"`
}

// settle returns the lines of a cell as runs. The document is read once: only the
// columns differ.
func (c *cellFile) settle(f *groupFile, lib Library, lines [][]float64, figures int) ([]Run, error) {
	doc, err := f.document(c.Setup)
	if err != nil {
		return nil, err
	}
	out := make([]Run, 0, len(lines))
	for _, line := range lines {
		if len(line) != 1+len(c.Columns)+figures {
			return nil, fmt.Errorf("a line of %d values: an id, %d columns and %d figures are needed", len(line), len(c.Columns), figures)
		}
		run := Run{ID: strconv.Itoa(int(line[0])), Kind: f.Memory, First: f.First}
		for i, column := range c.Columns {
			if err := doc.Set(column, strconv.Itoa(int(line[1+i]))); err != nil {
				return nil, fmt.Errorf("run %s: %w", run.ID, err)
			}
		}
		if figures > 0 {
			run.Step, run.Memory = line[1+len(c.Columns)], line[2+len(c.Columns)]
			if err := run.measured(); err != nil {
				return nil, err
			}
		}
		if err := run.take(doc, lib); err != nil {
			return nil, err
		}
		out = append(out, run)
	}
	return out, nil
}

// Groups reads every built-in group. A file or a run that is not right is an
// error that names it.
func Groups(lib Library) ([]Group, error) { return load(files, lib) }

func load(fsys fs.FS, lib Library) ([]Group, error) {
	names, err := fs.Glob(fsys, "*.toml")
	if err != nil {
		return nil, err
	}
	var groups []Group
	var errs []error
	for _, name := range names {
		g, err := read(fsys, name, lib)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		groups = append(groups, g)
	}
	return groups, errors.Join(errs...)
}

func read(fsys fs.FS, name string, lib Library) (Group, error) {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return Group{}, err
	}
	var f groupFile
	dec := toml.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return Group{}, err
	}
	if f.ID != strings.TrimSuffix(path.Base(name), ".toml") || f.Source == "" {
		return Group{}, errors.New("id must be the file's name and source must be given")
	}
	switch f.Memory {
	case "":
		f.Memory = Allocated
	case Allocated, Reserved, Device:
	default:
		return Group{}, fmt.Errorf("memory: given %q, allowed is allocated, reserved or device", f.Memory)
	}
	g := Group{
		ID: f.ID, Source: f.Source, Fitted: f.Fitted, FittedTo: f.FittedTo,
		Peer: f.Peer, PeerError: f.PeerError, Note: f.Note, file: &f,
	}
	for _, r := range f.Runs {
		run := Run{ID: r.ID, Step: r.Step, Memory: r.Memory, Kind: f.Memory, First: f.First}
		doc, err := f.document(r.Setup)
		if err == nil {
			err = run.measured()
		}
		if err == nil {
			err = run.take(doc, lib)
		}
		if err != nil {
			return Group{}, err
		}
		g.Runs = append(g.Runs, run)
	}
	for i := range f.Cells {
		c := &f.Cells[i]
		const stepAndMemory = 2
		runs, err := c.settle(&f, lib, c.Runs, stepAndMemory)
		if err != nil {
			return Group{}, err
		}
		c.Runs = nil
		g.Runs = append(g.Runs, runs...)
	}
	f.Runs = nil
	return g, nil
}

// OutOfMemory returns the runs of the group that did not fit: they have a setup and no
// figure. They are read when they are requested.
func (g *Group) OutOfMemory(lib Library) ([]Run, error) {
	if g.file == nil {
		return nil, nil
	}
	var out []Run
	for i := range g.file.Cells {
		c := &g.file.Cells[i]
		failed, err := c.settle(g.file, lib, c.OutOfMemory, 0)
		if err != nil {
			return nil, err
		}
		out = append(out, failed...)
	}
	return out, nil
}

// measured reports a run without an id or without a measured figure.
func (r *Run) measured() error {
	if r.ID == "" || r.Step < 0 || r.Memory < 0 || r.Step+r.Memory == 0 {
		return fmt.Errorf("run %s: an id and a positive step_seconds or memory_GiB are needed", r.ID)
	}
	return nil
}

// take returns a run the setup of a document.
func (r *Run) take(doc *setupdoc.Document, lib Library) error {
	s, err := doc.Setup(lib)
	if err != nil {
		return fmt.Errorf("run %s: %w", r.ID, err)
	}
	if !engine.Legal(s) {
		return fmt.Errorf("run %s: illegal layout: %s", r.ID, engine.Check(s)[0].Message)
	}
	r.Setup = s
	return nil
}

// document returns the setup document of one run: the keys common to its group and its
// own keys, which win.
func (f *groupFile) document(own map[string]any) (*setupdoc.Document, error) {
	keys := maps.Clone(f.Common)
	if keys == nil {
		keys = map[string]any{}
	}
	maps.Copy(keys, own)
	text, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	return setupdoc.Parse("run.json", text)
}
