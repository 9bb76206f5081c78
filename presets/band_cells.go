package presets

import (
	"cmp"
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
//	CELL                                   of the table above it: see Columns
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
	p.Time.BuildIndex()
	p.Memory.BuildIndex()
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

// cell reads a cell, its values in the order of Columns.
func (r *bandReader) cell(text string) error {
	var c band.Cell
	var source string
	f := fields{rest: text}
	for _, into := range [...]*string{
		&c.Group, &c.Release, &source, &c.Example, &c.GPU, &c.Vendor,
		&c.Generation, &c.Stack, &c.Family, &c.Version,
	} {
		*into = f.next()
	}
	f.bool(&c.Experts)
	for _, into := range [...]*band.Reach{&c.TP, &c.CP, &c.EP} {
		var reach int
		f.int(&reach)
		if reach < int(band.None) || reach > int(band.Across) {
			f.fail(fmt.Errorf("tp, cp and ep are %d to %d, not %d", band.None, band.Across, reach))
		}
		*into = band.Reach(reach)
	}
	for _, into := range [...]*bool{&c.Pipeline, &c.ZeRO3, &c.PCIe, &c.Recompute} {
		f.bool(into)
	}
	f.int(&c.Bits)
	for _, into := range [...]*band.Log{&c.GPUs, &c.MicroBatches, &c.Active, &c.Seq, &c.MBS} {
		f.float((*float64)(into))
	}
	f.float(&c.NonCompute)
	f.float(&c.Traffic)
	f.int(&c.Runs)
	for _, into := range [...]*float64{&c.Weight, &c.Error, &c.Off} {
		f.float(into)
	}
	f.bool(&c.Fitted)
	if err := f.err(); err != nil {
		return err
	}
	if _, ok := r.sources[source]; !ok {
		if len(r.sources) == band.MaxSources {
			return fmt.Errorf("more than %d sources", band.MaxSources)
		}
		r.sources[source] = len(r.sources)
	}
	c.Source, c.Title = r.sources[source], r.titles[c.Group]
	r.table.Cells = append(r.table.Cells, c)
	return nil
}

// Columns names the values of a cell, in their order.
const Columns = "group,release,source,example,gpu,vendor,generation,stack,family,version," +
	"experts,tp,cp,ep,pipeline,zero3,pcie,recompute,bits,gpus,micro_batches,active,seq,mbs," +
	"wait,traffic,runs,weight,error,off,fitted"

// fields are the values of a line, read one by one; the first error stays.
type fields struct {
	rest    string
	columns string // their names; empty: Columns
	ended   bool
	failed  error
}

func (f *fields) fail(err error) {
	if f.failed == nil {
		f.failed = err
	}
}

func (f *fields) next() string {
	if f.ended {
		f.fail(errors.New("values are missing; needed: " + cmp.Or(f.columns, Columns)))
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
