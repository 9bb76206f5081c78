// Package draws says how many random cases a property test draws: few of a fixed seed
// in an ordinary run, so that it is quick and passes for everyone or for nobody, and
// many of several seeds, a fresh one among them, where MESHSCOPE_DEEP=1.
package draws

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Deep says whether tests take the time for all that they can try.
func Deep() bool { return os.Getenv("MESHSCOPE_DEEP") == "1" }

// all is how many cases a property is tested on, unless it takes long.
const all = 100

// fresh is the seed that stands for one that nobody has drawn from yet.
const fresh = 0

// Check tests a property on 100 cases, in a deep run on 100 of each seed.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	CheckFew(t, all, property)
}

// CheckFew tests a property that takes long on as many cases as are said, in a deep run
// on 100 of each seed. What -rapid.checks and -rapid.seed say is obeyed.
func CheckFew(t *testing.T, cases int, property func(*rapid.T)) {
	t.Helper()
	seeds := []int{1}
	if Deep() {
		cases, seeds = all, []int{1, 2, fresh}
	}
	for _, seed := range seeds {
		check(t, map[string]int{"rapid.checks": cases, "rapid.seed": seed}, property)
	}
}

// check tests a property with flags of rapid that have no other value than their default.
func check(t *testing.T, flags map[string]int, property func(*rapid.T)) {
	t.Helper()
	for name, value := range flags {
		f := flag.Lookup(name)
		if f.Value.String() != f.DefValue {
			continue // said on the command line
		}
		if err := f.Value.Set(strconv.Itoa(value)); err != nil {
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
