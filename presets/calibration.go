package presets

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"meshscope/engine/hardware"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// calibrationFile is calibrations/ID.toml: constants of a GPU's kernels, of a
// machine's links, the behaviour of a software stack or what it keeps in memory, with what they were
// fitted to. Every figure is optional; a missing one is that of the file named
// in Inherits.
type calibrationFile struct {
	ID       string   `toml:"id"`
	Kind     string   `toml:"kind"`       // gpu, network, stack, memory
	For      []string `toml:"applies_to"` // ids of clusters or GPUs, a cluster before its GPU; of stacks for memory
	Inherits string   `toml:"inherits"`

	FittedTo  string   `toml:"fitted_to"`
	FitError  *float64 `toml:"fit_error"`      // mean absolute relative error on what it was fitted to
	HeldError *float64 `toml:"held_out_error"` // the same on what was held out
	Note      string   `toml:"note"`
	Source    string   `toml:"source"`

	Figures  map[string]float64 `toml:"figures"`
	Machines []machineFigures   `toml:"machine"`
}

// machineFigures are a stack's figures on one machine, where they differ.
type machineFigures struct {
	For      []string           `toml:"applies_to"`
	FittedTo string             `toml:"fitted_to"`
	Figures  map[string]float64 `toml:"figures"`
}

// Kinds of calibration files.
const (
	kindGPU     = "gpu"
	kindNetwork = "network"
	kindStack   = "stack"
	kindMemory  = "memory" // what software stacks keep, whatever the machine
)

// CalibrationPreset is a calibration file that was checked.
type CalibrationPreset struct {
	ID        string             `json:"id"`
	Kind      string             `json:"kind"`
	AppliesTo []string           `json:"applies_to"`
	Inherits  string             `json:"inherits,omitempty"`
	FittedTo  string             `json:"fitted_to"`
	FitError  float64            `json:"fit_error,omitempty"`
	HeldError float64            `json:"held_out_error,omitempty"`
	Figures   map[string]float64 `json:"figures"`
	Machines  []MachineFigures   `json:"machines,omitempty"`
	Note      string             `json:"note,omitempty"`
	Source    string             `json:"source"`
}

// MachineFigures are the figures of a stack on some machines.
type MachineFigures struct {
	AppliesTo []string           `json:"applies_to"`
	FittedTo  string             `json:"fitted_to"`
	Figures   map[string]float64 `json:"figures"`
}

func parseCalibration(_ *Library, d *document) (CalibrationPreset, error) {
	var f calibrationFile
	if err := d.decode(&f); err != nil {
		return CalibrationPreset{}, err
	}
	d.identity(f.ID, f.ID, f.Source)
	known, ok := figureRanges(f.Kind)
	if !ok {
		d.refuse("kind", printable(f.Kind), "gpu, network, stack, memory")
	}
	p := CalibrationPreset{
		ID: f.ID, Kind: f.Kind, AppliesTo: f.For, Inherits: f.Inherits, FittedTo: d.required("fitted_to", f.FittedTo),
		FitError: d.optional("fit_error", f.FitError, 0, 10), HeldError: d.optional("held_out_error", f.HeldError, 0, 10),
		Figures: map[string]float64{}, Note: d.line("note", f.Note), Source: f.Source,
	}
	d.figures(known, f.Figures, p.Figures)
	for _, m := range f.Machines {
		own := MachineFigures{AppliesTo: m.For, FittedTo: m.FittedTo, Figures: map[string]float64{}}
		d.figures(known, m.Figures, own.Figures)
		p.Machines = append(p.Machines, own)
	}
	return p, d.err()
}

// figures checks a table of figures against their ranges, by name.
func (d *document) figures(known []figureRange, given, into map[string]float64) {
	names := make([]string, 0, len(given))
	for key := range given {
		names = append(names, key)
	}
	slices.Sort(names)
	for _, key := range names {
		i := slices.IndexFunc(known, func(r figureRange) bool { return r.key == key })
		if i < 0 {
			d.refuse(key, "not a figure of this kind", "a known figure")
			continue
		}
		v := given[key]
		r := known[i]
		if !(v >= r.low && v <= r.high) {
			d.refuse(key, fmt.Sprint(v), fmt.Sprintf("from %g to %g", r.low, r.high))
			continue
		}
		into[key] = v
	}
}

// calibrated gives a cluster everything that is known about its speed.
func (l *Library) calibrated(c hardware.Cluster) hardware.Cluster {
	c.Calibration = l.tables.of(l, &c)
	c.Memory = l.memories()
	return c
}

// Calibrate gives a cluster of any making what is known about its machine or
// its GPU, by their ids.
func (l *Library) Calibrate(c hardware.Cluster) hardware.Cluster { return l.calibrated(c) }

// Calibrations lists the calibration files by id.
func (l *Library) Calibrations() []CalibrationPreset {
	return list(l, func(l *Library) *store[CalibrationPreset] { return &l.calibrations }, func(p *CalibrationPreset) string { return p.ID })
}

// calibrationFiles are those of the library, then those of the ones below it
// that it does not hide: the first that speaks of a machine is taken.
func (l *Library) calibrationFiles() []CalibrationPreset {
	var files []CalibrationPreset
	for at := l; at != nil; at = at.base {
		for _, f := range at.calibrations.list(at) {
			if !slices.ContainsFunc(files, func(g CalibrationPreset) bool { return g.ID == f.ID }) {
				files = append(files, f)
			}
		}
	}
	return files
}

// tables keeps one Calibration per cluster and GPU, so that equal setups stay
// equal.
type tables struct {
	mu     sync.Mutex
	made   map[[2]string]*hardware.Calibration
	files  []CalibrationPreset
	bands  []hardware.Band
	memory *hardware.StackMemories
}

const bandsFile = "bands.toml"

// bandTable reads the errors of the validated groups; a library without such a
// table has those of the one below it.
func (l *Library) bandTable() []hardware.Band {
	for at := l; at != nil; at = at.base {
		text, err := readFile(at.fsys, bandsFile)
		if err != nil {
			continue
		}
		var f struct {
			Bands []bandFile `toml:"band"`
		}
		d := &document{name: bandsFile, text: text}
		if d.decode(&f) != nil {
			continue
		}
		list := make([]hardware.Band, 0, len(f.Bands))
		for _, b := range f.Bands {
			list = append(list, hardware.Band(b))
		}
		return list
	}
	return nil
}

// bandFile is a hardware.Band as a file has it.
type bandFile struct {
	Group    string       `toml:"group"`
	Memory   bool         `toml:"memory"`
	Stack    recipe.Stack `toml:"stack"`
	GPU      string       `toml:"gpu"`
	MoE      bool         `toml:"moe"`
	MaxGPUs  int          `toml:"max_gpus"`
	Rows     int          `toml:"rows"`
	Median   float64      `toml:"median"`
	P90      float64      `toml:"p90"`
	InSample bool         `toml:"fitted"`
}

func (t *tables) of(l *Library, c *hardware.Cluster) *hardware.Calibration {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := [2]string{c.ID, c.GPU.ID}
	if got, ok := t.made[key]; ok {
		return got
	}
	if t.files == nil {
		t.files = l.calibrationFiles()
		t.bands = l.bandTable()
	}
	cal := compose(t.files, c.ID, c.GPU.ID)
	if cal != nil {
		for _, b := range t.bands {
			if b.GPU == c.GPU.ID && (b.Group == "simumax-b200") == (c.ID == "b200-8x-simumax") {
				cal.Bands = append(cal.Bands, b)
			}
		}
	}
	if t.made == nil {
		t.made = map[[2]string]*hardware.Calibration{}
	}
	t.made[key] = cal
	return cal
}

// memories are the memory constants of every stack that a file speaks of.
func (l *Library) memories() *hardware.StackMemories {
	l.tables.mu.Lock()
	defer l.tables.mu.Unlock()
	if l.tables.memory != nil {
		return l.tables.memory
	}
	files, all := l.calibrationFiles(), hardware.StackMemories{}
	for i := range files {
		if files[i].Kind != kindMemory {
			continue
		}
		for _, id := range files[i].AppliesTo {
			stack := recipe.Stack(id)
			if _, known := all[stack]; known {
				continue
			}
			m := hardware.StackMemory{From: files[i].FittedTo}
			m.Missing = missing(files[i].ID, settle(memoryFigures(&m, stack == recipe.Nanotron), inherited(files, &files[i])))
			all[stack] = m
		}
	}
	l.tables.memory = &all
	return l.tables.memory
}

// compose puts together the calibration of a machine from the files that name
// its cluster or its GPU. It is nil when no file speaks of its kernels.
func compose(files []CalibrationPreset, cluster, gpu string) *hardware.Calibration {
	ops, network := pick(files, kindGPU, cluster, gpu), pick(files, kindNetwork, cluster, gpu)
	if ops == nil || network == nil {
		return nil
	}
	cal := &hardware.Calibration{ID: cluster}
	var noKernels, noLinks []string
	cal.Ops, noKernels = opsOf(inherited(files, ops))
	cal.Ops.From = ops.FittedTo
	cal.Network, noLinks = networkOf(inherited(files, network))
	cal.Network.From = network.FittedTo
	if cal.Missing = missing(ops.ID, noKernels); cal.Missing == "" {
		cal.Missing = missing(network.ID, noLinks)
	}
	if !slices.Contains(ops.AppliesTo[:min(1, len(ops.AppliesTo))], gpu) && !slices.Contains(ops.AppliesTo, cluster) {
		cal.Notes = append(cal.Notes, "kernel rates are those of "+ops.ID+", its nearest relative with measurements")
	}
	cal.Notes = append(cal.Notes, "kernels fitted to "+ops.FittedTo, "links fitted to "+network.FittedTo)
	for i := range files {
		if files[i].Kind == kindStack {
			cal.Software = append(cal.Software, softwareOf(files, &files[i], cluster, gpu))
		}
	}
	slices.SortStableFunc(cal.Software, func(a, b hardware.Software) int { // the default stack first
		return boolInt(b.Stack == recipe.MegatronCore) - boolInt(a.Stack == recipe.MegatronCore)
	})
	if len(cal.Software) == 0 {
		return nil
	}
	return cal
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// pick is the file of a kind that names the cluster, else the GPU.
func pick(files []CalibrationPreset, kind, cluster, gpu string) *CalibrationPreset {
	for _, id := range []string{cluster, gpu, "*"} {
		for i := range files {
			if files[i].Kind == kind && slices.Contains(files[i].AppliesTo, id) {
				return &files[i]
			}
		}
	}
	return nil
}

// maxInherits bounds a chain of files that inherit from each other.
const maxInherits = 8

// inherited are the figures of a file over those of the files it inherits from.
func inherited(files []CalibrationPreset, f *CalibrationPreset) map[string]float64 {
	chain := []*CalibrationPreset{f}
	for range maxInherits {
		last := chain[len(chain)-1]
		i := slices.IndexFunc(files, func(p CalibrationPreset) bool { return p.ID == last.Inherits && p.Kind == last.Kind })
		if i < 0 {
			break
		}
		chain = append(chain, &files[i])
	}
	figures := map[string]float64{}
	for _, p := range slices.Backward(chain) {
		maps.Copy(figures, p.Figures)
	}
	return figures
}

func softwareOf(files []CalibrationPreset, f *CalibrationPreset, cluster, gpu string) hardware.Software {
	figures := inherited(files, f)
	from := f.FittedTo
	for _, id := range []string{gpu, cluster} {
		for _, m := range f.Machines {
			if slices.Contains(m.AppliesTo, id) {
				for k, v := range m.Figures {
					figures[k] = v
				}
				if m.FittedTo != "" {
					from = m.FittedTo
				}
			}
		}
	}
	s := hardware.Software{Stack: recipe.Stack(strings.TrimPrefix(f.ID, "stack-")), From: from, Factor: 1, Attention: 1, FP8: 1}
	s.Missing = missing(f.ID, settle(softwareFigures(&s), figures))
	_, s.Fitted = figures["factor"]
	s.Note = "stack " + string(s.Stack) + ": time behaviour fitted to " + from
	return s
}

func opsOf(figures map[string]float64) (o hardware.Ops, lacks []string) {
	lacks = settle(opsFigures(&o), figures)
	return o, lacks
}

func networkOf(figures map[string]float64) (n hardware.Network, lacks []string) {
	lacks = settle(networkFigures(&n), figures)
	if _, bridged := figures["bridge_efficiency"]; bridged {
		for _, key := range []string{"half_node_ring_efficiency", "half_node_all_to_all_efficiency"} {
			if _, ok := figures[key]; !ok {
				lacks = append(lacks, key)
			}
		}
	}
	return n, lacks
}

// settle writes figures where they go and gives the needed ones that are not
// there.
func settle(known []figureRange, figures map[string]float64) (lacks []string) {
	for _, r := range known {
		if v, ok := figures[r.key]; ok {
			r.set(v)
		} else if r.needed {
			lacks = append(lacks, r.key)
		}
	}
	return lacks
}

// missing names a file and the figures that neither it nor those it inherits from
// give.
func missing(id string, lacks []string) string {
	if len(lacks) == 0 {
		return ""
	}
	return id + " lacks " + strings.Join(lacks, ", ")
}

const micro = float64(units.Microsecond)
