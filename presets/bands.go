package presets

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"meshscope/engine/band"
	"meshscope/engine/hardware"
)

// Files of the error bands: distances are set by hand, the runs are written by the
// tests of presets/published.
const (
	distancesFile = "distances.toml"
	bandsFile     = "bands.toml"
)

// readPublished reads what published runs tell about errors. A library without such
// files has those of the one below it; nil: there are none.
func (l *Library) readPublished() (*hardware.Published, error) {
	p, found, err := l.distances()
	var runs bandsOf
	here, again := l.readFileOf(bandsFile, &runs)
	switch err = errors.Join(err, again); {
	case err != nil:
		return nil, err
	case !found && !here && l.base != nil:
		return l.base.published()
	case !found && !here:
		return nil, nil
	}
	if err := errors.Join(runs.Time.fill(&p.Time), runs.Memory.fill(&p.Memory)); err != nil {
		return nil, err
	}
	return p, nil
}

// Distances returns the tables of the built-in library without any published run.
func Distances() (*hardware.Published, error) {
	p, _, err := Default().distances()
	return p, err
}

func (l *Library) distances() (p *hardware.Published, found bool, err error) {
	var f struct {
		Time   scalesFile `toml:"time"`
		Memory scalesFile `toml:"memory"`
	}
	found, err = l.readFileOf(distancesFile, &f)
	return &hardware.Published{Time: f.Time.table(false), Memory: f.Memory.table(true)}, found, err
}

// readFileOf reads a file at the top of the library into a struct; false: there is none.
func (l *Library) readFileOf(name string, into any) (bool, error) {
	text, err := readFile(l.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	d := &document{name: name, text: text}
	return true, errors.Join(d.decode(into), d.err())
}

type bandsOf struct {
	Time   tableFile `toml:"time"`
	Memory tableFile `toml:"memory"`
}

// scalesFile is the TOML form of band.Scales and of the prior.
type scalesFile struct {
	Prior       float64    `toml:"prior"`
	PriorWeight float64    `toml:"prior_weight"`
	Unknown     float64    `toml:"unknown"`
	Generation  float64    `toml:"generation"`
	Family      float64    `toml:"family"`
	EPAcross    float64    `toml:"ep_across"`
	Narrow      float64    `toml:"narrow"`
	BeyondRange float64    `toml:"beyond_range"`
	Of          featureSet `toml:"of"`
}

// featureSet has a distance for each band.Feature.
type featureSet struct {
	Experts      float64 `toml:"experts"`
	EP           float64 `toml:"ep"`
	GPU          float64 `toml:"gpu"`
	Stack        float64 `toml:"stack"`
	Own          float64 `toml:"own"`
	Changed      float64 `toml:"changed"`
	PCIe         float64 `toml:"pcie"`
	TP           float64 `toml:"tp"`
	Pipeline     float64 `toml:"pipeline"`
	CP           float64 `toml:"cp"`
	ZeRO3        float64 `toml:"zero3"`
	Precision    float64 `toml:"precision"`
	Recompute    float64 `toml:"recompute"`
	GPUs         float64 `toml:"gpus"`
	MicroBatches float64 `toml:"micro_batches"`
	Active       float64 `toml:"active"`
	Seq          float64 `toml:"seq"`
	Wait         float64 `toml:"wait"`
	Traffic      float64 `toml:"traffic"`
}

func (f *scalesFile) table(memory bool) band.Table {
	o := &f.Of
	return band.Table{Prior: f.Prior, PriorWeight: f.PriorWeight, Memory: memory, Scales: band.Scales{
		Unknown: f.Unknown, Generation: f.Generation, Family: f.Family, EPAcross: f.EPAcross, Narrow: f.Narrow, BeyondRange: f.BeyondRange,
		Of: [band.Features]float64{
			band.Experts: o.Experts, band.EP: o.EP, band.GPU: o.GPU, band.Stack: o.Stack, band.Own: o.Own, band.Changed: o.Changed,
			band.PCIe: o.PCIe, band.TP: o.TP, band.Pipeline: o.Pipeline, band.CP: o.CP, band.ZeRO3: o.ZeRO3, band.Precision: o.Precision,
			band.Recompute: o.Recompute, band.GPUs: o.GPUs, band.MicroBatches: o.MicroBatches, band.Active: o.Active, band.Seq: o.Seq,
			band.Wait: o.Wait, band.Traffic: o.Traffic,
		},
	}}
}

// tableFile is the TOML form of a band.Table without its scales.
type tableFile struct {
	Factor float64    `toml:"factor"`
	GPUs   [2]float64 `toml:"gpus"` // least and most, binary logarithms as in the cells
	Seq    [2]float64 `toml:"seq"`
	Active [2]float64 `toml:"active"`
	// Columns names the values of each of Cells, a line of text each.
	Columns string   `toml:"columns"`
	Cells   []string `toml:"cells"`
}

// fill puts the cells into a table.
func (f *tableFile) fill(t *band.Table) error {
	reach := func(ends [2]float64) band.Range { return band.Range{Least: band.Log(ends[0]), Most: band.Log(ends[1])} }
	t.Factor, t.GPUs, t.Seq, t.Active = f.Factor, reach(f.GPUs), reach(f.Seq), reach(f.Active)
	sources := map[string]int{}
	for i, line := range f.Cells {
		var c CellFile
		if err := c.read(line); err != nil {
			return fmt.Errorf("%s: cell %d: %w", bandsFile, i+1, err)
		}
		if _, ok := sources[c.Source]; !ok {
			sources[c.Source] = len(sources)
		}
		t.Cells = append(t.Cells, c.cell(sources[c.Source]))
	}
	if len(sources) > band.MaxSources {
		return fmt.Errorf("%s: %d sources, at most %d are allowed", bandsFile, len(sources), band.MaxSources)
	}
	t.Settle()
	return nil
}

// CellFile is a band.Cell as a line of text, its values separated by commas: see Columns.
type CellFile struct {
	Group        string
	Release      string
	Source       string
	GPU          string
	Generation   string
	Stack        string
	Family       string
	Experts      bool
	TP           uint8
	CP           uint8
	EP           uint8
	Pipeline     bool
	ZeRO3        bool
	PCIe         bool
	Recompute    bool
	Bits         int
	GPUs         float64
	MicroBatches float64
	Active       float64
	Seq          float64
	Wait         float64
	Traffic      float64
	Runs         int
	Weight       float64
	Error        float64
	Fitted       bool
}

// value is a value of a line and the name of its column.
type value struct {
	column string
	into   any
}

func (c *CellFile) values() []value {
	return []value{
		{"group", &c.Group},
		{"release", &c.Release},
		{"source", &c.Source},
		{"gpu", &c.GPU},
		{"generation", &c.Generation},
		{"stack", &c.Stack},
		{"family", &c.Family},
		{"experts", &c.Experts},
		{"tp", &c.TP},
		{"cp", &c.CP},
		{"ep", &c.EP},
		{"pipeline", &c.Pipeline},
		{"zero3", &c.ZeRO3},
		{"pcie", &c.PCIe},
		{"recompute", &c.Recompute},
		{"bits", &c.Bits},
		{"gpus", &c.GPUs},
		{"micro_batches", &c.MicroBatches},
		{"active", &c.Active},
		{"seq", &c.Seq},
		{"wait", &c.Wait},
		{"traffic", &c.Traffic},
		{"runs", &c.Runs},
		{"weight", &c.Weight},
		{"error", &c.Error},
		{"fitted", &c.Fitted},
	}
}

// Columns names the values of a line, in their order.
func (c *CellFile) Columns() string {
	var names []string
	for _, v := range c.values() {
		names = append(names, v.column)
	}
	return strings.Join(names, ",")
}

// String returns the line.
func (c *CellFile) String() string {
	var texts []string
	for _, v := range c.values() {
		switch into := v.into.(type) {
		case *string:
			texts = append(texts, *into)
		case *bool:
			texts = append(texts, strconv.FormatBool(*into))
		case *int:
			texts = append(texts, strconv.Itoa(*into))
		case *uint8:
			texts = append(texts, strconv.Itoa(int(*into)))
		case *float64:
			texts = append(texts, strconv.FormatFloat(*into, 'f', -1, 64))
		}
	}
	return strings.Join(texts, ",")
}

// read reads a line.
func (c *CellFile) read(line string) error {
	texts, values := strings.Split(line, ","), c.values()
	if len(texts) != len(values) {
		return fmt.Errorf("%d values, %d are needed: %s", len(texts), len(values), c.Columns())
	}
	for i, v := range values {
		if _, err := fmt.Sscan(texts[i], v.into); err != nil {
			return fmt.Errorf("%s: %q is no %T: %w", v.column, texts[i], v.into, err)
		}
	}
	return nil
}

func (c *CellFile) cell(source int) band.Cell {
	return band.Cell{
		Traits: band.Traits{
			GPU: c.GPU, Generation: c.Generation, Stack: c.Stack, Family: c.Family, Experts: c.Experts,
			TP: band.Reach(c.TP), CP: band.Reach(c.CP), EP: band.Reach(c.EP), Pipeline: c.Pipeline, ZeRO3: c.ZeRO3, PCIe: c.PCIe,
			Recompute: c.Recompute, Bits: c.Bits, GPUs: band.Log(c.GPUs), MicroBatches: band.Log(c.MicroBatches),
			Active: band.Log(c.Active), Seq: band.Log(c.Seq), NonCompute: c.Wait, Traffic: c.Traffic,
		},
		Group: c.Group, Release: c.Release, Source: source, Runs: c.Runs, Weight: c.Weight, Error: c.Error, Fitted: c.Fitted,
	}
}
