package presets

import (
	"errors"
	"io/fs"

	"meshscope/engine/band"
	"meshscope/engine/hardware"
	"meshscope/presets/input"
)

// Files of the error bands: distances are set by hand, the runs are written by the
// tests of presets/published.
const (
	distancesFile = "distances.toml"
	bandsFile     = "bands.csv"
)

// readPublished reads what published runs tell about errors: the built-in files, which no
// library over the built-in one replaces; nil: there are none.
func (l *Library) readPublished() (*hardware.Published, error) {
	if l.base != nil {
		return l.base.published()
	}
	p, found, err := l.distances()
	if err != nil || !found {
		return nil, err
	}
	text, err := readFile(l.fsys, bandsFile)
	if err != nil {
		return nil, err
	}
	if err := fillBands(p, string(text)); err != nil {
		return nil, err
	}
	return p, nil
}

// ownBands refuses files of the user's own that would replace the error bands.
func (l *Library) ownBands() (errs []error) {
	if l.base == nil {
		return nil
	}
	for _, name := range []string{distancesFile, bandsFile} {
		if _, err := readFile(l.fsys, name); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, &input.Error{File: name, Err: errors.New("without effect: error bands are built in, from published runs")})
		}
	}
	return errs
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

// scalesFile is the TOML form of band.Scales and of the prior.
type scalesFile struct {
	Prior       float64    `toml:"prior"`
	PriorWeight float64    `toml:"prior_weight"`
	Unknown     float64    `toml:"unknown"`
	Generation  float64    `toml:"generation"`
	Family      float64    `toml:"family"`
	EPAcross    float64    `toml:"ep_across"`
	Vendor      float64    `toml:"vendor"`
	BeyondRange float64    `toml:"beyond_range"`
	Newer       float64    `toml:"newer"`
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
	MBS          float64 `toml:"mbs"`
	Wait         float64 `toml:"wait"`
	Traffic      float64 `toml:"traffic"`
}

func (f *scalesFile) table(memory bool) band.Table {
	o := &f.Of
	return band.Table{Prior: f.Prior, PriorWeight: f.PriorWeight, Memory: memory, Scales: band.Scales{
		Unknown: f.Unknown, Generation: f.Generation, Family: f.Family, EPAcross: f.EPAcross, Vendor: f.Vendor, BeyondRange: f.BeyondRange, Newer: f.Newer,
		Of: [band.Features]float64{
			band.Experts: o.Experts, band.EP: o.EP, band.GPU: o.GPU, band.Stack: o.Stack, band.Own: o.Own, band.Changed: o.Changed,
			band.PCIe: o.PCIe, band.TP: o.TP, band.Pipeline: o.Pipeline, band.CP: o.CP, band.ZeRO3: o.ZeRO3, band.Precision: o.Precision,
			band.Recompute: o.Recompute, band.GPUs: o.GPUs, band.MicroBatches: o.MicroBatches, band.Active: o.Active, band.Seq: o.Seq, band.MBS: o.MBS,
			band.Wait: o.Wait, band.Traffic: o.Traffic,
		},
	}}
}
