package knob

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/units"
)

// MachineWord is a flag, a key of setup documents and a row of the explorer for a figure of a cluster of
// one's own, in words that people have for it; --set takes the same figure as the program keeps it.
type MachineWord struct {
	Name  ID
	Label string // of its row
	Field string // of the cluster, as a path
	Kind  string // of its value: rate or number
	Node  bool   // the rate of a node, which its GPUs share
	Help  string // what it is, a colon, what it costs
	steps []int  // of its row; rates in Gb/s
}

// MachineWords lists them.
func MachineWords() []MachineWord {
	return []MachineWord{
		{
			Name: "gpus-per-node", Label: "GPUs per node", Field: "gpus_per_node", Kind: "number",
			steps: []int{1, 2, 4, 8, 16},
			Help: "how many GPUs a node of your own cluster has: TP and EP are fast within one, and a " +
				"rate of the node is shared by them",
		},
		{
			Name: "node-bandwidth", Label: "node network", Field: "inter.bandwidth", Kind: "rate", Node: true,
			steps: []int{10, 25, 50, 100, 200, 400, 800, 1600, 3200, 6400},
			Help: "what the network of a node carries each way, shared by its GPUs, such as 100Gb/s or " +
				"12.5GB/s: less of it exposes traffic of DP and PP",
		},
		{
			Name: "gpu-bandwidth", Label: "GPU network", Field: "inter.bandwidth", Kind: "rate",
			steps: []int{10, 25, 50, 100, 200, 400, 800},
			Help: "what the network carries each way for one GPU, such as 400Gb/s or 50GB/s: less of it " +
				"exposes traffic of DP and PP",
		},
		{
			Name: "link-bandwidth", Label: "link in node", Field: "intra.bandwidth", Kind: "rate",
			steps: []int{128, 256, 512, 1600, 2400, 3600, 7200},
			Help: "what NVLink or PCIe carries each way for one GPU of a node, such as 450GB/s: less of " +
				"it exposes traffic of TP and EP",
		},
	}
}

// FindMachineWord returns the word of a name, with dashes or underscores.
func FindMachineWord(name string) (MachineWord, bool) {
	all := MachineWords()
	i := slices.IndexFunc(all,
		func(w MachineWord) bool { return string(w.Name) == strings.ReplaceAll(name, "_", "-") })
	if i < 0 {
		return MachineWord{}, false
	}
	return all[i], true
}

// machineRows are the knobs of a cluster of one's own. They stand outside the registry: a search, a draft and
// a comparison know the cluster as a whole.
func machineRows() (rows []Knob) {
	for _, w := range MachineWords() {
		k := Knob{
			ID: w.Name, Label: w.Label, Help: strings.ToUpper(w.Help[:1]) + w.Help[1:] + ".", Kind: Rate,
			place: -5, // changed rarely: a list that opened them next to the GPUs would jump
			index: len(registry()) + len(rows),
			copy: func(to, from *Setup) {
				to.Cluster.NodeGPUs, to.Cluster.ScaleUpGPUs = from.Cluster.NodeGPUs, from.Cluster.ScaleUpGPUs
				to.Cluster.Intra, to.Cluster.Inter = from.Cluster.Intra, from.Cluster.Inter
			},
			unset: func(s *Setup) {
				switch of := presetOf(s); {
				case of == nil:
				case w.Kind == "number":
					was := s.Cluster.Node()
					s.Cluster.NodeGPUs, s.Cluster.ScaleUpGPUs = of.NodeGPUs, of.ScaleUpGPUs
					shareNode(&s.Cluster, was)
				default:
					*w.Link(&s.Cluster) = *w.Link(of)
				}
			},
		}
		if w.Kind == "number" {
			k.Kind, k.Min, k.Max = Number, 1, hardware.MaxDomain
			k.number = func(s *Setup) *int { return &s.Cluster.NodeGPUs }
			k.follow = func(s, old *Setup, _ Locks) { followNode(&s.Cluster, &old.Cluster) }
			k.ladder = func(*Setup, Locks) []int { return w.steps }
			rows = append(rows, k)
			continue
		}
		for _, step := range w.steps {
			k.Choices = append(k.Choices, strconv.Itoa(step)+"Gb/s")
		}
		shared := func(c *hardware.Cluster) float64 {
			if w.Node {
				return float64(c.Node())
			}
			return 1
		}
		k.text = func(s *Setup) string {
			return RateText(float64(w.Link(&s.Cluster).Bandwidth) * shared(&s.Cluster))
		}
		k.read = func(s *Setup, text string) error {
			rate, err := ParseRate(string(w.Name), text)
			if err == nil {
				link := w.Link(&s.Cluster)
				link.Bandwidth = units.BytesPerSecond(rate / shared(&s.Cluster))
				w.NameLink(&s.Cluster)
				if of := presetOf(s); of != nil && w.Link(of).Bandwidth == link.Bandwidth {
					link.Name = w.Link(of).Name
				}
			}
			return err
		}
		k.Off = func(s *Setup) (why, word string) {
			if w.inner() {
				return offWhere(s.GPUs == 1 || s.Cluster.Domain() == 1, "no two GPUs share it", "none")
			}
			if s.Cluster.Inter.Bandwidth <= 0 {
				return "the machine has no network", "none"
			}
			return offWhere(s.GPUs <= s.Cluster.Domain(), "all GPUs are in one node", "one node")
		}
		rows = append(rows, k)
	}
	return rows
}

// presetOf returns the machine that a cluster began as; nil where it is not known.
func presetOf(s *Setup) *hardware.Cluster {
	if cal := s.Cluster.Calibration; cal != nil {
		return cal.Of
	}
	return nil
}

// followNode keeps a scale-up domain that was the node the node, and the rate of a node that its GPUs share.
func followNode(c, was *hardware.Cluster) {
	if was.ScaleUpGPUs == was.NodeGPUs {
		c.ScaleUpGPUs = c.NodeGPUs
	}
	shareNode(c, was.Node())
}

// shareNode gives each GPU its share of a rate that was given for the node, which had another number of them.
func shareNode(c *hardware.Cluster, was int) {
	if strings.HasSuffix(c.Inter.Name, perNode) {
		c.Inter.Bandwidth *= units.BytesPerSecond(was) / units.BytesPerSecond(c.Node())
	}
}

const perNode = " per node"

// otherRate returns the row that the link between nodes was not given by.
func otherRate(s *Setup) ID {
	if strings.HasSuffix(s.Cluster.Inter.Name, perNode) {
		return "gpu-bandwidth"
	}
	return "node-bandwidth"
}

// inner reports whether the word is of the link within a node.
func (w *MachineWord) inner() bool { return strings.HasPrefix(w.Field, "intra.") }

// Link returns the link that the word is a rate of.
func (w *MachineWord) Link(c *hardware.Cluster) *hardware.Link {
	if w.inner() {
		return &c.Intra
	}
	return &c.Inter
}

// NameLink names the link by its rate, which is no longer that of the preset.
func (w *MachineWord) NameLink(c *hardware.Cluster) {
	link := w.Link(c)
	rate, per := float64(link.Bandwidth), " per GPU"
	if w.Node {
		rate, per = rate*float64(c.Node()), perNode
	}
	link.Name = strings.Replace(RateText(rate), "Gb/s", " Gb/s", 1) + per
}

// Bounds of the rate of a network, in bytes per second.
const (
	minRate = 1e6
	maxRate = 1e16

	rateAllowed = "a rate with its unit, 8Mb/s to 10000TB/s, such as 100Gb/s or 12.5GB/s (b is bits, B is " +
		"bytes)"
	mostRate = "10000TB/s"
)

// ParseRate reads 100Gb/s, 100 Gbit/s, 100Gbps or 12.5GB/s in bytes per second: a capital B is bytes, a small
// one bits. What it refuses names the field, what is allowed and, of a number without a unit, both readings.
func ParseRate(field, text string) (float64, error) {
	wrong := &ValueError{Field: field, Given: text, Allowed: rateAllowed}
	w, ok := readWritten(text)
	if !ok {
		return 0, wrong
	}
	size, known := rateUnit(w.unit)
	meant := w.meant(false)
	switch {
	case !known && w.unit != "":
		return 0, wrong
	case len(meant) > 1:
		return 0, w.twoReadings(field, text, false)
	case w.unit == "" && w.exponent == "" && w.sign != "-":
		bare := w.spelled(meant[0])
		wrong.Open = true
		wrong.Allowed = fmt.Sprintf("%sGb/s, which is bits, or %sGB/s, which is bytes", bare, bare)
		return 0, wrong
	case w.unit == "" && w.sign != "-":
		if wrong.Nearest = w.spelled(meant[0]) + "B/s"; w.number(meant[0]) > maxRate {
			wrong.Nearest = mostRate
		}
		return 0, wrong
	case !known: // a minus without a unit
		return 0, wrong
	}
	v := w.number(meant[0]) * size
	switch {
	case v > maxRate:
		wrong.Nearest = mostRate
	case v < minRate && v > 0:
		wrong.Nearest = "8Mb/s"
	}
	if v < minRate || v > maxRate {
		return 0, wrong
	}
	return v, nil
}

// rateUnit returns the bytes per second of a unit of rate: a prefix, bits or bytes, and per second.
func rateUnit(unit string) (float64, bool) {
	unit = strings.ReplaceAll(unit, " ", "")
	at := slices.IndexFunc([]string{"/s", "/sec", "/second", "ps"},
		func(end string) bool { return strings.HasSuffix(unit, end) })
	if at < 0 {
		return 0, false
	}
	unit = strings.TrimSuffix(unit[:strings.LastIndexAny(unit, "/p")], "s") // of bits and bytes
	size := 1.0
	for _, bits := range []struct {
		words []string
		size  float64
	}{
		{[]string{"bit", "Bit", "b"}, 1. / 8},
		{[]string{"byte", "Byte", "B"}, 1},
	} {
		for _, word := range bits.words {
			prefix, ok := strings.CutSuffix(unit, word)
			if !ok {
				continue
			}
			switch strings.ToLower(prefix) {
			case "":
			case "k", "kilo":
				size = 1e3
			case "m", "mega":
				size = 1e6
			case "g", "giga":
				size = 1e9
			case "t", "tera":
				size = 1e12
			default:
				return 0, false
			}
			return size * bits.size, true
		}
	}
	return 0, false
}

// RateText writes a rate of a network as it is typed: 100Gb/s.
func RateText(bytesPerSecond float64) string {
	return units.Plain(bytesPerSecond*8/1e9, 6) + "Gb/s"
}
