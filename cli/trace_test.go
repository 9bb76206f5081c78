package cli_test

import (
	"encoding/json"
	"sort"
	"strings"
	"testing"
)

// traceEvent is what the Trace Event Format says of an event, as far as we use it: "Trace Event
// Format" of Google's Chromium project (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).
type traceEvent struct {
	Name, Ph, Bp, Cat string
	ID                int
	Pid, Tid          *int
	Ts, Dur           *float64
	Args              map[string]any
}

// TestTraceIsATrace: events have what their phase asks for, those of a track do not
// overlap, and each arrow goes from an operation to a later one of the same micro-batch
// on another rank, as many as the schedule has messages.
func TestTraceIsATrace(t *testing.T) {
	for _, args := range []string{
		"--schedule 1f1b --pp 4 --microbatches 8 --tf 1 --tb 2",
		"--schedule zb-v --pp 4 --vpp 2 --microbatches 8 --tf 1 --p2p 0.1",
		"--schedule dualpipe --pp 4 --microbatches 8 --tf 1 --overlap 0.5",
		"--model llama3.1-8b --gpus 8 --pp 4 --microbatches 8 --recompute full",
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
		const rounding = 1e-6
		for track, events := range tracks {
			sort.Slice(events, func(i, j int) bool { return *events[i].Ts < *events[j].Ts })
			for i := 1; i < len(events); i++ {
				if before := events[i-1]; *events[i].Ts < *before.Ts+*before.Dur-rounding {
					t.Errorf("%s: track %d: %s begins in %s", args, track, events[i].Name, before.Name)
				}
			}
		}
		around := func(e traceEvent) traceEvent { // the operation that an end of an arrow is attached to
			events := tracks[*e.Tid]
			return events[sort.Search(len(events), func(i int) bool { return *events[i].Ts > *e.Ts })-1]
		}
		if len(starts) != line.Messages || len(ends) != line.Messages {
			t.Errorf("%s: %d arrows for %d messages", args, len(starts), line.Messages)
		}
		for id, s := range starts {
			if end := ends[id]; s.Cat == "" || s.Cat != end.Cat || s.Name != end.Name { // what binds the ends of a flow
				t.Errorf("%s: flow %d is %q of %q at one end, %q of %q at the other", args, id, s.Name, s.Cat, end.Name, end.Cat)
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
