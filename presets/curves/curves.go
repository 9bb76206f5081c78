// Package curves holds measured curves that others published, such as tokens per second over
// the number of replicas, typed in with their source, and predicts each of their points. One
// TOML file is one curve.
package curves

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"meshscope/engine"
	"meshscope/engine/fit"
	"meshscope/engine/hardware"
	"meshscope/engine/units"
	"meshscope/presets/published"
	"meshscope/presets/setupdoc"
)

//go:embed *.toml
var files embed.FS

// Figure is what a curve is of. The words are those of the files.
type Figure string

// Figures. Bubble has tokens per second too, of a model that the source does not name: the
// pipeline's bubble alone is predicted, from the first point on. The last three are bus
// bandwidths of collectives, in GB/s.
const (
	Tokens        Figure = "tokens-per-second-per-gpu"
	Memory        Figure = "memory" // reserved on the first pipeline rank, in GiB
	Bubble        Figure = "bubble-alone"
	MicroBatch    Figure = "largest-micro-batch" // in sequences
	AllReduce     Figure = "all-reduce"
	AllGather     Figure = "all-gather"
	ReduceScatter Figure = "reduce-scatter"
)

// Bandwidth reports whether the figure is that of a collective.
func (f Figure) Bandwidth() bool { return f == AllReduce || f == AllGather || f == ReduceScatter }

// Unit returns the unit of the values.
func (f Figure) Unit() string {
	switch {
	case f == Memory:
		return "GiB"
	case f == MicroBatch:
		return "sequences"
	case f.Bandwidth():
		return "GB/s"
	}
	return "tokens/s/GPU"
}

// Curve is one measured curve.
type Curve struct {
	ID     string  `json:"id"`
	Title  string  `json:"title"`
	Figure Figure  `json:"figure"`
	Axis   string  `json:"axis"` // dp, tp, pp or nodes
	Source string  `json:"source"`
	Note   string  `json:"note"`
	Volume float64 `json:"-"` // MB of a collective
	Points []Point `json:"points"`
}

// Point is one measured value of a curve and what is predicted in its place.
type Point struct {
	At        int          `json:"at"`
	Measured  float64      `json:"measured"`
	Low       float64      `json:"p5,omitempty"`  // 5th percentile; 0: one value was published
	High      float64      `json:"p95,omitempty"` // 95th percentile
	Predicted float64      `json:"predicted"`
	Setup     engine.Setup `json:"-"` // its machine and layout; of a bubble alone the zero one

	microBatches int
}

// Error returns the relative error of the prediction.
func (p *Point) Error() float64 { return p.Predicted/p.Measured - 1 }

type curveFile struct {
	ID     string         `toml:"id"`
	Title  string         `toml:"title"`
	Figure Figure         `toml:"figure"`
	Axis   string         `toml:"axis"`
	Source string         `toml:"source"`
	Note   string         `toml:"note"`
	Volume float64        `toml:"volume_MB"`
	Setup  map[string]any `toml:"setup"` // keys of every point
	Points []pointFile    `toml:"point"`
}

type pointFile struct {
	At           int            `toml:"at"`
	Measured     float64        `toml:"measured"`
	Low          float64        `toml:"low"`
	High         float64        `toml:"high"`
	MicroBatches int            `toml:"microbatches"`
	Setup        map[string]any `toml:"setup"`
}

// All returns every curve with its predictions. A file that is not right is an error that
// names it.
func All(e *engine.Evaluator, lib published.Library) ([]Curve, error) {
	names, err := fs.Glob(files, "*.toml")
	if err != nil {
		return nil, err
	}
	out := make([]Curve, 0, len(names))
	for _, name := range names {
		c, err := read(name, lib)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		c.predict(e)
		out = append(out, c)
	}
	return out, nil
}

func read(name string, lib published.Library) (Curve, error) {
	text, err := files.ReadFile(name)
	if err != nil {
		return Curve{}, err
	}
	var f curveFile
	dec := toml.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return Curve{}, err
	}
	known := f.Figure == Tokens || f.Figure == Memory || f.Figure == Bubble || f.Figure == MicroBatch ||
		f.Figure.Bandwidth() && f.Volume > 0
	if f.ID != strings.TrimSuffix(path.Base(name), ".toml") || f.Title == "" || f.Source == "" ||
		f.Axis == "" || !known || len(f.Points) < 2 {
		return Curve{},
			errors.New("id must be the file's name; title, source, axis, a known figure and two points " +
				"must be given")
	}
	c := Curve{
		ID: f.ID, Title: f.Title, Figure: f.Figure, Axis: f.Axis, Source: f.Source, Note: f.Note,
		Volume: f.Volume,
	}
	for i := range f.Points {
		p := &f.Points[i]
		if p.Measured <= 0 || i > 0 && p.At <= f.Points[i-1].At ||
			p.High > 0 && (p.Low <= 0 || p.Low > p.High) {
			return Curve{}, fmt.Errorf("point at %d: values must be positive and ascend along the axis", p.At)
		}
		out := Point{At: p.At, Measured: p.Measured, Low: p.Low, High: p.High, microBatches: p.MicroBatches}
		if f.Figure != Bubble {
			if out.Setup, err = f.setup(p, lib); err != nil {
				return Curve{}, fmt.Errorf("point at %d: %w", p.At, err)
			}
		} else if p.MicroBatches < 1 {
			return Curve{}, fmt.Errorf("point at %d: microbatches must be given", p.At)
		}
		c.Points = append(c.Points, out)
	}
	return c, nil
}

// setup returns the setup of a point: the keys of the file and its own, which win.
func (f *curveFile) setup(p *pointFile, lib published.Library) (engine.Setup, error) {
	keys := map[string]any{}
	maps.Copy(keys, f.Setup)
	maps.Copy(keys, p.Setup)
	text, err := json.Marshal(keys)
	if err != nil {
		return engine.Setup{}, err
	}
	doc, err := setupdoc.Parse("point.json", text)
	if err != nil {
		return engine.Setup{}, err
	}
	s, err := doc.AsStated().Setup(lib)
	if err == nil && !engine.Legal(s) {
		err = errors.New(engine.Check(s)[0].Message)
	}
	return s, err
}

// predict fills the predictions of all points.
func (c *Curve) predict(e *engine.Evaluator) {
	for i := range c.Points {
		p := &c.Points[i]
		switch {
		case c.Figure.Bandwidth():
			p.Predicted = c.Rate(&p.Setup, p.At)
		case c.Figure == Bubble:
			first := &c.Points[0]
			p.Predicted = first.Measured * p.busy() / first.busy()
		case c.Figure == MicroBatch:
			limits, _ := fit.Find(e, p.Setup)
			p.Predicted = float64(limits.MBS)
		case c.Figure == Memory:
			r := e.Evaluate(p.Setup)
			run := published.Run{Setup: p.Setup, Kind: published.Reserved, Rank: published.FirstRank}
			p.Predicted = run.PredictedMemory(&r)
		default:
			r := e.Evaluate(p.Setup)
			p.Predicted = float64(r.Throughput.TokensPerSecondPerGPU)
		}
	}
}

// busy returns the share of a step of 1F1B in which a rank works: m/(m+p-1).
func (p *Point) busy() float64 { return float64(p.microBatches) / float64(p.microBatches+p.At-1) }

// Rate returns the bus bandwidth in GB/s that a setup's machine reaches in the collective of
// the curve over whole nodes: the volume times 2(n-1)/n for an all-reduce, (n-1)/n for the
// others, over its time.
func (c *Curve) Rate(s *engine.Setup, nodes int) float64 {
	m := hardware.NewMachine(&s.Cluster, s.Precision, s.Stack, &s.Software)
	n := nodes * s.Cluster.Node()
	of := hardware.Members{Size: n, PerDomain: min(n, s.Cluster.Domain()), Stride: 1}
	volume := units.Bytes(c.Volume * 1e6)
	sent := float64(volume) * float64(n-1) / float64(n)
	if c.Figure == AllReduce {
		return 2 * sent / float64(m.AllReduce(nil, volume, of)) / 1e9
	}
	return sent / float64(m.AllGather(nil, volume, of)) / 1e9
}
