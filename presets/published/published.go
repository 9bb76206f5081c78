// Package published holds measurements that others published, typed in with
// their source, and compares the model with them. One TOML file is one group
// of runs: figures only, nobody's text.
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
	ID        string   `json:"name"`
	Source    string   `json:"source"`
	Fitted    bool     `json:"fitted"`    // constants were fitted to these runs
	FittedTo  string   `json:"constants"` // which, or that none were
	Peer      string   `json:"peer,omitempty"`
	PeerError float64  `json:"peer_error,omitempty"` // mean absolute relative error of the best peer on such runs
	Note      string   `json:"note,omitempty"`
	Runs      []Run    `json:"-"`
	Bad       []string `json:"-"`
}

// Run is one measured run and the setup that describes it.
type Run struct {
	ID     string
	Setup  engine.Setup
	Step   float64 // seconds; 0: not published
	Memory float64 // GiB allocated on the fullest GPU; 0: not published
}

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
	Runs      []runFile      `toml:"run"`
}

type runFile struct {
	ID     string         `toml:"id"`
	Step   float64        `toml:"step_seconds"`
	Memory float64        `toml:"allocated_GiB"`
	Setup  map[string]any `toml:"setup"`
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
	g := Group{
		ID: f.ID, Source: f.Source, Fitted: f.Fitted, FittedTo: f.FittedTo,
		Peer: f.Peer, PeerError: f.PeerError, Note: f.Note,
	}
	for _, r := range f.Runs {
		run, err := settle(&f, r, lib)
		if err != nil {
			return Group{}, fmt.Errorf("run %s: %w", r.ID, err)
		}
		g.Runs = append(g.Runs, run)
	}
	return g, nil
}

func settle(f *groupFile, r runFile, lib Library) (Run, error) {
	if r.ID == "" || r.Step < 0 || r.Memory < 0 || r.Step+r.Memory == 0 {
		return Run{}, errors.New("an id and a positive step_seconds or allocated_GiB are needed")
	}
	keys := maps.Clone(f.Common)
	if keys == nil {
		keys = map[string]any{}
	}
	maps.Copy(keys, r.Setup)
	text, err := json.Marshal(keys)
	if err != nil {
		return Run{}, err
	}
	doc, err := setupdoc.Parse("run.json", text)
	if err != nil {
		return Run{}, err
	}
	s, err := doc.Setup(lib)
	if err != nil {
		return Run{}, err
	}
	if !engine.Legal(s) {
		return Run{}, fmt.Errorf("illegal layout: %s", engine.Check(s)[0].Message)
	}
	return Run{ID: r.ID, Setup: s, Step: r.Step, Memory: r.Memory}, nil
}
