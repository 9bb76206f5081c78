// Package presets holds the data that ships with the program: models, GPUs and
// clusters, one TOML file each, with their sources. README.md describes the format.
// A Library reads a file when it is needed, so starting costs nothing,
// and refuses a file that is not exactly right by name, line and key.
package presets

import (
	"cmp"
	"embed"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/engine/units"
)

//go:embed links.toml typical.toml distances.toml bands.csv recipes.csv
//go:embed models/*.toml gpus/*.toml clusters/*.toml calibrations/*.toml
var files embed.FS

// ModelPreset is a model with where it comes from.
type ModelPreset struct {
	model.Model

	PublishedParameters int64  `json:"params_total_published,omitempty"` // as printed, mostly rounded
	PublishedActive     int64  `json:"params_active_published,omitempty"`
	Note                string `json:"note,omitempty"`
	Source              string `json:"source"`
}

// GPUPreset is a GPU with where its figures come from. Figures that the engine
// does not read are as in the file, 0 where not published.
type GPUPreset struct {
	hardware.GPU

	FormFactor string `json:"form_factor,omitempty"`
	MemoryType string `json:"memory_type,omitempty"`
	// how MemoryUsable was derived; empty: reported
	MemoryDerived string `json:"memory_usable_derived,omitempty"`
	// to one other GPU of the node, per direction
	PairBandwidth units.BytesPerSecond `json:"pair_bandwidth,omitempty"`
	L2MiB         float64              `json:"l2_MiB,omitempty"`
	SMs           int                  `json:"sm_count,omitempty"`
	BoostMHz      float64              `json:"boost_clock_MHz,omitempty"`

	// TypicalCluster is the id of the cluster whose scale-out link a node of
	// this GPU gets in NodeOf.
	TypicalCluster string   `json:"typical_cluster,omitempty"`
	Unsourced      []string `json:"unsourced,omitempty"` // keys whose figures have no citable source
	Note           string   `json:"note,omitempty"`
	Source         string   `json:"source"`
}

// ClusterPreset is a machine with where its figures come from.
type ClusterPreset struct {
	hardware.Cluster

	NICsPerNode      int                  `json:"nics_per_node,omitempty"`
	NICGbps          float64              `json:"nic_Gbps,omitempty"`
	NodeBandwidth    units.BytesPerSecond `json:"node_bandwidth,omitempty"` // out of one node, per direction
	Topology         string               `json:"topology,omitempty"`
	Oversubscription string               `json:"oversubscription,omitempty"`

	// AllReduce are measured bus bandwidths, fewest nodes first.
	AllReduce        []BusBandwidth `json:"allreduce_busbw,omitempty"`
	AllReducePayload string         `json:"allreduce_busbw_payload,omitempty"`
	AllReduceSource  string         `json:"allreduce_busbw_source,omitempty"`

	LatencySource string   `json:"latency_source"`
	Unsourced     []string `json:"unsourced,omitempty"`
	Note          string   `json:"note,omitempty"`
	Source        string   `json:"source"`
}

// BusBandwidth is the bus bandwidth of an all-reduce over whole nodes, in the
// convention of nccl-tests.
type BusBandwidth struct {
	Nodes     int                  `json:"nodes"`
	Bandwidth units.BytesPerSecond `json:"bandwidth"`
}

// Library finds presets by id. It is safe for concurrent use.
type Library struct {
	fsys fs.FS
	base *Library // consulted for what this one lacks; may be nil

	budget *budget // of fsys; nil: none

	models       store[ModelPreset]
	gpus         store[GPUPreset]
	clusters     store[ClusterPreset]
	calibrations store[CalibrationPreset]
	tables       *tables
	refused      map[string]bool // calibrations whose file is sound and which say what cannot be
	links        func() (*linkTable, error)
	published    func() (*hardware.Published, error) // what published runs tell about errors

	// outside reads a model that is named by its file; nil: none is.
	outside func(name string) (ModelPreset, error)
	// folder reads a model that is named by a folder; false where it has no config.json that can be
	// read. It is nil where outside is.
	folder func(name string) (p ModelPreset, is bool, err error)
}

// Default returns the library of the files built into the program, the same one at
// every call.
func Default() *Library { return builtIn() }

//nolint:gochecknoglobals // built once, then only read; callers share what is parsed
var builtIn = sync.OnceValue(func() *Library { return newLibrary(files, nil) })

// Load reads a folder of the user's presets: models/, gpus/, clusters/ and
// calibrations/ with one TOML file each, any of them missing. Its presets replace those
// of base with the same id. Every file is read at once; the errors name the files that
// are refused and why, and the library has all others.
func Load(fsys fs.FS, base *Library) (*Library, []error) {
	l := newLibrary(fsys, base)
	l.budget = folderBudget()
	var errs []error
	if _, err := l.links(); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, l.ownBands()...)
	errs = append(errs, l.models.problems(l)...)
	errs = append(errs, l.gpus.problems(l)...)
	errs = append(errs, l.calibrations.problems(l)...)
	errs = append(errs, l.refuseCalibrations()...)
	return l, append(errs, l.clusters.problems(l)...)
}

// Folders of presets.
const (
	modelDir   = "models"
	gpuDir     = "gpus"
	clusterDir = "clusters"
)

func newLibrary(fsys fs.FS, base *Library) *Library {
	l := &Library{
		fsys: fsys, base: base, tables: new(tables),
		models:   store[ModelPreset]{kind: "model", dir: modelDir, parse: parseModel},
		gpus:     store[GPUPreset]{kind: "GPU", dir: gpuDir, parse: parseGPU},
		clusters: store[ClusterPreset]{kind: "cluster", dir: clusterDir, parse: parseCluster},
		calibrations: store[CalibrationPreset]{
			kind: "calibration", dir: "calibrations",
			parse: parseCalibration,
		},
	}
	l.published = sync.OnceValues(l.readPublished)
	l.links = sync.OnceValues(func() (*linkTable, error) { return readLinks(l) })
	return l
}

// Model finds a model by its id, which is not case-sensitive.
func (l *Library) Model(id string) (model.Model, error) {
	p, err := l.ModelPreset(id)
	return p.Model, err
}

// ModelPreset finds a model with its sources.
func (l *Library) ModelPreset(id string) (ModelPreset, error) {
	if namesFile(id) && l.outside != nil {
		p, err := l.outside(id)
		return l.orOfHub(id, p, err)
	}
	p, err := find(l, id, func(l *Library) *store[ModelPreset] { return &l.models })
	if none, ok := errors.AsType[*UnknownError](err); ok && l.folder != nil && id != "" {
		if _, is, _ := l.folder(id); is { // which a word alone does not name: it would hide ids that come
			none.Nearest = []string{id + "/" + configFile}
			return p, err
		}
		for _, file := range []string{id + ".json", id + extension, "./" + id} {
			if _, wrong := l.outside(file); wrong == nil {
				none.Nearest = []string{file}
				break
			}
		}
	}
	return l.orOfHub(id, p, err)
}

// hubOwners returns organisations on Hugging Face that publish models, or copies of models, which presets
// have. A name behind another word is a path: what it was meant to be is proposed, not taken.
func hubOwners() []string {
	return []string{
		"ai21labs", "allenai", "baidu", "bigscience", "databricks", "deepseek-ai", "facebook", "google",
		"huggingfacetb", "huggyllama", "ibm-granite", "inclusionai", "lgai-exaone", "liquidai", "meta-llama",
		"microsoft", "minimaxai", "mistralai", "mlx-community", "moonshotai", "nousresearch", "nvidia",
		"openai", "openai-community", "qwen", "snowflake", "stepfun-ai", "tencent", "thudm", "tiiuae",
		"unsloth", "xai-org", "xiaomimimo", "zai-org", "zyphra",
	}
}

// orOfHub finds a model that is unknown by the name in its id on Hugging Face, OWNER/NAME.
func (l *Library) orOfHub(id string, p ModelPreset, err error) (ModelPreset, error) {
	none, unknown := errors.AsType[*UnknownError](err)
	owner, name, two := strings.Cut(id, "/")
	if !unknown || !two || strings.Trim(owner, ".~") == "" || !namesFile(id) || namesFile(name) {
		return p, err
	}
	named, wrong := find(l, name, func(l *Library) *store[ModelPreset] { return &l.models })
	if wrong == nil && slices.Contains(hubOwners(), strings.ToLower(owner)) {
		return named, nil
	}
	if wrong == nil {
		none.Nearest = []string{named.ID}
	} else if alike, ok := errors.AsType[*UnknownError](wrong); ok {
		none.Nearest = alike.Nearest
	}
	return p, err
}

// GPU finds a GPU by its id, which is not case-sensitive.
func (l *Library) GPU(id string) (hardware.GPU, error) {
	p, err := l.GPUPreset(id)
	return p.GPU, err
}

// GPUPreset finds a GPU with its sources.
func (l *Library) GPUPreset(id string) (GPUPreset, error) {
	p, err := find(l, id, func(l *Library) *store[GPUPreset] { return &l.gpus })
	if none, ok := errors.AsType[*UnknownError](err); ok && len(none.Nearest) == 1 {
		if near := none.Nearest[0]; none.begins(near) { // h200 is h200-sxm
			return l.GPUPreset(near)
		}
	}
	return p, err
}

// Cluster finds a cluster by its id, which is not case-sensitive.
func (l *Library) Cluster(id string) (hardware.Cluster, error) {
	p, err := l.ClusterPreset(id)
	return p.Cluster, err
}

// ClusterPreset finds a cluster with its sources.
func (l *Library) ClusterPreset(id string) (ClusterPreset, error) {
	p, err := find(l, id, func(l *Library) *store[ClusterPreset] { return &l.clusters })
	if err == nil {
		p.Cluster = l.calibrated(p.Cluster)
	}
	if none, ok := errors.AsType[*UnknownError](err); ok && id != "" {
		if g, err := l.GPU(id); err == nil { // its machines
			if of := l.clustersOf(&g); len(of) > 0 {
				none.Nearest = of
			}
		}
	}
	return p, err
}

// clustersOf lists the ids of some clusters of a GPU.
func (l *Library) clustersOf(g *hardware.GPU) (out []string) {
	for _, c := range list(l, func(l *Library) *store[ClusterPreset] { return &l.clusters },
		func(p *ClusterPreset) string { return p.ID }) {
		if c.GPU.ID == g.ID && len(out) < nearestIDs {
			out = append(out, c.ID)
		}
	}
	return out
}

// Models lists every model, by family and then by size.
func (l *Library) Models() []ModelPreset {
	all := list(l, func(l *Library) *store[ModelPreset] { return &l.models },
		func(p *ModelPreset) string { return p.ID })
	slices.SortStableFunc(all, func(a, b ModelPreset) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Family), strings.ToLower(b.Family)),
			cmp.Compare(a.Total(), b.Total()))
	})
	return all
}

// GPUs lists every GPU, by vendor and then by id.
func (l *Library) GPUs() []GPUPreset {
	all := list(l, func(l *Library) *store[GPUPreset] { return &l.gpus },
		func(p *GPUPreset) string { return p.ID })
	slices.SortStableFunc(all, func(a, b GPUPreset) int { return strings.Compare(a.Vendor, b.Vendor) })
	return all
}

// Clusters lists every cluster by id.
func (l *Library) Clusters() []ClusterPreset {
	all := list(l, func(l *Library) *store[ClusterPreset] { return &l.clusters },
		func(p *ClusterPreset) string { return p.ID })
	for i := range all {
		all[i].Cluster = l.calibrated(all[i].Cluster)
	}
	return all
}

// find looks in the library and then in those below it. A file that is refused is left out: one below it with
// the same id is found.
func find[T any](l *Library, id string, in func(*Library) *store[T]) (T, error) {
	var none T
	var refused error
	for at := l; at != nil; at = at.base {
		preset, err := in(at).get(at, id)
		if err == nil {
			return preset, nil
		}
		if refused == nil && !errors.Is(err, fs.ErrNotExist) {
			refused = err
		}
	}
	if refused != nil {
		return none, refused
	}
	var known []string
	for at := l; at != nil; at = at.base {
		known = append(known, in(at).ids(at)...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	if meant, ok := knob.Spelled(cmp.Or(otherIDs()[strings.ToLower(id)], id), known); ok && meant != id {
		return find(l, meant, in)
	}
	return none, unknown(in(l).kind, id, known)
}

// list returns the presets of the library and of those below it, by id; a preset hides
// those below it with the same id.
func list[T any](l *Library, in func(*Library) *store[T], id func(*T) string) []T {
	var all []T
	seen := map[string]bool{}
	for at := l; at != nil; at = at.base {
		for _, preset := range in(at).list(at) {
			if !seen[id(&preset)] {
				seen[id(&preset)] = true
				all = append(all, preset)
			}
		}
	}
	slices.SortFunc(all, func(a, b T) int { return strings.Compare(id(&a), id(&b)) })
	return all
}
