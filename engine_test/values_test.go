package engine_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine_test/draws"

	"pgregory.net/rapid"
)

// Lists and ranges mean what they say.
func TestValues(t *testing.T) {
	divisors := []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 48}
	for _, c := range []struct {
		id   knob.ID
		text string
		want []int
	}{
		{"tp", "8", []int{8}},
		{"tp", "2,4,8", []int{2, 4, 8}},
		{"tp", " 8, 2 ,2", []int{2, 8}},
		{"tp", "2..8", []int{2, 3, 4, 6, 8}},
		{"tp", "..3", []int{1, 2, 3}},
		{"tp", "12..", []int{12, 16, 24, 48}},
		{"tp", "1..12:4", []int{1, 5, 9}},
		{"tp", "3..24:x2", []int{3, 6, 12, 24}},
		{"tp", "5", []int{5}},
		{"tp", "1,6..8,16", []int{1, 6, 8, 16}},
		{"tp", "5..5", []int{5}}, // no candidate: a range is never "anything"
		{"tp", "9..11", []int{9}},
		{"seq", "8k", []int{8192}},
		{"seq", "4k..16k:x2", []int{4096, 8192, 16384}},
		{"seq", "1.5k..2k", []int{1536}},
		{"zero", "0..3:1", []int{0, 1, 2, 3}},
		{"zero", "0..3:x2", []int{1, 2}}, // no factor leads away from 0
	} {
		p, _ := knob.Find(c.id)
		v, err := p.ParseValues(c.text)
		if err != nil {
			t.Errorf("--%s %s: %v", c.id, c.text, err)
			continue
		}
		if got := v.Numbers(divisors); !slices.Equal(got, c.want) {
			t.Errorf("--%s %s: %v, want %v", c.id, c.text, got, c.want)
		}
	}
	for _, c := range []struct {
		id         knob.ID
		text, want string
	}{
		{"schedule", "1f1b,zb-h1", "1f1b zb-h1"},
		{"schedule", "zb-h1, 1f1b,zb-h1", "zb-h1 1f1b"},
		{"sp", "on", "on"},
		{"sp", "on,off", "on off"},
		{"sp", "both", "off on"},
		{"sp", "all", "off on"},
		{"recompute", "none,full:4", "none full:4"},
		{"recompute", "none,modules:norm,act,full", "none modules:norm,act full"},
		{"recompute", "all", "none selective full"},
		{"sp", "all,all", "off on"},
	} {
		p, _ := knob.Find(c.id)
		v, err := p.ParseValues(c.text)
		if got := strings.Join(v.Words, " "); err != nil || got != c.want {
			t.Errorf("--%s %s: %q %v, want %q", c.id, c.text, got, err, c.want)
		}
	}
	p, _ := knob.Find("schedule")
	if v, err := p.ParseValues("all"); err != nil || len(v.Words) != len(p.Choices) {
		t.Errorf("all schedules: %v %v", v.Words, err)
	}
}

// A list is written back without signs, zeros, blanks and repeats, and means the same.
func TestValuesText(t *testing.T) {
	for _, c := range []struct {
		id         knob.ID
		text, want string
	}{
		{"tp", " 8 , +4,08", "8,4"},
		{"tp", "2,2,2", "2"},
		{"tp", " ..08 , 16..:x2, ..8", "..8,16..:x2"},
		{"gpus", "064..0512:064", "64..512:64"},
		{"seq", "8k..1M:x2", "8192..1048576:x2"},
		{"schedule", "zb-h1, 1f1b,zb-h1", "zb-h1,1f1b"},
		{"schedule", "all,all", "all"},
		{"recompute", "none, modules:norm,act ,full", "none,modules:norm,act,full"},
	} {
		p, _ := knob.Find(c.id)
		v, err := p.ParseValues(c.text)
		if err != nil || v.Text() != c.want {
			t.Errorf("--%s %q: %q %v, want %q", c.id, c.text, v.Text(), err, c.want)
			continue
		}
		again, err := p.ParseValues(v.Text())
		if err != nil || again.Text() != v.Text() || !slices.Equal(again.Words, v.Words) ||
			!slices.Equal(again.Numbers([]int{1, 2, 16, 32}), v.Numbers([]int{1, 2, 16, 32})) {
			t.Errorf("--%s %q is not the same again: %q %v", c.id, v.Text(), again.Text(), err)
		}
	}
}

// What is no list is refused with the flag's name, what was given and what is
// allowed.
func TestValuesRefused(t *testing.T) {
	many := make([]string, knob.MaxValues+1)
	for i := range many {
		many[i] = strconv.Itoa(i%9 + 1)
	}
	for _, c := range []struct {
		id   knob.ID
		text string
	}{
		{"tp", ""},
		{"tp", ","},
		{"tp", "2,,4"},
		{"tp", "2,"},
		{"tp", "x"},
		{"tp", "0"},
		{"tp", "-1..4"},
		{"tp", "8..2"},
		{"tp", "1...4"},
		{"tp", "1..4..8"},
		{"tp", "1..8:0"},
		{"tp", "1..8:"},
		{"tp", "1..8:x"},
		{"tp", "1..8:x1"},
		{"tp", "1..8:+2"},
		{"tp", "1..8:-2"},
		{"tp", "1..8:2:2"},
		{"tp", "1..99999999999999999999"},
		{"tp", "2-8"},
		{"tp", "1e-3"},
		{"tp", "0x8"},
		{"tp", "1..1048576:1"},
		{"tp", strings.Join(many, ",")},
		{"tp", strings.Repeat("1,", 1<<14)},
		{"zero", "1..4"},
		{"schedule", ""},
		{"schedule", "1f1b,"},
		{"schedule", "1f1b,nothing"},
		{"schedule", "all,1f1b"},
		{"sp", "maybe"},
		{"sp", "on,maybe"},
		{"recompute", "full:"},
		{"recompute", "modules:nothing"},
		{"recompute", "none,norm"},
		{"split", "15,x"},
	} {
		p, _ := knob.Find(c.id)
		_, err := p.ParseValues(c.text)
		var wrong *knob.ValueError
		if !errors.As(err, &wrong) {
			t.Errorf("--%s %.40q: taken, or %v", c.id, c.text, err)
			continue
		}
		if wrong.Field != string(c.id) || wrong.Allowed == "" || len(wrong.Given) > 80 {
			t.Errorf("--%s %.40q: %v", c.id, c.text, err)
		}
	}
}

// Whatever is written: no panic, a bounded number of values within the
// parameter's bounds, of ranges only candidates or what a step makes.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{
		"1", "2,4,8", "..8", "2..", "1..64:x2", "64..512:64", "8k..1M:x2", "all",
		"none,full:3,modules:norm,act", "on,off", "1..2..3", ":x", "..", "..:1",
	} {
		f.Add(seed, uint8(3))
	}
	params := knob.All()
	candidates := []int{1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 1024, 1 << 20}
	f.Fuzz(func(t *testing.T, text string, which uint8) {
		p := params[int(which)%len(params)]
		v, err := p.ParseValues(text)
		if err != nil {
			return
		}
		numbers := v.Numbers(candidates)
		if len(numbers) > knob.MaxValues+len(candidates)*(1+strings.Count(text, ",")) {
			t.Fatalf("%d values", len(numbers))
		}
		low, high := v.Bounds()
		for i, n := range numbers {
			if n < p.Min || n > p.Max || n < low || n > high || i > 0 && n <= numbers[i-1] {
				t.Fatalf("%d of %v, bounds %d to %d", n, numbers, low, high)
			}
		}
		if p.Kind == knob.Number && len(numbers) == 0 || p.Kind != knob.Number && len(v.Words) == 0 {
			t.Fatalf("%s %q means nothing", p.ID, text)
		}
		for _, w := range v.Words {
			if _, err := p.Set(engine.Setup{}, w); err != nil {
				t.Fatalf("%s: %q is no value: %v", p.ID, w, err)
			}
		}
	})
}

// A list of numbers is those numbers.
func TestValuesAreTheList(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		p, _ := knob.Find("pp")
		list := rapid.SliceOfN(rapid.IntRange(1, 4096), 1, 20).Draw(t, "list")
		texts := make([]string, len(list))
		for i, n := range list {
			texts[i] = strconv.Itoa(n)
		}
		v, err := p.ParseValues(strings.Join(texts, ", ")) // 1,100 can be one number
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(list)
		if got, want := v.Numbers(nil), slices.Compact(list); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		if n, single := v.Single(); single != (len(texts) == 1) || single && n != list[0] {
			t.Fatalf("single %d %v", n, single)
		}
	})
}
