package cli_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"meshscope/cli"
	"meshscope/engine_test/draws"
)

func TestMain(m *testing.M) {
	testscript.Main(testsThatBuild{m}, map[string]func(){"meshscope": cli.Main})
}

// testsThatBuild runs the tests and then removes the program that they share.
type testsThatBuild struct{ *testing.M }

// Run runs all tests and benchmarks.
func (m testsThatBuild) Run() int {
	draws.CollectLittle()
	// Half of the tests wait for a program in a terminal. What the command line says comes later and wins.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.M.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := os.RemoveAll(filepath.Dir(sharedProgram())); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// sharedProgram is where the program is built, in a folder of its own.
var sharedProgram = sync.OnceValue(func() string {
	folder, err := os.MkdirTemp("", "meshscope-test")
	if err != nil {
		panic(err)
	}
	name := "meshscope"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(folder, name)
})

// built makes the real program, as a user does, when the first test asks for it.
var built = sync.OnceValue(func() error { return buildInto(sharedProgram()) })

// buildInto makes a program, as it is released but for some flags.
func buildInto(file string, flags ...string) error {
	args := append([]string{"build", "-ldflags", "-s -w", "-o", file}, flags...)
	if os.Getenv("GOCOVERDIR") != "" {
		args = append(args, "-cover", "-coverpkg=meshscope/...") // .ci/run cover
	}
	cmd := exec.CommandContext(context.Background(), "go", append(args, ".")...)
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// build returns the path of the real program. All tests share it.
func build(t testing.TB) string {
	t.Helper()
	if err := built(); err != nil {
		t.Fatal(err)
	}
	return sharedProgram()
}
