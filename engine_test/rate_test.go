package engine_test

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/units"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
)

// TestRate: a capital B is bytes, a small one bits, whatever the rest looks like; bytes per second typed by
// hand.
func TestRate(t *testing.T) {
	for text, want := range map[string]float64{
		"100Gb/s": 12.5e9, "100 Gb/s": 12.5e9, "100Gbit/s": 12.5e9, "100 Gbits/s": 12.5e9, "100Gbps": 12.5e9,
		"100gbps": 12.5e9,
		"100GB/s": 100e9, "100 GByte/s": 100e9, "100GBps": 100e9, "100 Gbytes/s": 100e9,
		"12.5e9 bytes/s": 12.5e9, "12.5e9B/s": 12.5e9,
		"0.1Tb/s": 12.5e9, "1.6 Tbit/s": 200e9, "100000Mb/s": 12.5e9, "100_000 MB/s": 100e9,
		"12,5GB/s": 12.5e9, "8e9 bit/s": 1e9,
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
		"100": "100Gb/s, which is bits, or 100GB/s, which is bytes", "12.5e9": "nearest 12.5e9B/s",
		"100 GbE": "such as 100Gb/s",
		"-1Gb/s":  "such as 100Gb/s", "0Gb/s": "such as 100Gb/s", "1kb/s": "nearest 8Mb/s", "": "such as",
		"1e30GB/s": "nearest 10000TB/s", "1e30": "nearest 10000TB/s",
		"1.500Gb/sb": "such as", "Gb/s": "such as", "10xb/s": "such as", "nanGb/s": "such as",
	} {
		_, err := knob.ParseRate("node-bandwidth", text)
		if _, ok := errors.AsType[*knob.ValueError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestLinkRate: a rate that the name of the link between nodes does not carry is one warning with both
// readings, any that it does is none.
func TestLinkRate(t *testing.T) {
	for _, c := range []struct {
		link string
		gpus int
		rate float64 // GB/s per GPU
		want string
	}{
		{"100 GbE", 4, 12.5, "12.5 GB/s per GPU is 50 GB/s per node of 4 GPUs, more than 100 GbE carries " +
			"(100 Gb/s per node); as a node's rate it is 3.125 GB/s per GPU (node-bandwidth 12.5GB/s)"},
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
		{"2x NDR", 4, 100, ""},
		{"2x NDR", 8, 12.5, ""},
		{"2 x NDR InfiniBand", 4, 200, "more than 2 x NDR InfiniBand carries (3200 Gb/s per node)"},
		{"25 GbE", 8, 1e6, "1000000 GB/s per GPU is 8000000 GB/s per node"},
		{
			"IB NDR", 8, 400,
			"more than IB NDR carries (3200 Gb/s per node); as a node's rate it is 50 GB/s per GPU",
		},
		{"IB NDR", 8, 0.5, "less than half of what IB NDR carries (400 Gb/s per node)"},
		{"InfiniBand XDR", 8, 100, ""},
		{"InfiniBand XDR", 8, 200, "more than InfiniBand XDR"},
		{"RoCE 100G x3 per card", 8, 37.5, ""},
		{"25 GB/s per node", 8, 3.125, ""},
		{"100 Gb/s per node", 8, 12.5, "more than 100 Gb/s per node"},
		{"25 Gb/s per GPU", 8, 3.125, ""},
		{"fibre of our own", 8, 1000, ""},
		{"6400 Gb/s per node", 8, 100, ""},
		{"800 Gb/s per GPU", 4, 100, ""},
		{"10000 Gb/s per node", 8, 156.25, "156.2 GB/s per GPU is 1250 GB/s per node of 8 GPUs, more than " +
			"ports of 800 Gb/s for each GPU carry, the fastest of 'meshscope presets clusters' (6400 " +
			"Gb/s per node"},
		{"3200 Gb/s per GPU", 8, 400, "more than ports of 800 Gb/s for each GPU carry"},
	} {
		s := presets.DefaultSetup()
		s.Cluster.NodeGPUs, s.Cluster.Inter.Name, s.Cluster.Inter.Bandwidth = c.gpus, c.link,
			units.BytesPerSecond(c.rate*1e9)
		var got []string
		for _, p := range engine.Check(s) {
			if p.Code == "link-rate" {
				got = append(got, p.Message)
			}
		}
		switch {
		case c.want == "" && len(got) > 0, c.want != "" &&
			(len(got) != 1 || !strings.Contains(got[0], c.want)):
			t.Errorf("%s at %g GB/s, %d a node: %q, want %q", c.link, c.rate, c.gpus, got, c.want)
		}
	}
	for _, c := range presets.Default().Clusters() {
		if why := c.Implausible(); why != "" {
			t.Errorf("%s: %s", c.ID, why)
		}
	}
}

// TestMachineRows: the rows of a machine of one's own give the setup that flags and setup files give, keep
// the rate of a node when its GPUs change, and lead back to the preset.
func TestMachineRows(t *testing.T) {
	lib := presets.Default()
	turn := func(s engine.Setup, turns ...string) engine.Setup {
		for i := 0; i < len(turns); i += 2 {
			var err error
			if s, err = knob.Turn(s, knob.ID(turns[i]), turns[i+1],
				knob.Locks{GPUs: true, Batch: true}); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	for document, turns := range map[string][]string{
		`"gpus_per_node":4,"node_bandwidth":"100Gb/s"`: {"gpus-per-node", "4", "node-bandwidth", "12.5GB/s"},
		`"node_bandwidth":"100Gb/s","gpus_per_node":4`: {
			"node-bandwidth", "100 Gbit/s", "gpus-per-node",
			"4",
		},
		`"gpu_bandwidth":"25Gb/s"`:  {"node-bandwidth", "100Gb/s", "gpu-bandwidth", "25Gb/s"},
		`"link_bandwidth":"64GB/s"`: {"link-bandwidth", "512Gb/s"},
		`"gpus_per_node":4`:         {"gpus-per-node", "16", "gpus-per-node", "4"},
	} {
		text := `{"model":"llama3-8b","cluster":"dgx-h100","gpus":64,"gbs":512,"tp":2,"pp":2`
		read := func(text string) engine.Setup {
			d, err := setupdoc.Parse("", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			s, err := d.Setup(lib)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		base := read(text + "}")
		want, got := read(text+","+document+"}"), turn(base, turns...)
		if got != want {
			t.Errorf("%v: %d GPUs a node, domain %d, %+v; a file gives %d, %d, %+v", turns,
				got.Cluster.NodeGPUs, got.Cluster.ScaleUpGPUs, got.Cluster.Inter,
				want.Cluster.NodeGPUs, want.Cluster.ScaleUpGPUs, want.Cluster.Inter)
		}
		if back := turn(got, "gpus-per-node", "8", "gpu-bandwidth", "400Gb/s", "link-bandwidth",
			"450GB/s"); back != base {
			t.Errorf("%v: back at the preset %+v", turns, back.Cluster)
		}
	}
}

// TestMachineRowsOfNoEffect: the network of a machine whose GPUs are all in one node changes nothing, and is
// said not to.
func TestMachineRowsOfNoEffect(t *testing.T) {
	s := presets.DefaultSetup()
	for gpus, off := range map[int]bool{8: true, 64: false} {
		s, err := knob.Turn(s, knob.GPUs, strconv.Itoa(gpus), knob.Locks{GPUs: true, Batch: true})
		for _, turn := range [][2]string{{"pp", "1"}, {"tp", "8"}, {"node-bandwidth", "100Gb/s"}} {
			if err == nil {
				s, err = knob.Turn(s, knob.ID(turn[0]), turn[1], knob.Locks{GPUs: true, Batch: true})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		k, _ := knob.Find("node-bandwidth")
		if why, _ := k.Off(&s); (why != "") != off {
			t.Errorf("%d GPUs: off for %q", gpus, why)
		}
		r := engine.Evaluate(s)
		said := ""
		for _, n := range engine.NoEffects(&s, &r) {
			if n.Field == "node-bandwidth" || n.Field == "gpu-bandwidth" {
				said += n.Message
			}
		}
		if strings.Contains(said, "node-bandwidth 100Gb/s has no effect") != off ||
			strings.Contains(said, "gpu-bandwidth") {
			t.Errorf("%d GPUs: %q", gpus, said)
		}
	}
}

// TestNoEffectOfMachineIsTrue: what is said to be as with another value of the machine is so when that value
// is typed, also where a rate of the node is shared by its GPUs.
func TestNoEffectOfMachineIsTrue(t *testing.T) {
	said, l := 0, knob.Locks{GPUs: true, Batch: true}
	for _, pp := range []string{"4", "8"} {
		for _, rate := range []string{"node-bandwidth", "gpu-bandwidth", "link-bandwidth"} {
			for _, node := range []string{"2", "4", "16"} {
				s := presets.DefaultSetup()
				for _, turn := range [][2]string{
					{"gpus", "16"}, {"tp", "2"}, {"pp", pp}, {"gpus-per-node", node}, {rate, "400Gb/s"},
				} {
					var err error
					if s, err = knob.Turn(s, knob.ID(turn[0]), turn[1], l); err != nil {
						t.Fatal(err)
					}
				}
				r := engine.Evaluate(s)
				for _, n := range engine.NoEffects(&s, &r) {
					if _, ok := knob.FindMachineWord(string(n.Field)); !ok {
						continue
					}
					said++
					turned, err := knob.Turn(s, n.Field, n.SameAs, l)
					if err != nil {
						t.Fatal(err)
					}
					if is := engine.Evaluate(turned); math.Abs(float64(is.Time.Step/r.Time.Step)-1) > 1e-9 {
						t.Errorf("pp %s, %s, %s of a node: %q, but the step goes from %v to %v", pp, rate,
							node, n.Message, r.Time.Step, is.Time.Step)
					}
				}
			}
		}
	}
	if said == 0 {
		t.Error("nothing is said to have no effect: too few setups to tell")
	}
}

// TestRateText: a rate is written without an exponent and reads back as itself.
func TestRateText(t *testing.T) {
	for rate, want := range map[float64]string{
		12.5e9: "100Gb/s", 1e6: "0.008Gb/s", 1e16: "80000000Gb/s",
		1.25e14: "1000000Gb/s", 3.125e9: "25Gb/s",
	} {
		text := knob.RateText(rate)
		if got, err := knob.ParseRate("", text); text != want || err != nil ||
			math.Abs(got-rate) > 1e-6*rate {
			t.Errorf("%g is written %s, read as %g, %v", rate, text, got, err)
		}
	}
}
