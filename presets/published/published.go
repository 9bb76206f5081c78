// Package published holds measurements that others published, typed in with
// their source, and compares the model with them. One TOML file is one group
// of runs: figures only, no text of the sources.
package published

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/recipe"
	"meshscope/presets/setupdoc"
)

//go:embed *.toml
var files embed.FS

// Group is a set of runs of one source.
type Group struct {
	ID       string `json:"name"`
	Title    string `json:"title"` // for a reader
	Source   string `json:"source"`
	Fitted   bool   `json:"fitted"`    // constants were fitted to these runs
	FittedTo string `json:"constants"` // which, or that none were
	Peer     string `json:"peer,omitempty"`
	// mean absolute relative error of the best peer on such runs
	PeerError float64 `json:"peer_error,omitempty"`
	Note      string  `json:"note,omitempty"`
	Release   string  `json:"release,omitempty"` // of the software, where all runs have the same
	// groups of one series, such as two tables of a paper, are left out of a fit together
	Series    string `json:"series"`
	Publisher string `json:"publisher"`         // whose runs these are
	Repeats   bool   `json:"repeats,omitempty"` // its runs are in another group too
	Runs      []Run  `json:"-"`
	// LeftOut lists the published runs of the source that cannot be compared, by reason.
	LeftOut []LeftOut `json:"left_out,omitempty"`
	file    *groupFile
}

// LeftOut names runs that are published but not typed, and why.
type LeftOut struct {
	Runs   []string `json:"runs"   toml:"runs"`
	Reason string   `json:"reason" toml:"reason"`
}

// Run is one measured run and the setup that describes it.
type Run struct {
	ID     string
	Setup  engine.Setup
	Step   float64 // seconds; 0: not published
	Memory float64 // GiB on the rank that Rank names; 0: not published
	Kind   MemoryKind
	Rank   MemoryRank

	Source   string // the place in a paper or repository
	Release  string // of the software; empty: not published
	Note     string
	Software Software // what ran and is no part of the setup
	// AnyRecompute says that nothing tells what was recomputed: Setup has none, and
	// the measured time is compared with the interval from none to full.
	AnyRecompute bool
	// FromRecipe says that recomputation is not in the table of the source but in the
	// recipe that it ran.
	FromRecipe bool
	// predicted is nil until predict evaluates the run; Setup does not change after that.
	predicted *prediction
}

// TokensPerSecondPerGPU returns the speed that was measured; 0 where no step was published.
func (r *Run) TokensPerSecondPerGPU() float64 {
	if r.Step <= 0 {
		return 0
	}
	return r.Setup.Tokens() / r.Step / float64(r.Setup.GPUs)
}

// Library finds models, GPUs and clusters.
type Library interface {
	setupdoc.Library
	Calibrate(c hardware.Cluster) hardware.Cluster
}

type groupFile struct {
	ID        string         `toml:"id"`
	Title     string         `toml:"title"`
	Source    string         `toml:"source"`
	Series    string         `toml:"series"`    // its id by default
	Publisher string         `toml:"publisher"` // its series by default
	Fitted    bool           `toml:"fitted"`
	FittedTo  string         `toml:"constants"`
	Peer      string         `toml:"peer"`
	PeerError float64        `toml:"peer_error"`
	Note      string         `toml:"note"`
	Repeats   bool           `toml:"repeats"`
	Common    map[string]any `toml:"common"` // setup keys of every run
	Memory    MemoryKind     `toml:"memory"` // allocated by default
	Rank      MemoryRank     `toml:"memory_rank"`
	Release   string         `toml:"release"`
	Software  Software       `toml:"software"` // of every run
	LeftOut   []LeftOut      `toml:"left_out"`
	Runs      []runFile      `toml:"run"`
	Cells     []cellFile     `toml:"cell"`
	// FromRecipe: see Run.
	FromRecipe bool `toml:"recompute_from_recipe"`
}

// runFile is one run. At is its place in the group's source. A run has a step time or
// tokens per second and GPU, a memory, or Ran: it ran, and nothing else of it is
// published. OutOfMemory is one that did not.
type runFile struct {
	ID          string         `toml:"id"`
	At          string         `toml:"at"`
	Release     string         `toml:"release"`
	Step        float64        `toml:"step_seconds"`
	Rate        float64        `toml:"tokens_per_gpu_second"`
	Memory      float64        `toml:"memory_GiB"`
	Ran         bool           `toml:"ran"`
	OutOfMemory bool           `toml:"out_of_memory"`
	Setup       map[string]any `toml:"setup"`
	Software    Software       `toml:"software"`
	Note        string         `toml:"note"`
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

// expand returns the lines of a cell as runs. The document is read once: only the
// columns differ.
func (c *cellFile) expand(f *groupFile, lib Library, lines [][]float64, figures int) ([]Run, error) {
	doc, anyRecompute, err := f.document(c.Setup)
	if err != nil {
		return nil, err
	}
	out := make([]Run, 0, len(lines))
	for _, line := range lines {
		if len(line) != 1+len(c.Columns)+figures {
			return nil, fmt.Errorf("a line of %d values: an id, %d columns and %d figures are needed",
				len(line), len(c.Columns), figures)
		}
		run := f.run(strconv.Itoa(int(line[0])))
		run.AnyRecompute = anyRecompute
		for i, column := range c.Columns {
			if err := doc.Set(column, strconv.Itoa(int(line[1+i]))); err != nil {
				return nil, fmt.Errorf("run %s: %w", run.ID, err)
			}
		}
		if figures > 0 {
			r := runFile{ID: run.ID, Step: line[1+len(c.Columns)], Memory: line[2+len(c.Columns)]}
			if err := r.check(); err != nil {
				return nil, err
			}
			run.Step, run.Memory = r.Step, r.Memory
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
	if f.ID != strings.TrimSuffix(path.Base(name), ".toml") || f.Source == "" || f.Title == "" {
		return Group{}, errors.New("id must be the file's name; title and source must be given")
	}
	switch f.Memory {
	case "":
		f.Memory = Allocated
	case Allocated, Reserved, Device:
	default:
		return Group{}, fmt.Errorf("memory: given %q, allowed is allocated, reserved or device", f.Memory)
	}
	switch f.Rank {
	case FullestRank, FirstRank, LastRank:
	default:
		return Group{},
			fmt.Errorf("memory_rank: given %q, allowed is first or last; left out it is the fullest", f.Rank)
	}
	g := Group{
		ID: f.ID, Title: f.Title, Source: f.Source, Series: cmp.Or(f.Series, f.ID),
		Publisher: cmp.Or(f.Publisher, f.Series, f.ID), Fitted: f.Fitted, FittedTo: f.FittedTo,
		Peer: f.Peer, PeerError: f.PeerError, Note: f.Note, Repeats: f.Repeats, Release: f.Release,
		LeftOut: f.LeftOut, file: &f,
	}
	if err := f.check(); err != nil {
		return Group{}, err
	}
	most := len(f.Runs)
	for i := range f.Cells {
		most += len(f.Cells[i].Runs)
	}
	g.Runs = make([]Run, 0, most) // a run is more than a kilobyte
	for i := range f.Runs {
		if f.Runs[i].OutOfMemory {
			continue
		}
		run, err := f.resolve(&f.Runs[i], lib)
		if err != nil {
			return Group{}, err
		}
		g.Runs = append(g.Runs, run)
	}
	for i := range f.Cells {
		c := &f.Cells[i]
		const stepAndMemory = 2
		runs, err := c.expand(&f, lib, c.Runs, stepAndMemory)
		if err != nil {
			return Group{}, err
		}
		c.Runs = nil
		g.Runs = append(g.Runs, runs...)
	}
	// Only what OutOfMemory reads is kept.
	f.Runs = slices.Clone(slices.DeleteFunc(f.Runs, func(r runFile) bool { return !r.OutOfMemory }))
	return g, nil
}

// OutOfMemory returns the runs of the group that did not fit: they have a setup and no
// figure. They are read when they are requested.
func (g *Group) OutOfMemory(lib Library) ([]Run, error) {
	if g.file == nil {
		return nil, nil
	}
	var out []Run
	for i := range g.file.Runs {
		if r := &g.file.Runs[i]; r.OutOfMemory {
			failed, err := g.file.resolve(r, lib)
			if err != nil {
				return nil, err
			}
			out = append(out, failed)
		}
	}
	for i := range g.file.Cells {
		c := &g.file.Cells[i]
		failed, err := c.expand(g.file, lib, c.OutOfMemory, 0)
		if err != nil {
			return nil, err
		}
		out = append(out, failed...)
	}
	return out, nil
}

// run returns a run with what it has in common with its group.
func (f *groupFile) run(id string) Run {
	return Run{
		ID: id, Kind: f.Memory, Rank: f.Rank, Source: f.Source, Release: f.Release,
		Software: f.Software, FromRecipe: f.FromRecipe,
	}
}

// resolve returns one run of the file with its setup.
func (f *groupFile) resolve(r *runFile, lib Library) (Run, error) {
	out := f.run(r.ID)
	if err := r.check(); err != nil {
		return Run{}, err
	}
	doc, anyRecompute, err := f.document(r.Setup)
	if err != nil {
		return Run{}, err
	}
	out.Memory, out.Note, out.AnyRecompute = r.Memory, r.Note, anyRecompute
	out.Source += r.At
	out.Release = cmp.Or(r.Release, out.Release)
	out.Software = f.Software.with(&r.Software)
	if err := out.take(doc, lib); err != nil {
		return Run{}, err
	}
	out.Step = r.Step
	if r.Rate > 0 {
		out.Step = out.Setup.Tokens() / r.Rate / float64(out.Setup.GPUs)
	}
	return out, nil
}

// check reports a run without an id, or whose outcome is not told in one way.
func (r *runFile) check() error {
	figures := r.Step + r.Rate + r.Memory
	switch {
	case r.ID == "" || r.Step < 0 || r.Rate < 0 || r.Memory < 0:
		return fmt.Errorf("run %s: an id and a positive step_seconds, tokens_per_gpu_second or memory_GiB "+
			"are needed", r.ID)
	case r.Step > 0 && r.Rate > 0:
		return fmt.Errorf("run %s: step_seconds and tokens_per_gpu_second say the same twice", r.ID)
	case (r.Ran || r.OutOfMemory) == (figures > 0), r.Ran && r.OutOfMemory:
		return fmt.Errorf("run %s: an id and a positive step_seconds, tokens_per_gpu_second or memory_GiB "+
			"are needed, or ran or out_of_memory alone", r.ID)
	}
	return r.Software.check()
}

// check reports what is wrong with the head of a file and its list of runs left out.
func (f *groupFile) check() error {
	seen := map[string]bool{}
	for i := range f.Runs {
		if seen[f.Runs[i].ID] {
			return fmt.Errorf("run %s is typed twice", f.Runs[i].ID)
		}
		seen[f.Runs[i].ID] = true
	}
	for _, l := range f.LeftOut {
		if len(l.Runs) == 0 || l.Reason == "" {
			return errors.New("left_out: runs and a reason are needed")
		}
		for _, id := range l.Runs {
			if seen[id] {
				return fmt.Errorf("left_out: run %s is typed or left out already", id)
			}
			seen[id] = true
		}
	}
	return f.Software.check()
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

// anyRecompute is the word of a run of which nothing tells what was recomputed.
const anyRecompute = "unknown"

// document returns the setup document of one run: the keys common to its group and its
// own keys, which win. It also says whether recomputation is unknown, in place of which
// the document has none.
func (f *groupFile) document(own map[string]any) (*setupdoc.Document, bool, error) {
	keys := maps.Clone(f.Common)
	if keys == nil {
		keys = map[string]any{}
	}
	maps.Copy(keys, own)
	const recompute = "recompute"
	unknown := keys[recompute] == anyRecompute
	if unknown {
		keys[recompute] = string(recipe.RecomputeNone)
	}
	text, err := json.Marshal(keys)
	if err != nil {
		return nil, false, err
	}
	doc, err := setupdoc.Parse("run.json", text)
	if err != nil {
		return nil, unknown, err
	}
	return doc.AsStated(), unknown, nil
}
