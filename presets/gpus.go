package presets

import (
	"meshscope/engine/escape"
	"meshscope/engine/hardware"
	"meshscope/engine/units"
)

// Limits of GPU and cluster figures, in the units of the keys. They catch a
// figure in the wrong unit (MB for GB, bits for bytes), not an unusual chip.
const (
	maxMemoryGiB   = 10_000
	maxMemoryTBps  = 1_000
	maxTFLOPS      = 1_000_000
	maxLinkGBps    = 100_000
	maxNodeGPUs    = 1_024
	maxDomainGPUs  = 1 << 20
	maxClusterGPUs = 1 << 24
	maxLatencyUs   = 1_000_000
	tera           = 1e12
)

// gpuFile is gpus/ID.toml. The unit of a figure is the end of its key.
type gpuFile struct {
	ID           string `toml:"id"`
	Name         string `toml:"name"`
	Vendor       string `toml:"vendor"`
	Architecture string `toml:"architecture"`
	FormFactor   string `toml:"form_factor"`

	NominalGiB    *float64 `toml:"memory_nominal_GiB"` // one of the two
	NominalGB     *float64 `toml:"memory_nominal_GB"`
	UsableGiB     *float64 `toml:"memory_usable_GiB"`
	UsableDerived string   `toml:"memory_usable_derived"`
	MemoryType    string   `toml:"memory_type"`
	MemoryTBps    *float64 `toml:"hbm_bandwidth_TBps"`

	BF16      *float64 `toml:"bf16_dense_TFLOPS"`
	FP16      *float64 `toml:"fp16_dense_TFLOPS"`
	FP8       *float64 `toml:"fp8_dense_TFLOPS"`
	FP4       *float64 `toml:"fp4_dense_TFLOPS"`
	TF32      *float64 `toml:"tf32_dense_TFLOPS"`
	FP32      *float64 `toml:"fp32_TFLOPS"`
	MatmulB16 *float64 `toml:"bf16_matmul_measured_TFLOPS"`
	MatmulFP8 *float64 `toml:"fp8_matmul_measured_TFLOPS"`

	L2MiB    *float64 `toml:"l2_MiB"`
	SMs      *int64   `toml:"sm_count"`
	BoostMHz *float64 `toml:"boost_clock_MHz"`
	TDPWatt  *float64 `toml:"tdp_W"`

	PriceUSD    *float64 `toml:"price_usd_per_gpu_hour"`
	PriceSource string   `toml:"price_source"`

	NodeGPUs       *int64   `toml:"typical_gpus_per_node"`
	ScaleUpGPUs    *int64   `toml:"max_scale_up_domain"`
	LinkName       string   `toml:"intra_node_link"`
	LinkGBps       *float64 `toml:"intra_node_GBps_per_dir_per_gpu"`
	PairGBps       *float64 `toml:"intra_node_p2p_GBps_per_dir"`
	PCIeGBps       *float64 `toml:"pcie_GBps_per_dir"`
	HostLinkGBps   *float64 `toml:"host_link_GBps_per_dir"` // NVLink-C2C
	TypicalCluster string   `toml:"typical_cluster"`

	Unsourced []string `toml:"unsourced"`
	Note      string   `toml:"note"`
	Source    string   `toml:"source"`
}

func parseGPU(_ *Library, d *document) (GPUPreset, error) {
	var f gpuFile
	if err := d.decode(&f); err != nil {
		return GPUPreset{}, err
	}
	d.identity(f.ID, f.Name, f.Source)
	p := GPUPreset{
		GPU: hardware.GPU{
			ID: f.ID, Name: f.Name, Vendor: d.required("vendor", f.Vendor),
			Architecture: d.line("architecture", f.Architecture),
			MemoryUsable: units.GiB * units.Bytes(d.figure("memory_usable_GiB", f.UsableGiB, 1,
				maxMemoryGiB)),
			MemoryBandwidth: units.BytesPerSecond(tera * d.figure("hbm_bandwidth_TBps", f.MemoryTBps, 0.01,
				maxMemoryTBps)),
			PeakBF16:      d.rate("bf16_dense_TFLOPS", f.BF16),
			PeakFP16:      d.rate("fp16_dense_TFLOPS", f.FP16),
			PeakFP8:       d.rate("fp8_dense_TFLOPS", f.FP8),
			PeakFP4:       d.rate("fp4_dense_TFLOPS", f.FP4),
			PeakTF32:      d.rate("tf32_dense_TFLOPS", f.TF32),
			PeakFP32:      d.rate("fp32_TFLOPS", f.FP32),
			MatmulBF16:    d.rate("bf16_matmul_measured_TFLOPS", f.MatmulB16),
			NodeGPUs:      d.whole("typical_gpus_per_node", f.NodeGPUs, maxNodeGPUs),
			ScaleUpGPUs:   d.whole("max_scale_up_domain", f.ScaleUpGPUs, maxDomainGPUs),
			LinkName:      d.required("intra_node_link", f.LinkName),
			MatmulFP8:     d.rate("fp8_matmul_measured_TFLOPS", f.MatmulFP8),
			HostBandwidth: d.bandwidth("pcie_GBps_per_dir", f.PCIeGBps),
			HostLink:      d.bandwidth("host_link_GBps_per_dir", f.HostLinkGBps),
			TDPWatt:       d.optional("tdp_W", f.TDPWatt, 1, 100_000),
			PriceUSD:      d.optional("price_usd_per_gpu_hour", f.PriceUSD, 0.001, 1_000_000),
			PriceSource:   d.line("price_source", f.PriceSource),
			LinkBandwidth: units.GBps * units.BytesPerSecond(d.figure("intra_node_GBps_per_dir_per_gpu",
				f.LinkGBps, 0.01, maxLinkGBps)),
		},
		FormFactor:     d.line("form_factor", f.FormFactor),
		MemoryType:     d.line("memory_type", f.MemoryType),
		MemoryDerived:  d.line("memory_usable_derived", f.UsableDerived),
		PairBandwidth:  d.bandwidth("intra_node_p2p_GBps_per_dir", f.PairGBps),
		L2MiB:          d.optional("l2_MiB", f.L2MiB, 0.1, 100_000),
		SMs:            d.optionalWhole("sm_count", f.SMs, 100_000),
		BoostMHz:       d.optional("boost_clock_MHz", f.BoostMHz, 100, 100_000),
		TypicalCluster: d.line("typical_cluster", f.TypicalCluster),
		Unsourced:      f.Unsourced, Note: d.line("note", f.Note), Source: f.Source,
	}
	p.MemoryNominal = d.nominalMemory(&f, p.MemoryUsable)
	if f.BF16 == nil && f.FP16 == nil {
		d.refuse("bf16_dense_TFLOPS", "missing", "the dense rate of bf16 or of fp16_dense_TFLOPS")
	}
	if f.PriceUSD != nil && f.PriceSource == "" {
		d.refuse("price_source", "missing", "whose price, and of when")
	}
	d.unsourced(f.Unsourced)
	return p, d.err()
}

// nominalMemory returns what the GPU is sold with. Vendors write GB for both units:
// what an "80 GB" H100 has are 80 GiB.
func (d *document) nominalMemory(f *gpuFile, usable units.Bytes) units.Bytes {
	var nominal units.Bytes
	key := "memory_nominal_GiB"
	switch {
	case f.NominalGiB != nil && f.NominalGB != nil:
		d.refuse(key, "given together with memory_nominal_GB", "one of the two")
	case f.NominalGB != nil:
		key = "memory_nominal_GB"
		nominal = units.GB * units.Bytes(d.figure(key, f.NominalGB, 1, maxMemoryGiB))
	default:
		nominal = units.GiB * units.Bytes(d.figure(key, f.NominalGiB, 1, maxMemoryGiB))
	}
	const rounding = 1.001 // 34.36 GB are 32 GiB
	if nominal > 0 && usable > nominal*rounding {
		d.refuse("memory_usable_GiB", "more than the nominal memory", "at most "+key)
	}
	return nominal
}

func (d *document) rate(key string, value *float64) units.FLOPsPerSecond {
	return units.TFLOPS * units.FLOPsPerSecond(d.optional(key, value, 0.1, maxTFLOPS))
}

func (d *document) bandwidth(key string, value *float64) units.BytesPerSecond {
	return units.GBps * units.BytesPerSecond(d.optional(key, value, 0.01, maxLinkGBps))
}

// unsourced checks a list of keys whose figures have no citable source: each must be
// in the file.
func (d *document) unsourced(keys []string) {
	for _, key := range keys {
		if line, _ := d.find(key); line == 0 {
			d.refuse("unsourced", "naming "+escape.Line(key), "keys of this file")
			return
		}
	}
}
