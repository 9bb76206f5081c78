package cli_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// traceEvent is what the Trace Event Format says of an event, as far as we use it: "Trace Event
// Format" of Google's Chromium project
// (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).
type traceEvent struct {
	Name, Ph, Bp, Cat string
	ID                int
	Pid, Tid          *int
	Ts, Dur           *float64
	Args              map[string]any
}

// TestTraceIsATrace: events have what their phase asks for, those of a track do not overlap once
// they are nanoseconds, as Perfetto's importer reads them (its json_trace_tokenizer.cc multiplies
// by 1,000 and rounds, or cut off before; its slice_tracker.cc drops an event that begins before
// the last one of its track has ended), and each arrow goes from an operation to a later one of the same
// micro-batch on another rank, as many as the schedule has messages.
func TestTraceIsATrace(t *testing.T) {
	for _, args := range []string{
		"--schedule 1f1b --pp 4 --microbatches 8 --tf 1 --tb 2",
		"--schedule zb-v --pp 4 --vpp 2 --microbatches 8 --tf 1 --p2p 0.1",
		"--schedule dualpipe --pp 4 --microbatches 8 --tf 1 --overlap 0.5",
		"--model llama3.1-8b --gpus 8 --pp 4 --microbatches 21 --seq 3072 --recompute full",
	} {
		read := func(form string, into any) {
			t.Helper()
			_, out, problem := run(t, append(strings.Fields("timeline "+form), strings.Fields(args)...)...)
			if err := json.Unmarshal([]byte(out), into); err != nil {
				t.Fatal(args, err, problem)
			}
		}
		var trace struct {
			TraceEvents     []traceEvent
			DisplayTimeUnit string
		}
		var line struct{ Messages int }
		read("--chrome-trace", &trace)
		read("--json", &line)
		if trace.DisplayTimeUnit != "ms" && trace.DisplayTimeUnit != "ns" {
			t.Errorf("%s: times are displayed in %q", args, trace.DisplayTimeUnit)
		}
		tracks, starts, ends := map[int][]traceEvent{}, map[int]traceEvent{}, map[int]traceEvent{}
		for _, e := range trace.TraceEvents {
			timed := e.Ts != nil && *e.Ts >= 0
			ok := e.Name != "" && e.Pid != nil
			switch e.Ph {
			case "X":
				ok = ok && timed && e.Dur != nil && *e.Dur >= 0 && e.Tid != nil
				tracks[*e.Tid] = append(tracks[*e.Tid], e)
			case "C": // every argument of a counter is a series of numbers
				ok = ok && timed && len(e.Args) > 0
				for _, series := range e.Args {
					_, number := series.(float64)
					ok = ok && number
				}
			case "M": // the names that the format knows, each with its argument
				argument := map[string]string{
					"process_name": "name", "process_labels": "labels", "process_sort_index": "sort_index",
					"thread_name": "name", "thread_sort_index": "sort_index",
				}[e.Name]
				ok = ok && argument != "" && len(e.Args) == 1 && e.Args[argument] != nil
			case "s":
				ok = ok && timed && e.Tid != nil
				starts[e.ID] = e
			case "f":
				ok = ok && timed && e.Tid != nil && e.Bp == "e"
				ends[e.ID] = e
			default:
				ok = false
			}
			if !ok {
				t.Fatalf("%s: %+v", args, e)
			}
		}
		for track, events := range tracks {
			sort.SliceStable(events, func(i, j int) bool { return *events[i].Ts < *events[j].Ts })
			// nanoseconds of older viewers and newer ones, microseconds
			for _, read := range []func(float64) float64{
				func(t float64) float64 { return math.Trunc(t * 1000) },
				func(t float64) float64 { return math.Round(t * 1000) },
				func(t float64) float64 { return t },
			} {
				end, last := 0.0, ""
				for _, e := range events {
					if begin := read(*e.Ts); begin < end {
						t.Errorf("%s: track %d: %s begins in %s and is dropped", args, track, e.Name, last)
					} else {
						end, last = begin+read(*e.Dur), e.Name
					}
				}
			}
		}
		const rounding = 1e-3
		around := func(e traceEvent) traceEvent { // the operation that an end of an arrow is attached to
			events := tracks[*e.Tid]
			return events[sort.Search(len(events), func(i int) bool { return *events[i].Ts > *e.Ts })-1]
		}
		if len(starts) != line.Messages || len(ends) != line.Messages {
			t.Errorf("%s: %d arrows for %d messages", args, len(starts), line.Messages)
		}
		for id, s := range starts {
			// what binds the ends of a flow
			if end := ends[id]; s.Cat == "" || s.Cat != end.Cat || s.Name != end.Name {
				t.Errorf("%s: flow %d is %q of %q at one end, %q of %q at the other", args, id, s.Name, s.Cat,
					end.Name, end.Cat)
			}
			from, to := around(s), around(ends[id])
			same := false
			for _, a := range []string{"microbatch", "second_microbatch"} {
				for _, b := range []string{"microbatch", "second_microbatch"} {
					same = same || from.Args[a] != nil && from.Args[a] == to.Args[b]
				}
			}
			if !same || *s.Tid == *ends[id].Tid || *from.Ts+*from.Dur > *to.Ts+rounding {
				t.Errorf("%s: an arrow from %+v to %+v", args, from, to)
			}
		}
	}
}

// TestTraceInPerfetto asks Perfetto's trace processor, where it is installed, for what it has read:
// every operation, arrow and rank, and no error of its own.
func TestTraceInPerfetto(t *testing.T) {
	program, err := exec.LookPath("trace_processor_shell")
	if err != nil {
		t.Skip("trace_processor_shell is not on the PATH")
	}
	_, out, _ := run(t, strings.Fields("timeline --chrome-trace --model llama3.1-8b --gpus 8 --pp 4 "+
		"--microbatches 21 --seq 3072 --recompute full")...)
	trace, query := filepath.Join(t.TempDir(), "trace.json"), filepath.Join(t.TempDir(), "query.sql")
	const sql = `select (select count(*) from slice), (select count(*) from flow),
  (select count(*) from thread where name glob 'rank *'), (select sum(value) from stats where severity = 'error');`
	for name, text := range map[string]string{trace: out, query: sql} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := exec.CommandContext(t.Context(), program, "-q", query, trace).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	want := fmt.Sprintf("%d,%d,4,0", strings.Count(out, `"ph":"X"`), strings.Count(out, `"ph":"s"`))
	if !strings.Contains(string(answer), want) {
		t.Errorf("slices, flows, ranks, errors: want %s, got\n%s", want, answer)
	}
}
