package setupdoc_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
)

// shared returns the setup of a share string.
func shared(text string) (engine.Setup, error) {
	d, err := setupdoc.Shared(text)
	if err != nil {
		return engine.Setup{}, err
	}
	return d.Setup(presets.Default())
}

// sharedSetups are setups of all kinds: presets, changed presets, a machine and a model of
// one's own, one that is illegal.
func sharedSetups(t *testing.T) map[string]engine.Setup {
	lib := presets.Default()
	all := map[string]engine.Setup{"default": presets.DefaultSetup(), "start": presets.StartSetup()}
	of := func(name string, words ...string) {
		var d setupdoc.Document
		for _, w := range words {
			if err := d.Assign(w); err != nil {
				t.Fatal(err)
			}
		}
		s, err := d.Setup(lib)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = s
	}
	of("moe", "model=deepseek-v3", "gpus=2048", "pp=16", "ep=64", "vpp=2", "gbs=15360", "seq=4096",
		"precision=fp8", "tokens=14.8T", "recompute=modules:mla-up")
	of("changed", "model=llama3.1-8b", "gpus=16", "tp=2", "model.layers=40", "model.name=a b=c",
		"cluster.inter.bandwidth=25e9", "cluster.gpu.price_usd_per_gpu_hour=0")
	of("node", "gpu=a100-pcie-40g", "gpus=8", "zero=3")
	of("split", "gpus=64", "tp=8", "pp=4", "split=19,20,20,21")
	own := all["default"]
	own.Model.ID, own.Model.Layers, own.Cluster.ID = "mine", 20, "basement"
	s, err := parsed(own)
	if err != nil {
		t.Fatal(err)
	}
	all["own"] = s
	illegal := all["default"]
	illegal.TP = 7
	all["illegal"] = illegal
	return all
}

// parsed returns a setup as its document gives it: with the calibration of its ids.
func parsed(s engine.Setup) (engine.Setup, error) {
	text, err := setupdoc.JSON(s)
	if err != nil {
		return s, err
	}
	d, err := setupdoc.Parse("a.json", text)
	if err != nil {
		return s, err
	}
	return d.Setup(presets.Default())
}

// TestShare: a setup comes back from its share string as it was, through blanks and line breaks.
func TestShare(t *testing.T) {
	for name, s := range sharedSetups(t) {
		text, ok := setupdoc.Share(s, presets.Default(), presets.Default())
		if !ok {
			t.Errorf("%s: no share string", name)
			continue
		}
		t.Logf("%s: %d characters: %s", name, len(text), text)
		if len(text) > 1500 || name != "own" && len(text) > 300 {
			t.Errorf("%s: %d characters", name, len(text))
		}
		got, err := shared("  " + text[:9] + "\r\n  " + text[9:] + "\n")
		if err != nil || got != s {
			t.Errorf("%s: %v\n%+v\nwant\n%+v", name, err, got, s)
		}
	}
}

// TestShareForEver: the strings of testdata/ms1.jsonl never change their meaning, whatever the
// defaults are by now: each gives what stands beside it. Lines are added, never changed.
func TestShareForEver(t *testing.T) {
	data, err := os.ReadFile("testdata/ms1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	for _, line := range lines {
		var golden struct {
			Text  string
			Setup map[string]any
		}
		if err := json.Unmarshal([]byte(line), &golden); err != nil {
			t.Fatal(err)
		}
		s, err := shared(golden.Text)
		if err != nil {
			t.Errorf("%s: %v (a knob that no string has needs optional: true in its row)", golden.Text, err)
			continue
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		for _, wrong := range unlike("", golden.Setup, got) {
			t.Errorf("%s: %s", golden.Text, wrong)
		}
	}
	if len(lines) < 14 {
		t.Errorf("%d strings", len(lines))
	}
}

// unlike lists the keys of a document that another one has not, or otherwise.
func unlike(path string, want, got map[string]any) (wrong []string) {
	for key, value := range want {
		inner, table := value.(map[string]any)
		if of, ok := got[key].(map[string]any); table && ok {
			wrong = append(wrong, unlike(path+key+".", inner, of)...)
		} else if value != got[key] {
			wrong = append(wrong, fmt.Sprintf("%s%s is %v, was %v", path, key, got[key], value))
		}
	}
	return wrong
}

// TestShareRefused: what is wrong with a string is said, and nothing is read of it.
func TestShareRefused(t *testing.T) {
	good, ok := setupdoc.Share(presets.StartSetup(), presets.Default(), presets.Default())
	if !ok {
		t.Fatal("no share string")
	}
	other := "A"
	if good[len(good)-5:len(good)-4] == other {
		other = "B"
	}
	for text, want := range map[string]string{
		"":                 "begins with ms1:",
		"--tp 8":           "begins with ms1:",
		"ms1:":             "its end is missing",
		"ms1:AAAA":         "its end is missing",
		good[:len(good)-8]: "its end is missing",
		good + "A":         "too long: 1 characters stand after its end",
		good + "AAAA":      "too long: 4 characters stand after its end",
		good[:len(good)-5] + other + good[len(good)-4:]: "checksum",
		good + "!":                           "is none of A-Z",
		"MS2" + good[3:]:                     "ms2 is of another version",
		"ms2" + good[3:]:                     "ms2 is of another version",
		"ms0" + good[3:]:                     "ms0 is of another version",
		"ms1:" + strings.Repeat("A", 40_000): "longer than",
	} {
		if _, err := setupdoc.Shared(text); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "share string: ") {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
	for i := range len(good) - 4 { // any one character
		spoilt := []byte(good)
		spoilt[4+i] ^= 1
		if _, err := setupdoc.Shared(string(spoilt)); err == nil {
			t.Errorf("character %d spoilt, and read", i)
		}
	}
}

// FuzzShare: no text, and no document with the right checksum, makes the reader fail otherwise
// than with an error, and what it reads can be shared again.
func FuzzShare(f *testing.F) {
	good, _ := setupdoc.Share(presets.StartSetup(), presets.Default(), presets.Default())
	f.Add(good, []byte(`{"model":"gpt2-xl","tp":2,"dp":32,"set":{"model.layers":40}}`))
	f.Add("ms1:", []byte(`{"tp":7,"cluster":null,"gpu":"a100-pcie-40g"}`))
	f.Add("ms7:"+good[4:], []byte(`{"model":{"id":"a/b"},"split":"1,2","cluster":{"id":"x"}}`))
	f.Fuzz(func(t *testing.T, text string, document []byte) {
		packed, err := setupdoc.Packed(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{text, packed} {
			s, err := shared(line)
			if err != nil {
				continue
			}
			again, ok := setupdoc.Share(s, presets.Default(), presets.Default())
			if back, err := shared(again); !ok || err != nil || back != s {
				t.Errorf("%q is not shared again: %v", line, err)
			}
		}
	})
}

// TestOwnMachineRoundTrips: a machine in words is the same from its share string, its setup file and its
// flags.
func TestOwnMachineRoundTrips(t *testing.T) {
	lib := presets.Default()
	for name, text := range map[string]string{
		"node": `{"model":"llama2-13b","gpu":"a100-sxm-40g","nodes":12,"gpus_per_node":4,"node_bandwidth":"100Gb/s","tp":2,"pp":4}`,
		"link": `{"link_bandwidth":"64GB/s","gpus_per_node":4,"tp":4,"pp":2}`,
		"GPU":  `{"gpu_bandwidth":"200 Gbit/s","tp":8,"pp":2}`,
		"set":  `{"node_bandwidth":"400Gb/s","set":{"cluster.gpus_per_node":4,"cluster.inter.name":"400GbE"},"tp":4,"pp":2}`,
	} {
		d, err := setupdoc.Parse("", []byte(text))
		if err != nil {
			t.Fatal(name, err)
		}
		want, err := d.Setup(lib)
		if err != nil {
			t.Fatal(name, err)
		}
		share, ok := setupdoc.Share(want, lib, lib)
		if !ok {
			t.Fatal(name, "no share string")
		}
		shared, err := setupdoc.Shared(share)
		if err != nil {
			t.Fatal(name, err)
		}
		if got, err := shared.Setup(lib); err != nil || got != want {
			t.Errorf("%s: the share string gives another machine: %v, %v", name, got.Cluster.Inter, err)
		}
		file, err := setupdoc.TOML(want)
		if err != nil {
			t.Fatal(name, err)
		}
		kept, err := setupdoc.Parse("own.toml", file)
		if err != nil {
			t.Fatal(name, err)
		}
		if got, err := kept.Setup(lib); err != nil || got != want {
			t.Errorf("%s: the setup file gives another machine: %v, %v", name, got.Cluster.Inter, err)
		}
		flags, ok := setupdoc.Flags(want, lib) // Flags itself makes sure that they resolve to the setup
		if !ok || strings.Count(flags, "r.bandwidth=")+strings.Count(flags, "a.bandwidth=") != 1 ||
			strings.Contains(flags, "node-bandwidth") {
			t.Errorf("%s: flags %q", name, flags)
		}
	}
}
