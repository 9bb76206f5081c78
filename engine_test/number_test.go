package engine_test

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine_test/draws"
	"meshscope/ui/state"

	"pgregory.net/rapid"
)

// TestNumbersOfPeople: a number is what a person means by it, or both readings are named. The command
// line and the explorer read alike.
func TestNumbersOfPeople(t *testing.T) {
	for _, c := range []struct {
		id   knob.ID
		text string
		want string // as the knob writes it; empty: refused
		says string // of what is refused
	}{
		{"gpus", "2,048", "2048", ""},
		{"seq", "32,768", "32768", ""},
		{"seq", "2_048", "2048", ""},
		{"seq", "32 768", "32768", ""},
		{"seq", "32\u202f768", "32768", ""},
		{"seq", "32'768", "32768", ""},
		{"seq", "1.048.576", "1048576", ""},
		{"seq", "32k", "32768", ""},
		{"seq", "2,048k", "2097152", ""},
		{"seq", "2,5k", "2560", ""},
		{"seq", "1,500k", "", "1500k if the comma groups digits, 1.5k if it is a decimal comma"},
		{"seq", "8.192", "", "8192 if the point groups digits, 8 if 8.192 is rounded"},
		{"seq", "2.000", "", "2000 if the point groups digits, 2 if it is a decimal point"},
		{"seq", "20_48", "", "a whole number"},
		{"seq", "2,04", "", "a whole number"},
		{"seq", "2,,048", "", "a whole number"},
		{"seq", "1,048,57", "", "a whole number"},
		{"gpus", "256,512", "", "one number (256512 without commas); lists are for search and scan"},
		{"gpus", "12,8", "", "lists are for search and scan, and compare takes one value a side (tp=4 tp=8)"},
		{"gpus", "4,0", "", "lists are for search and scan"},
		{"gpus", "64,00", "", "a whole number"},
		{"seq", "1e4", "10000", ""},
		{"seq", "1.5e4", "15000", ""},
		{"seq", "1e-4", "", "nearest"},
		{"tp", "4.0", "4", ""}, // a whole number of other programs
		{"imbalance", "120,0", "", "nearest 120"},
		{"tp", "2,4", "", "lists are for search and scan"},
		{"tp", "1..8", "", "lists are for search and scan"},
		{"zero", "1.000", "1", ""}, // there are no thousand
		{"gbs", "2,048", "2048", ""},
		{"gbs", "2,048.0", "2048", ""},
		{"tp", "8" + strings.Repeat(" ,", 100_000), "", "a whole number"}, // and takes no time
		{"gbs", "4M", "", "4Mtok, which is tokens, or 4194304, which is sequences"},
		{"gbs", "4Mio", "", "4Mtok, which is tokens, or 4194304, which is sequences"},
		{"gbs", "2,5M", "", "2.5Mtok, which is tokens, or 2621440, which is sequences"},
		{"gbs", "4Mtok", "512", ""},
		{"gbs", "4 Mtok", "512", ""},
		{"gbs", "4,194,304tok", "512", ""},
		{"gbs", "4.194.304 tokens", "512", ""},
		{"gbs", "2,048Mtok", "", "2048Mtok if the comma groups digits, 2.048Mtok if it is a decimal comma"},
		{"tokens", "2,5T", "2.5T", ""},
		{"tokens", "2.5 T", "2.5T", ""},
		{"tokens", "2 trillion", "2T", ""},
		{"tokens", "15Ttok", "15T", ""},
		{"tokens", "4Mio", "4M", ""},
		{"tokens", "1.125T", "1.125T", ""},
		{"tokens", "15,000", "15k", ""},
		{"tokens", "15.000.000", "15M", ""},
		{"tokens", "15.000", "", "15000 if the point groups digits, 15 if it is a decimal point"},
		{"tokens", "2,500T", "", "2500T if the comma groups digits, 2.5T if it is a decimal comma"},
		{"price", "2,5", "2.5", ""},
		{"price", "2.125", "2.125", ""},
		{"price", "15.000", "", "15000 if the point groups digits, 15 if it is a decimal point"},
		{"price", "0.500", "0.5", ""},
		{"power", "1.200", "", "1200 if the point groups digits, 1.2 if it is a decimal point"},
		{"goodput", "95.000", "95", ""}, // 95000 is none
		{"price", "1,234.5", "1234.5", ""},
		{"price", "1.234,5", "1234.5", ""},
		{"price", "2,500", "", "2500 if the comma groups digits, 2.5 if it is a decimal comma"},
		{"pue", "1,125", "1.125", ""}, // 1125 is none
		{"power", "1 W", "", "a number from"},
	} {
		k, s := knobOf(t, c.id), startSetup(t)
		s.Seq = 8192
		got, err := k.Set(s, c.text)
		if err == nil && k.Text(got) != c.want ||
			err != nil && (c.want != "" || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("--%s %s: %q, %v; want %q%s", c.id, c.text, k.Text(got), err, c.want, c.says)
		}
		typed, wrong := state.Typed(&state.State{Setup: s}, c.id, c.text)
		if (wrong == nil) != (err == nil) {
			t.Errorf("%s %s: the command line says %v, the explorer %v", c.id, c.text, err, wrong)
			continue
		}
		if wrong != nil {
			says, _, lists := strings.Cut(c.says, "lists are for")
			if lists {
				says += "the Search screen takes lists"
			}
			if open := strings.Contains(c.says, " if ") ||
				strings.Contains(c.says, ", which is "); !strings.Contains(wrong.Error(), says) ||
				open != strings.Contains(wrong.Error(), `" can be `) {
				t.Errorf("%s %s: the explorer says %v", c.id, c.text, wrong)
			}
			continue
		}
		if again, err := k.Set(s, typed.Text); err != nil || again != got {
			t.Errorf("%s %s: the explorer reads %s, %v", c.id, c.text, k.Text(again), err)
		}
	}
}

// TestListsOfPeople: where lists are taken, what can be one number or a list is refused with both.
func TestListsOfPeople(t *testing.T) {
	for _, c := range []struct {
		id         knob.ID
		text, want string // want is the list with blanks, or what a refusal says after !
	}{
		{"seq", "2,048", "2048"},
		{"seq", "1,048,576", "1048576"},
		{"seq", "2 048", "2048"},
		{"seq", "32,768", "!32768, which is one number, or '32 768', which is a list"},
		{"seq", "8,192", "!8192, which is one number, or '8 192', which is a list"},
		{"seq", "32 768", "32 768"},
		{"seq", "32, 768", "32 768"},
		{"seq", "768,32", "32 768"},
		{"seq", "32,768,", "!between commas there is a value"},
		{"gpus", "64,128,256", "64 128 256"},
		{"gpus", "256,512", "256 512"},
		{"gpus", "98,304", "!98304, which is one number"},
		{"gpus", "2,048,4,096", "!such as 2048,4096"},
		{"gpus", "2,048 4,096", "2048 4096"},
		{"gpus", "2,048, 4,096", "2048 4096"},
		{"gpus", "512,1,024", "!such as 512,1024"},
		{"gpus", "2_048,4_096", "2048 4096"},
		{"seq", "1,024..4,096", "!such as 1024..4096"},
		{"seq", "4k,8k", "4096 8192"},
		{"seq", "8,16k", "8 16384"},
		{"seq", "2,5k", "!2.5k, which is one number, or '2 5k', which is a list"},
		{"tp", "100,200", "100 200"},
		{"tp", "2,4,8,128", "2 4 8 128"},
		{"zero", "1,500", "!a whole number from 0 to 3"},
	} {
		k := knobOf(t, c.id)
		v, err := k.ParseValues(c.text)
		if says, refused := strings.CutPrefix(c.want, "!"); refused || err != nil {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("--%s %s: %v, %v; want %s", c.id, c.text, v.Numbers(nil), err, c.want)
			}
			continue
		}
		var got []string
		for _, n := range v.Numbers(nil) {
			got = append(got, strconv.Itoa(n))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("--%s %s: %v, want %s", c.id, c.text, got, c.want)
		}
	}
	v, err := knobOf(t, "seq").ParseValues("32 768")
	if again, wrong := knobOf(t, "seq").ParseValues(v.Text()); err != nil || wrong != nil ||
		again.Text() != v.Text() || v.Text() != "32 768" {
		t.Errorf("a list that commas would make one number is written %q (%v, %v)", v.Text(), err, wrong)
	}
	for text, want := range map[string]string{"2T,15T": "2T 15T", "2,5T": "", "1,000": "1k"} {
		v, err := knobOf(t, "tokens").ParseValues(text)
		if strings.Join(v.Words, " ") != want || (err == nil) != (want != "") {
			t.Errorf("tokens %s: %v, %v", text, v.Words, err)
		}
	}
}

// TestNumberHoweverWritten: a number that is grouped by commas, blanks, underscores or apostrophes is the
// number, as the value of a knob; in a list it is that number or refused.
func TestNumberHoweverWritten(t *testing.T) {
	draws.Check(t, func(r *rapid.T) {
		k := knobOf(t, knob.GBS)
		n := rapid.IntRange(1, knob.MaxBatch).Draw(r, "n")
		mark := rapid.SampledFrom([]string{",", "_", " ", "'", "\u202f"}).Draw(r, "mark")
		text := grouped(n, mark)
		got, err := k.ParseInt(text)
		var wrong *knob.ValueError
		switch {
		case err == nil && got != n:
			r.Fatalf("%q is %d", text, got)
		case err != nil &&
			(mark != "," || !errors.As(err, &wrong) || !strings.Contains(wrong.Allowed, strconv.Itoa(n))):
			r.Fatalf("%q: %v", text, err)
		}
		v, err := k.ParseValues(text)
		if one, single := v.Single(); err == nil && single && one != n {
			r.Fatalf("a list of %q is %d", text, one)
		}
		if err == nil && n > 999 && mark != "," && mark != " " && len(v.Numbers(nil)) != 1 {
			r.Fatalf("%q is a list: %v", text, v.Numbers(nil))
		}
	})
}

// grouped writes a number with a mark between groups of three digits.
func grouped(n int, mark string) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + mark + text[at:]
	}
	return text
}

// FuzzNumber reads any text as the value of a count, a figure, a list, a time and a share: what is taken
// is within bounds and reads back; digits are never left out.
func FuzzNumber(f *testing.F) {
	for _, seed := range []string{
		"2,048", "32,768", "2_048", "4M", "4Mtok", "4Mio", "2,5T", "15.000",
		"1.234,5", "1'000", "1 000", "64,128,256", "1,024..4,096", "5,5%", "2,5d", "-1,000", "+2.5", "1e3",
		",", ".", "1,", ",5", "9 9tok",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		count := func(digits string) string {
			return strings.Map(func(r rune) rune {
				if r >= '0' && r <= '9' {
					return r
				}
				return -1
			}, digits)
		}
		seq, tokens := knobOf(t, knob.Seq), knobOf(t, knob.Tokens)
		if n, err := seq.ParseInt(text); err == nil {
			if n < seq.Min || n > seq.Max {
				t.Fatalf("%q is %d", text, n)
			}
			if plain := strings.TrimLeft(count(text), "0"); !strings.ContainsAny(text, ".kKmMeE") &&
				!strings.Contains(text, ",") && plain != strconv.Itoa(n) {
				t.Fatalf("%q is %d", text, n)
			}
		}
		if s, err := tokens.Set(engine.Setup{}, text); err == nil {
			if again, err := tokens.Set(engine.Setup{}, tokens.Text(s)); err != nil || again != s {
				t.Fatalf("%q is written as %q: %v", text, tokens.Text(s), err)
			}
		}
		if v, err := seq.ParseValues(text); err == nil {
			again, err := seq.ParseValues(v.Text())
			if err != nil || again.Text() != v.Text() {
				t.Fatalf("%q is written as %q: %v", text, v.Text(), err)
			}
		}
		for _, read := range []func(field, text string) (float64, error){
			knob.ParseDeadline, knob.ParseShare,
		} {
			if v, err := read("of", text); err == nil && (v < 0 || math.IsInf(v, 0) || math.IsNaN(v)) {
				t.Fatalf("%q is %v", text, v)
			}
		}
		if digits, _, ok := knob.Plain(text); ok {
			if _, err := strconv.ParseFloat(digits, 64); err != nil && !errors.Is(err, strconv.ErrRange) {
				t.Fatalf("%q is %q: %v", text, digits, err)
			}
		}
	})
}
