package presets

import (
	"errors"
	"io/fs"
	"maps"
	"slices"

	"meshscope/engine/band"
	"meshscope/engine/hardware"
	"meshscope/presets/input"
)

// Files of what published runs tell: distances and typical figures are set by hand, the runs are written by
// the tests of presets/published.
const (
	distancesFile = "distances.toml"
	bandsFile     = "bands.csv"
	recipesFile   = "recipes.csv"
	typicalFile   = "typical.toml"
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
	if text, err = readFile(l.fsys, recipesFile); err != nil {
		return nil, err
	}
	if p.Recipes, err = readRecipes(string(text)); err != nil {
		return nil, err
	}
	_, err = l.readFileOf(typicalFile, &p.Typical)
	return p, err
}

// ownBands refuses files of the user's own that would replace the error bands.
func (l *Library) ownBands() (errs []error) {
	if l.base == nil {
		return nil
	}
	for _, name := range []string{distancesFile, bandsFile, recipesFile, typicalFile} {
		if _, err := readFile(l.fsys, name); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs,
				&input.Error{
					File: name,
					Err:  errors.New("without effect: what published runs tell is built in"),
				})
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
	time, errTime := f.Time.table(false)
	memory, errMemory := f.Memory.table(true)
	return &hardware.Published{Time: time, Memory: memory}, found, errors.Join(err, errTime, errMemory)
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
	band.Scales

	Prior       float64            `toml:"prior"`
	PriorWeight float64            `toml:"prior_weight"`
	Of          map[string]float64 `toml:"of"` // by feature
}

// features returns the features that have a distance, by their keys.
func features() map[string]band.Feature {
	return map[string]band.Feature{
		"experts": band.Experts, "ep": band.EP, "gpu": band.GPU, "stack": band.Stack, "own": band.Custom,
		"changed": band.Changed, "pcie": band.PCIe,
		"tp": band.TP, "pipeline": band.Pipeline, "cp": band.CP, "zero3": band.ZeRO3,
		"precision": band.Precision, "recompute": band.Recompute, "gpus": band.GPUs,
		"micro_batches": band.MicroBatches, "active": band.Active, "seq": band.Seq, "mbs": band.MBS,
		"wait": band.Wait, "traffic": band.Traffic,
	}
}

// table returns the table without runs; an unknown feature is an error.
func (f *scalesFile) table(memory bool) (band.Table, error) {
	t, known := band.Table{Prior: f.Prior, PriorWeight: f.PriorWeight, Memory: memory, Scales: f.Scales},
		features()
	for _, key := range slices.Sorted(maps.Keys(f.Of)) {
		feature, ok := known[key]
		if !ok {
			return t, input.Errorf(distancesFile, "unknown feature %s", key)
		}
		t.Scales.Of[feature] = f.Of[key]
	}
	return t, nil
}
