package engine_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/units"
	"meshscope/presets"
)

// TestRate: a capital B is bytes, a small one bits, whatever the rest looks like; bytes per second typed by hand.
func TestRate(t *testing.T) {
	for text, want := range map[string]float64{
		"100Gb/s": 12.5e9, "100 Gb/s": 12.5e9, "100Gbit/s": 12.5e9, "100 Gbits/s": 12.5e9, "100Gbps": 12.5e9, "100gbps": 12.5e9,
		"100GB/s": 100e9, "100 GByte/s": 100e9, "100GBps": 100e9, "100 Gbytes/s": 100e9, "12.5e9 bytes/s": 12.5e9, "12.5e9B/s": 12.5e9,
		"0.1Tb/s": 12.5e9, "1.6 Tbit/s": 200e9, "100000Mb/s": 12.5e9, "100_000 MB/s": 100e9, "12,5GB/s": 12.5e9, "8e9 bit/s": 1e9,
		"100 gigabit/s": 12.5e9, "100 gigabits per second": 0,
	} {
		got, err := knob.ParseRate("node-bandwidth", text)
		if want == 0 {
			if err == nil {
				t.Errorf("%s: %g, want an error", text, got)
			}
			continue
		}
		if err != nil || math.Abs(got-want) > 1e-6*want {
			t.Errorf("%s: %g, %v; want %g", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"100": "100Gb/s, which is bits, or 100GB/s, which is bytes", "12.5e9": "nearest 12.5e9B/s", "100 GbE": "such as 100Gb/s",
		"-1Gb/s": "such as 100Gb/s", "0Gb/s": "such as 100Gb/s", "1kb/s": "nearest 8Mb/s", "": "such as", "1e30GB/s": "such as",
		"1.500Gb/sb": "such as", "Gb/s": "such as", "10xb/s": "such as", "nanGb/s": "such as",
	} {
		_, err := knob.ParseRate("node-bandwidth", text)
		if _, ok := errors.AsType[*knob.ValueError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestLinkRate: a rate that the name of the link between nodes does not carry is one warning with both readings, any
// that it does is none.
func TestLinkRate(t *testing.T) {
	for _, c := range []struct {
		link string
		gpus int
		rate float64 // GB/s per GPU
		want string
	}{
		{"100 GbE", 4, 12.5, "12.5 GB/s per GPU is 50 GB/s per node of 4 GPUs, more than 100 GbE carries (100 Gb/s per node); as a node's rate it is 3.125 GB/s per GPU (node-bandwidth 12.5GB/s)"},
		{"100GbE", 4, 3.125, ""},
		{"100GbE", 4, 0.25, "as each GPU's rate it is 1 GB/s per GPU (gpu-bandwidth 1GB/s)"},
		{"4x100GbE", 4, 12.5, ""},
		{"4 x 100GbE", 4, 50, "more than 4 x 100GbE carries (400 Gb/s per node)"},
		{"10GbE", 8, 1.25, "more than 10GbE"},
		{"25 GbE", 8, 3.125, "more than 25 GbE"},
		{"40GbE", 8, 0.625, ""},
		{"Ethernet 100G", 8, 12.5, "more than Ethernet 100G"},
		{"Ethernet 100", 8, 12.5, "more than Ethernet 100"},
		{"100 Gigabit Ethernet", 8, 1.5625, ""},
		{"200 GbE", 8, 25, ""},
		{"200 GbE", 8, 200, "more than 200 GbE"},
		{"400GbE", 8, 50, ""},
		{"400GbE", 8, 400, "(3200 Gb/s per node)"},
		{"800 GbE", 8, 100, ""},
		{"IB HDR", 8, 25, ""},
		{"IB HDR", 8, 200, "more than IB HDR"},
		{"IB HDR100", 4, 25, "more than IB HDR100"},
		{"IB NDR", 8, 50, ""},
		{"IB NDR", 8, 400, "more than IB NDR carries (3200 Gb/s per node); as a node's rate it is 50 GB/s per GPU"},
		{"IB NDR", 8, 0.5, "less than half of what IB NDR carries (400 Gb/s per node)"},
		{"InfiniBand XDR", 8, 100, ""},
		{"InfiniBand XDR", 8, 200, "more than InfiniBand XDR"},
		{"RoCE 100G x3 per card", 8, 37.5, ""},
		{"25 GB/s per node", 8, 3.125, ""},
		{"100 Gb/s per node", 8, 12.5, "more than 100 Gb/s per node"},
		{"25 Gb/s per GPU", 8, 3.125, ""},
		{"fibre of our own", 8, 1000, ""},
	} {
		s := presets.DefaultSetup()
		s.Cluster.NodeGPUs, s.Cluster.Inter.Name, s.Cluster.Inter.Bandwidth = c.gpus, c.link, units.BytesPerSecond(c.rate*1e9)
		var got []string
		for _, p := range engine.Check(s) {
			if p.Code == "link-rate" {
				got = append(got, p.Message)
			}
		}
		switch {
		case c.want == "" && len(got) > 0, c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
			t.Errorf("%s at %g GB/s, %d a node: %q, want %q", c.link, c.rate, c.gpus, got, c.want)
		}
	}
	for _, c := range presets.Default().Clusters() {
		if why := c.Implausible(); why != "" {
			t.Errorf("%s: %s", c.ID, why)
		}
	}
}
