package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDamagedClass: whatever is damaged of a kept class, the exit code is that of a file that cannot be read,
// and the message says how to go on.
func TestDamagedClass(t *testing.T) {
	t.Parallel()
	for _, damage := range []string{
		"x", "[]", "{}", "null", strings.Repeat("[", 100_000),
		`{"setup":{},"step":9}`, `{"setup":{"tp":"many"}}`, `{"lesson":"none"}`,
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "class.json"), []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		r := call(t, "", "serve", "--state", folder, "--listen", "127.0.0.1:0")
		if r.code != 2 || !strings.Contains(r.stderr, "class.json: the kept class cannot be read") ||
			!strings.Contains(r.stderr, "--fresh begins anew") {
			t.Errorf("%.40q: exit code %d, %s", damage, r.code, r.stderr)
		}
	}
}
