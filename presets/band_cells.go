package presets

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"meshscope/engine/band"
	"meshscope/engine/escape"
	"meshscope/engine/hardware"
)

// The file of the bands has a record on each line, its values separated by commas:
//
//	# a comment
//	title,GROUP,WORDS                      how a group of runs is named to a reader
//	time,FACTOR,GPUS,GPUS,SEQ,SEQ,ACTIVE,ACTIVE,MBS,MBS   a table and the ranges that its runs cover
//	factor,EXPERTS,GENERATION,STACK,FACTOR   a class of the table above it whose factor is another
//	CELL                                   of the table above it: the columns of CellFile
//
// It is read whenever a setup is evaluated, and so it is no TOML: that takes ten times as long.

// Kinds of records.
const (
	titleRecord  = "title"
	timeRecord   = "time"
	memoryRecord = "memory"
	factorRecord = "factor"
)

// fillBands puts the cells of a file into the two tables.
func fillBands(p *hardware.Published, text string) error {
	titles := map[string]string{}
	var at *bandReader
	line := 0
	for record := range strings.Lines(text) {
		line++
		record = strings.TrimRight(record, "\r\n")
		if record == "" || record[0] == '#' {
			continue
		}
		kind, rest, _ := strings.Cut(record, ",")
		var err error
		switch {
		case !escape.Printable(record):
			err = errors.New("printable text is needed")
		case kind == titleRecord:
			group, title, _ := strings.Cut(rest, ",")
			titles[group] = title
		case kind == timeRecord:
			at = &bandReader{table: &p.Time, titles: titles, sources: map[string]int{}}
			err = at.head(rest)
		case kind == memoryRecord:
			at = &bandReader{table: &p.Memory, titles: titles, sources: map[string]int{}}
			err = at.head(rest)
		case at == nil:
			err = errors.New("a table is needed before the first cell")
		case kind == factorRecord:
			err = at.class(rest)
		default:
			err = at.cell(record)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", bandsFile, line, err)
		}
	}
	p.Time.Settle()
	p.Memory.Settle()
	return nil
}

// bandReader reads the records of one table.
type bandReader struct {
	table   *band.Table
	titles  map[string]string
	sources map[string]int
}

// head reads the factor and the ranges.
func (r *bandReader) head(text string) error {
	var factor float64
	var ends [8]float64
	f := fields{rest: text}
	f.float(&factor)
	for i := range ends {
		f.float(&ends[i])
	}
	reach := func(i int) band.Range { return band.Range{Least: band.Log(ends[i]), Most: band.Log(ends[i+1])} }
	t := r.table
	t.Factor, t.GPUs, t.Seq, t.Active, t.MBS = factor, reach(0), reach(2), reach(4), reach(6)
	return f.err()
}

// class reads the factor of a class.
func (r *bandReader) class(text string) error {
	var c band.ClassFactor
	f := fields{rest: text}
	f.bool(&c.Experts)
	c.Generation, c.Stack = f.next(), f.next()
	f.float(&c.Factor)
	r.table.Classes = append(r.table.Classes, c)
	return f.err()
}

func (r *bandReader) cell(text string) error {
	var c CellFile
	if err := c.read(text); err != nil {
		return err
	}
	if _, ok := r.sources[c.Source]; !ok {
		if len(r.sources) == band.MaxSources {
			return fmt.Errorf("more than %d sources", band.MaxSources)
		}
		r.sources[c.Source] = len(r.sources)
	}
	cell := c.cell(r.sources[c.Source])
	cell.Title = r.titles[c.Group]
	r.table.Cells = append(r.table.Cells, cell)
	return nil
}

// CellFile is a band.Cell as a line of text, its values separated by commas: see Columns.
type CellFile struct {
	Group        string
	Release      string
	Source       string
	Example      string
	GPU          string
	Vendor       string
	Generation   string
	Stack        string
	Family       string
	Version      string
	Experts      bool
	TP           int
	CP           int
	EP           int
	Pipeline     bool
	ZeRO3        bool
	PCIe         bool
	Recompute    bool
	Bits         int
	GPUs         float64
	MicroBatches float64
	Active       float64
	Seq          float64
	MBS          float64
	Wait         float64
	Traffic      float64
	Runs         int
	Weight       float64
	Error        float64
	Off          float64
	Fitted       bool
}

// Columns names the values of a line, in their order.
const Columns = "group,release,source,example,gpu,vendor,generation,stack,family,version,experts,tp,cp,ep,pipeline,zero3,pcie,recompute,bits," +
	"gpus,micro_batches,active,seq,mbs,wait,traffic,runs,weight,error,off,fitted"

// String returns the line.
func (c *CellFile) String() string {
	var out []string
	text := func(list ...string) { out = append(out, list...) }
	flag := func(list ...bool) {
		for _, v := range list {
			out = append(out, strconv.FormatBool(v))
		}
	}
	count := func(list ...int) {
		for _, v := range list {
			out = append(out, strconv.Itoa(v))
		}
	}
	number := func(list ...float64) {
		for _, v := range list {
			out = append(out, strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	text(c.Group, c.Release, c.Source, c.Example, c.GPU, c.Vendor, c.Generation, c.Stack, c.Family, c.Version)
	flag(c.Experts)
	count(c.TP, c.CP, c.EP)
	flag(c.Pipeline, c.ZeRO3, c.PCIe, c.Recompute)
	count(c.Bits)
	number(c.GPUs, c.MicroBatches, c.Active, c.Seq, c.MBS, c.Wait, c.Traffic)
	count(c.Runs)
	number(c.Weight, c.Error, c.Off)
	flag(c.Fitted)
	return strings.Join(out, ",")
}

// read reads a line.
func (c *CellFile) read(line string) error {
	f := fields{rest: line}
	for _, into := range [...]*string{&c.Group, &c.Release, &c.Source, &c.Example, &c.GPU, &c.Vendor, &c.Generation, &c.Stack, &c.Family, &c.Version} {
		*into = f.next()
	}
	f.bool(&c.Experts)
	for _, into := range [...]*int{&c.TP, &c.CP, &c.EP} {
		f.int(into)
		if *into < 0 || *into > int(band.Across) {
			f.fail(fmt.Errorf("tp, cp and ep are %d to %d, not %d", band.None, band.Across, *into))
		}
	}
	for _, into := range [...]*bool{&c.Pipeline, &c.ZeRO3, &c.PCIe, &c.Recompute} {
		f.bool(into)
	}
	f.int(&c.Bits)
	for _, into := range [...]*float64{&c.GPUs, &c.MicroBatches, &c.Active, &c.Seq, &c.MBS, &c.Wait, &c.Traffic} {
		f.float(into)
	}
	f.int(&c.Runs)
	for _, into := range [...]*float64{&c.Weight, &c.Error, &c.Off} {
		f.float(into)
	}
	f.bool(&c.Fitted)
	return f.err()
}

// fields are the values of a line, read one by one; the first error stays.
type fields struct {
	rest   string
	ended  bool
	failed error
}

func (f *fields) fail(err error) {
	if f.failed == nil {
		f.failed = err
	}
}

func (f *fields) next() string {
	if f.ended {
		f.fail(errors.New("values are missing; needed: " + Columns))
		return ""
	}
	text, rest, more := strings.Cut(f.rest, ",")
	f.rest, f.ended = rest, !more
	return text
}

func (f *fields) float(into *float64) {
	v, err := strconv.ParseFloat(f.next(), 64)
	if err != nil || v-v != 0 {
		f.fail(errors.New("a number is needed"))
	}
	*into = v
}

func (f *fields) int(into *int) {
	v, err := strconv.Atoi(f.next())
	if err != nil {
		f.fail(err)
	}
	*into = v
}

func (f *fields) bool(into *bool) {
	v, err := strconv.ParseBool(f.next())
	if err != nil {
		f.fail(err)
	}
	*into = v
}

// err returns the first error, or that values are left over.
func (f *fields) err() error {
	if f.failed == nil && !f.ended {
		return errors.New("too many values; needed: " + Columns)
	}
	return f.failed
}

func (c *CellFile) cell(source int) band.Cell {
	return band.Cell{
		Traits: band.Traits{
			GPU: c.GPU, Vendor: c.Vendor, Generation: c.Generation, Stack: c.Stack, Family: c.Family, Version: c.Version, Experts: c.Experts,
			TP: band.Reach(c.TP), CP: band.Reach(c.CP), EP: band.Reach(c.EP), Pipeline: c.Pipeline, ZeRO3: c.ZeRO3, PCIe: c.PCIe,
			Recompute: c.Recompute, Bits: c.Bits, GPUs: band.Log(c.GPUs), MicroBatches: band.Log(c.MicroBatches),
			Active: band.Log(c.Active), Seq: band.Log(c.Seq), MBS: band.Log(c.MBS), NonCompute: c.Wait, Traffic: c.Traffic,
		},
		Group: c.Group, Release: c.Release, Source: source, Runs: c.Runs, Weight: c.Weight, Error: c.Error, Fitted: c.Fitted,
		Example: c.Example, Off: c.Off,
	}
}
