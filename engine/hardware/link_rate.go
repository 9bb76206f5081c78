package hardware

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"meshscope/engine/units"
)

const (
	bitsPerByte = 8
	gigabit     = 1e9 / bitsPerByte // bytes per second of 1 Gb/s
)

// Names of links that say what a port carries.
var (
	infiniBand = regexp.MustCompile(`(?i)(?:\b([0-9]{1,2}) ?x ?)?\b(EDR|HDR100|HDR|NDR200|NDR|XDR)\b`)
	rateInName = regexp.MustCompile(
		`(?i)(?:\b([0-9]{1,2}) ?x ?)?\b([0-9]{1,5}(?:\.[0-9]+)?) ?((?-i:Gb/s|Gbps|G)|GbE|Gigabit|Gbit/s)\b` +
			`( per (?:node|GPU)\b| ?x ?[0-9])?`,
	)
	etherName = regexp.MustCompile(`(?i)\bEthernet ([0-9]{2,3})$`)
)

// carried is what the name of a link lets a node's network carry, in Gb/s: at least and at most.
type carried struct {
	port      float64
	low, high float64
	own       bool // the name is the rate itself, as words for a machine write it
}

// fastestPort is what the fastest network card of the presets carries for a GPU, in Gb/s: the ConnectX-8
// SuperNIC of DGX B300 (presets/clusters/dgx-b300.toml), one port of InfiniBand XDR or two of 400 Gb/s
// Ethernet (NVIDIA ConnectX-8 SuperNIC Firmware Release Notes 40.44.1036, Link Speed).
const fastestPort = 800

// capacity reads the name of a link between nodes; ok is false for one that tells no rate. One plain port of
// at most 100 Gb/s Ethernet serves a node; of faster ones and of InfiniBand each GPU may have its own.
func capacity(name string, gpus int) (c carried, ok bool) {
	each := float64(gpus)
	if m := infiniBand.FindStringSubmatch(name); m != nil {
		c.port = map[string]float64{
			"EDR": 100, "HDR100": 100, "HDR": 200, "NDR200": 200, "NDR": 400,
			"XDR": 800,
		}[strings.ToUpper(m[2])]
		ports, _ := strconv.ParseFloat(m[1], 64) // of a node or of each GPU
		return carried{c.port, c.port * max(ports, 1), c.port * max(ports, each, ports*each), false}, true
	}
	m := rateInName.FindStringSubmatch(name)
	if plain := etherName.FindStringSubmatch(name); m == nil && plain != nil {
		m = []string{"", "", plain[1], "GbE", ""}
	}
	if m == nil {
		return carried{}, false
	}
	c.port, _ = strconv.ParseFloat(m[2], 64)
	ports, _ := strconv.ParseFloat(m[1], 64)
	const servesNode = 100
	ethernet := strings.EqualFold(m[3], "GbE") || strings.Contains(strings.ToLower(name), "ethernet")
	switch of := strings.ToLower(m[4]); {
	case strings.HasSuffix(of, "node"):
		return carried{c.port, c.port, c.port, true}, true
	case strings.HasSuffix(of, "gpu"):
		return carried{c.port, c.port * each, c.port * each, true}, true
	case of != "": // several a card: the name does not tell how many
		return carried{}, false
	case ports > 0:
		return carried{c.port, c.port * ports, c.port * ports, false}, true
	case ethernet && c.port <= servesNode:
		return carried{c.port, c.port, c.port, false}, true
	}
	return carried{c.port, c.port, c.port * each, false}, true
}

// Implausible says in a sentence that the link between nodes has a rate that its name does not, with what the
// rate is as that of a GPU and of a node; empty where it has not.
func (c *Cluster) Implausible() string {
	if c.Inter.Bandwidth <= 0 {
		return ""
	}
	of, ok := capacity(c.Inter.Name, c.Node())
	if !ok {
		return ""
	}
	const above, below = 1.05, 0.5 // rounding of a name; what protocol and switches leave of it
	gpu := float64(c.Inter.Bandwidth)
	node := gpu * float64(c.Node())
	has := fmt.Sprintf("%s per GPU is %s per node of %s", rate(gpu), rate(node),
		units.Plural(c.Node(), "GPU"))
	switch {
	case node > of.high*gigabit*above:
		return fmt.Sprintf("%s, more than %s carries (%s per node); as a node's rate it is %s per GPU "+
			"(node-bandwidth %sGB/s)",
			has, c.Inter.Name, gbps(of.high), rate(gpu/float64(c.Node())), plainRate(gpu/1e9))
	case node < of.low*gigabit*below:
		return fmt.Sprintf("%s, less than half of what %s carries (%s per node); as each GPU's rate it is "+
			"%s per GPU (gpu-bandwidth %sGB/s)",
			has, c.Inter.Name, gbps(of.low), rate(node), plainRate(node/1e9))
	case of.own && gpu > fastestPort*gigabit*above:
		return fmt.Sprintf("%s, more than ports of %s for each GPU carry, the fastest of 'meshscope presets "+
			"clusters' (%s per node; b is bits, B is bytes)", has, gbps(fastestPort),
			gbps(fastestPort*float64(c.Node())))
	}
	return ""
}

func plainRate(v float64) string { return units.Plain(v, 4) }

// rate writes bytes per second, gbps a rate of ports.
func rate(v float64) string { return plainRate(v/1e9) + " GB/s" }
func gbps(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) + " Gb/s" }
