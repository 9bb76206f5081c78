// Package draws says how many random cases a property test draws: few of a fixed seed
// in an ordinary run, so that it is quick and passes for everyone or for nobody, and
// many of several seeds, a fresh one among them, where MESHSCOPE_DEEP=1.
package draws

import (
	"flag"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// Deep says whether tests take the time for all that they can try.
func Deep() bool { return os.Getenv("MESHSCOPE_DEEP") == "1" }

// How many cases a property is tested on: few in an ordinary run and all in a deep one, some
// in a deep one where it takes long.
const (
	few  = 30
	some = 40
	all  = 100
)

// Seeds are what random cases are drawn from: one, or in a deep run two fixed ones and one
// that nobody has drawn from yet. MESHSCOPE_SEED replaces them: a number, or "fresh". A
// test that fails says its seed.
func Seeds() []uint64 {
	fresh := uint64(time.Now().UnixNano())
	switch given := os.Getenv("MESHSCOPE_SEED"); {
	case given == "fresh":
		return []uint64{fresh}
	case given != "":
		seed, err := strconv.ParseUint(given, 10, 64)
		if err != nil {
			panic("MESHSCOPE_SEED is a number or fresh: " + err.Error())
		}
		return []uint64{seed}
	case Deep():
		return []uint64{1, 2, fresh}
	}
	return []uint64{1}
}

// Main runs the tests of a package with few collections of garbage, and fails where they leave a
// goroutine behind.
func Main(m *testing.M) {
	CollectLittle()
	goleak.VerifyTestMain(m)
}

// CollectLittle makes collections of garbage few, until there is heapLimit of it. What GOMEMLIMIT says is
// obeyed.
func CollectLittle() {
	debug.SetGCPercent(GCPercent())
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(heapLimit)
	}
}

// heapLimit keeps several sessions in one test under 4 GB with the race detector, which has eight bytes for
// each one touched; without it they took 24.
const heapLimit = 1 << 30

// GCPercent is how much the heap of tests may grow between two collections. Tests hold
// little and allocate much, so that with Go's own 100 they collect for a quarter of their
// time. What GOGC says is obeyed.
func GCPercent() int {
	if percent, err := strconv.Atoi(os.Getenv("GOGC")); err == nil {
		return percent
	}
	return 400
}

// Some returns the first n cases, in a deep run all of them.
func Some[T any](n int, cases ...T) []T {
	if Deep() {
		return cases
	}
	return cases[:min(n, len(cases))]
}

// Check tests a property on 30 cases, in a deep run on 100 of each seed.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	cases := few
	if Deep() {
		cases = all
	}
	checkAll(t, cases, property)
}

// CheckFew tests a property that takes long on as many cases as are said, in a deep run
// on at least 40 of each seed. The race detector, which makes everything ten times slower and
// looks for what more cases do not show, gets a quarter of them. What -rapid.checks and -rapid.seed say is
// obeyed.
func CheckFew(t *testing.T, cases int, property func(*rapid.T)) {
	t.Helper()
	switch {
	case Deep():
		cases = max(cases, some)
	case Race:
		cases = max(cases/4, 2)
	}
	checkAll(t, cases, property)
}

func checkAll(t *testing.T, cases int, property func(*rapid.T)) {
	t.Helper()
	for _, seed := range Seeds() {
		check(t, map[string]uint64{"rapid.checks": uint64(cases), "rapid.seed": seed}, property)
	}
}

// mostRounds bounds Until: what is still missing then hardly occurs.
const mostRounds = 10_000

// apart is how far seeds of two rounds are: rapid draws its case number n from the seed plus n(n-1)/2, so
// that rounds of neighbouring seeds would draw the same cases.
const apart = all * all

// Until tests a property on rounds of 100 cases, each from a seed of its own, until there
// are enough of what the test counts.
func Until(t *testing.T, enough func() bool, property func(*rapid.T)) {
	t.Helper()
	seeds := Seeds()
	first := seeds[len(seeds)-1]
	for round := uint64(0); !enough() && !t.Failed(); round++ {
		if round == mostRounds {
			t.Fatalf("not enough after %d cases from seed %d", mostRounds*all, first)
		}
		check(t, map[string]uint64{"rapid.checks": all, "rapid.seed": first + round*apart}, property)
	}
}

// check tests a property with flags of rapid that have no other value than their default.
func check(t *testing.T, flags map[string]uint64, property func(*rapid.T)) {
	t.Helper()
	for name, value := range flags {
		f := flag.Lookup(name)
		if f.Value.String() != f.DefValue {
			continue // said on the command line
		}
		if err := f.Value.Set(strconv.FormatUint(value, 10)); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := f.Value.Set(f.DefValue); err != nil {
				t.Error(err)
			}
		}()
	}
	rapid.Check(t, property)
}
