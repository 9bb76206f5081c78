package cli_test

import (
	"strings"
	"testing"

	"meshscope/presets"
	"meshscope/presets/setupdoc"
)

// TestShareFromInput: a share string is a setup on standard input too, with or without the end of its line.
func TestShareFromInput(t *testing.T) {
	s := presets.DefaultSetup()
	line, ok := setupdoc.Share(s, presets.Default(), presets.Default())
	if !ok {
		t.Fatal("no share string")
	}
	want := call(t, "", "eval", "--json", "--setup", line)
	for _, text := range []string{line, line + "\n", "  " + line + "\r\n"} {
		if got := call(t, text, "eval", "--json", "--setup", "-"); got != want || want.code != 0 {
			t.Errorf("%q: code %d: %s", text, got.code, got.stderr)
		}
	}
	if got := call(t, line[:20]+"\n", "eval", "--setup", "-"); !strings.Contains(got.stderr, "share string") {
		t.Errorf("half a string: %s", got.stderr)
	}
}

// TestRatesOfDrivesRefused: what is no rate of drives is refused with the unit and an example.
func TestRatesOfDrivesRefused(t *testing.T) {
	for value, want := range map[string]string{
		"12GB": `given "12GB", allowed is a number of bytes per second, 0 or more, such as 10e9 for 10 GB/s`,
		"nan":  `given "nan", allowed is a number of bytes per second`,
		"10":   `allowed is 1e6 to 1e16 bytes per second (10e9 is 10 GB/s), or 0 for typical drives`,
	} {
		got := call(t, "", "eval", "--set", "cluster.drive_read_bandwidth="+value)
		if got.code != 2 || !strings.Contains(got.stderr, want) || strings.Contains(got.stderr, "quotes") {
			t.Errorf("%s: code %d: %s", value, got.code, got.stderr)
		}
	}
}
