package presets

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"meshscope/engine/hardware"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// tables keeps one Calibration per cluster and GPU, so that equal setups stay
// equal.
type tables struct {
	mu     sync.Mutex
	made   map[[2]string]*hardware.Calibration
	files  calibrationList
	memory *hardware.StackMemories
}

// of returns the calibration of a machine.
func (t *tables) of(l *Library, c *hardware.Cluster) *hardware.Calibration {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := [2]string{c.ID, c.GPU.ID}
	if got, ok := t.made[key]; ok {
		return got
	}
	if t.files == nil {
		t.files = l.calibrationFiles()
	}
	cal, own := t.files.compose(c.ID, c.GPU.ID)
	if cal != nil {
		cal.Kernels = t.files.kernels(l, c)
		var ownMachine bool
		cal.Of, ownMachine = l.presetOf(c)
		own.Machine, own.Preset = own.Machine || ownMachine, ownMachine
		own.Runs = t.files.ownRuns(c.ID)
		cal.Custom = own
	}
	if t.made == nil {
		t.made = map[[2]string]*hardware.Calibration{}
	}
	t.made[key] = cal
	return cal
}

// presetOf returns a machine as its preset has it, nil where there is none; own reports
// whether that is a preset of the user's own. A built-in cluster has the built-in
// GPU, even where another preset has the same id.
func (l *Library) presetOf(c *hardware.Cluster) (of *hardware.Cluster, own bool) {
	gpu, err := l.GPU(c.GPU.ID)
	if err != nil {
		return nil, false
	}
	ownGPU := l.Own(gpuDir, gpu.ID)
	if c.ID == nodeID(gpu) {
		node := l.nodeOf(gpu)
		return &node, ownGPU
	}
	p, err := find(l, c.ID, func(l *Library) *store[ClusterPreset] { return &l.clusters })
	if err != nil {
		return nil, false
	}
	ownCluster := l.Own(clusterDir, p.ID)
	if p.GPU.ID != gpu.ID || ownCluster {
		p.GPU = gpu
		return &p.Cluster, ownCluster || ownGPU
	}
	return &p.Cluster, false
}

// Own reports whether a preset of one kind (models, gpus or clusters) comes from a library over the built-in
// one.
func (l *Library) Own(kind, id string) bool {
	for at := l; at != nil && at.base != nil; at = at.base {
		if at.sound(kind, id) {
			return true
		}
	}
	return false
}

// memories returns the memory constants of every stack that a file speaks of.
func (l *Library) memories() *hardware.StackMemories {
	l.tables.mu.Lock()
	defer l.tables.mu.Unlock()
	if l.tables.memory != nil {
		return l.tables.memory
	}
	files, all := l.calibrationFiles(), hardware.StackMemories{}
	for _, stack := range recipe.Stacks() {
		f := files.ofStack(kindMemory, stack)
		if f == nil {
			continue
		}
		m := hardware.StackMemory{From: f.FittedTo}
		m.Missing = missing(f.ID, assign(memoryFigures(&m, stack.Traits().FittedMemory),
			files.inherited(f, nil)))
		m.Note = m.Words()
		all[stack] = m
	}
	l.tables.memory = &all
	return l.tables.memory
}

// Published returns what published runs tell about the errors of predictions; of a file
// that is refused, nothing.
func (l *Library) Published() *hardware.Published {
	runs, _ := l.published() // Load names the error
	return runs
}

// calibrationList are all files that speak, the user's own first.
type calibrationList []CalibrationPreset

// compose puts together the calibration of a machine from the files that name
// its cluster or its GPU. It is nil when no file speaks of its kernels.
func (files calibrationList) compose(cluster, gpu string) (*hardware.Calibration, hardware.CustomParts) {
	machine := []string{cluster, gpu, "*"}
	ops, network := files.pick(kindGPU, machine), files.pick(kindNetwork, machine)
	if ops == nil || network == nil {
		return nil, hardware.CustomParts{}
	}
	cal := &hardware.Calibration{ID: cluster, NetworkID: network.ID}
	var noKernels, noLinks []string
	cal.Ops, noKernels = opsOf(files.inherited(ops, nil))
	cal.Ops.From = ops.FittedTo
	cal.Network, noLinks = networkOf(files.inherited(network, nil))
	cal.Network.From = network.FittedTo
	if cal.Missing = missing(ops.ID, noKernels); cal.Missing == "" {
		cal.Missing = missing(network.ID, noLinks)
	}
	inherits := func(f *CalibrationPreset) bool {
		return !slices.Contains(f.AppliesTo[:min(1, len(f.AppliesTo))], gpu) &&
			!slices.Contains(f.AppliesTo, cluster)
	}
	if inherits(ops) {
		cal.Notes = append(cal.Notes,
			"kernel rates are those of "+ops.ID+", the nearest GPU with measurements")
	}
	if inherits(network) {
		cal.Notes = append(cal.Notes,
			"shares of the links are those of "+network.ID+", the nearest GPU with measurements")
	}
	cal.Notes = append(cal.Notes, "kernels: "+ops.FittedTo, "links: "+network.FittedTo)
	own := hardware.CustomParts{
		Machine: files.own(ops) || files.own(network),
		Stacks:  map[recipe.Stack]bool{}, Memory: map[recipe.Stack]bool{},
	}
	for _, stack := range recipe.Stacks() { // the default stack first
		if f := files.ofStack(kindStack, stack); f != nil {
			cal.Software = append(cal.Software, files.software(f, stack, cluster, gpu))
			own.Stacks[stack] = files.own(f)
		}
		own.Memory[stack] = files.own(files.ofStack(kindMemory, stack))
	}
	if len(cal.Software) == 0 {
		return nil, hardware.CustomParts{}
	}
	return cal, own
}

// kernels returns the rates of PyTorch's kernels, measured on the first GPU that their file applies to.
func (files calibrationList) kernels(l *Library, c *hardware.Cluster) (k hardware.Kernels) {
	f := files.pick(kindKernels, []string{c.ID, c.GPU.ID, "*"})
	if f == nil {
		return k
	}
	if on, err := l.GPU(f.AppliesTo[0]); err == nil {
		k.On, k.From = &on, f.FittedTo
		k.Missing = missing(f.ID, assign(kernelFigures(&k.Rates), files.inherited(f, nil)))
	}
	return k
}

// pick returns the first file of a kind that names the first of some ids that any file
// of the kind names.
func (files calibrationList) pick(kind string, ids []string) *CalibrationPreset {
	for _, id := range ids {
		for i := range files {
			if files[i].Kind == kind && slices.Contains(files[i].AppliesTo, id) {
				return &files[i]
			}
		}
	}
	return nil
}

// ofStack returns the file of a stack; nil for default, which is an alias.
func (files calibrationList) ofStack(kind string, stack recipe.Stack) *CalibrationPreset {
	return files.pick(kind, []string{string(stack)})
}

// maxInherits bounds a chain of files that inherit from each other.
const maxInherits = 8

// chain returns a file and those that it inherits from, one after the other.
func (files calibrationList) chain(f *CalibrationPreset) []*CalibrationPreset {
	if f == nil {
		return nil
	}
	chain := []*CalibrationPreset{f}
	for range maxInherits {
		last := chain[len(chain)-1]
		i := slices.IndexFunc(files, func(p CalibrationPreset) bool {
			return p.ID == last.Inherits && p.Kind == last.Kind
		})
		if i < 0 {
			break
		}
		chain = append(chain, &files[i])
	}
	return chain
}

// own reports whether a file, or one that it inherits from, is the user's.
func (files calibrationList) own(f *CalibrationPreset) bool {
	return slices.ContainsFunc(files.chain(f), func(p *CalibrationPreset) bool { return p.own })
}

// inherited returns the figures of a file over those of the files it inherits from; of
// each the figures of some machines over those for all.
func (files calibrationList) inherited(f *CalibrationPreset, machines []string) map[string]float64 {
	figures := map[string]float64{}
	files.layers(f, machines, func(layer map[string]float64, _ map[string]string) {
		maps.Copy(figures, layer)
	})
	return figures
}

// layers goes through what a file is made of, what it inherits first: figures and knobs.
func (files calibrationList) layers(f *CalibrationPreset, machines []string,
	take func(figures map[string]float64, knobs map[string]string),
) {
	for _, p := range slices.Backward(files.chain(f)) {
		take(p.Figures, p.Knobs)
		for _, id := range machines {
			for _, m := range p.Machines {
				if slices.Contains(m.AppliesTo, id) {
					take(m.Figures, m.Knobs)
				}
			}
		}
	}
}

// defaults returns what a stack runs where a setup gives nothing. A knob that a release
// inherits and does not have is left out.
func (files calibrationList) defaults(f *CalibrationPreset, stack recipe.Stack,
	machines []string,
) (run recipe.Software) {
	files.layers(f, machines, func(_ map[string]float64, knobs map[string]string) {
		for _, field := range recipe.SoftwareFields() {
			if word := knobs[field.Knob]; word != "" && stack.Has(field.Knob, word) {
				*field.Of(&run) = word
			}
		}
	})
	return run
}

func (files calibrationList) software(f *CalibrationPreset, stack recipe.Stack, cluster,
	gpu string,
) hardware.Software {
	machines := []string{gpu, cluster}
	figures, from := files.inherited(f, machines), f.FittedTo
	for _, id := range machines {
		for _, m := range f.Machines {
			if slices.Contains(m.AppliesTo, id) && m.FittedTo != "" {
				from = m.FittedTo
			}
		}
	}
	s := hardware.Software{
		Stack: stack, From: from, Factor: 1, Attention: 1, FP8: 1,
		HostUpdate: hardware.HostAdam,
	}
	s.Missing = missing(f.ID, assign(softwareFigures(&s), figures))
	s.Defaults = files.defaults(f, stack, machines)
	_, s.Fitted = figures["factor"]
	s.Note = "stack " + string(s.Stack) + ": time behaviour fitted to " + from
	return s
}

func opsOf(figures map[string]float64) (o hardware.Ops, lacks []string) {
	lacks = assign(opsFigures(&o), figures)
	return o, lacks
}

func networkOf(figures map[string]float64) (n hardware.Network, lacks []string) {
	lacks = assign(networkFigures(&n), figures)
	if _, bridged := figures["bridge_efficiency"]; bridged {
		for _, key := range []string{"half_node_ring_efficiency", "half_node_all_to_all_efficiency"} {
			if _, ok := figures[key]; !ok {
				lacks = append(lacks, key)
			}
		}
	}
	return n, lacks
}

// assign writes figures where they go and gives the needed ones that are not
// there.
func assign(known []figureRange, figures map[string]float64) (lacks []string) {
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

const (
	micro = float64(units.Microsecond)
	pico  = micro * 1e-6
)
