package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/schedule"
	"meshscope/engine_test/shared"
	"meshscope/lessons"
	"meshscope/presets"
	"meshscope/presets/curves"
	glossary "meshscope/presets/words"
)

// playbookItem is one line of docs/playbook.md.
type playbookItem struct {
	number                       int
	name, priority, state, where string
}

// playbookDoc returns the text of docs/playbook.md and its numbered lines.
func playbookDoc(t *testing.T) (text string, items []playbookItem) {
	t.Helper()
	raw, err := os.ReadFile("../docs/playbook.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(
		`(?m)^\| (\d+) \| (.*?) \| (must|should|could) \| (shown|in part|not) \| (.*) \|$`,
	)
	for _, m := range line.FindAllStringSubmatch(string(raw), -1) {
		n, _ := strconv.Atoi(m[1])
		items = append(items, playbookItem{n, m[2], m[3], m[4], m[5]})
	}
	return string(raw), items
}

// TestPlaybookItems: every number is there once, the counts in the head are those of the lines,
// enough is shown, and no line that is shown lacks a place.
func TestPlaybookItems(t *testing.T) {
	t.Parallel()
	text, items := playbookDoc(t)
	count := map[string]int{}
	for i, it := range items {
		if it.number != i+1 {
			t.Fatalf("line %d has the number %d", i+1, it.number)
		}
		count[it.state]++
		count[it.state+" "+it.priority]++
		if !strings.Contains(it.where, "`") && it.state == "shown" {
			t.Errorf("%d %s: shown, but where?", it.number, it.name)
		}
	}
	const all, least = 173, 150
	if len(items) != all || count["shown"] < least {
		t.Errorf("%d items, %d shown", len(items), count["shown"])
	}
	for _, state := range []string{"shown", "in part", "not"} {
		row := "| " + state
		for _, priority := range []string{" must", " should", " could", ""} {
			row += " | " + strconv.Itoa(count[state+priority])
		}
		if !strings.Contains(text, row+" |") {
			t.Errorf("the head does not say %q", row)
		}
	}
	lead := strconv.Itoa(count["shown"]) + " are shown, " + strconv.Itoa(count["in part"]) + " in part, " +
		strconv.Itoa(count["not"]) + " not"
	if !strings.Contains(text, lead) {
		t.Errorf("the first paragraph does not say %q", lead)
	}
}

// TestPlaybookMap compares the lines with the reference: the same numbers and priorities, and
// nothing that matters most is left in part.
func TestPlaybookMap(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(shared.Path(t, "playbook", "map.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, items := playbookDoc(t)
	want := regexp.MustCompile(`(?m)^\| (\d+) \|.*\| (must|should|could) \|$`).FindAllStringSubmatch(
		string(raw), -1,
	)
	if len(want) != len(items) {
		t.Fatalf("%d items, %d of them in the reference", len(items), len(want))
	}
	for i, it := range items {
		if strconv.Itoa(it.number) != want[i][1] || it.priority != want[i][2] {
			t.Errorf("%d %s is %s, in the reference %s %s", it.number, it.name, it.priority, want[i][1],
				want[i][2])
		}
		if it.priority == "must" && it.state != "shown" {
			t.Errorf("%d %s: %s", it.number, it.name, it.state)
		}
	}
	for i := 1; i <= 18; i++ { // the errors of its section 17
		if text, _ := playbookDoc(t); strings.Count(text, "| E"+strconv.Itoa(i)+" |") != 1 {
			t.Errorf("E%d is not there once", i)
		}
	}
}

// TestPlaybookPlaces: whatever the file names is there: commands and their flags, panes, keys,
// knobs, words, lessons, demonstrations, figures, rules, problems, curves, presets, schedules,
// tests and files.
func TestPlaybookPlaces(t *testing.T) {
	t.Parallel()
	text, _ := playbookDoc(t)
	known := playbookPlaces(t)
	const kinds = "pane|key|knob|word|lesson|demo|figure|rule|problem|curve|model|gpu|schedule|test|file"
	named := regexp.MustCompile("(" + kinds + ")s? ((?:`[^`]+`(?:, )?)+)")
	each := regexp.MustCompile("`([^`]+)`")
	seen := 0
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		for _, name := range each.FindAllStringSubmatch(m[2], -1) {
			if strings.HasPrefix(name[1], "meshscope ") {
				continue
			}
			if seen++; !known[m[1]](name[1]) {
				t.Errorf("there is no %s %q", m[1], name[1])
			}
		}
	}
	const least = 300
	if seen < least {
		t.Errorf("%d places are named: is the file still read rightly?", seen)
	}
	helps := map[string]string{}
	for _, m := range regexp.MustCompile("`meshscope ([^`]+)`").FindAllStringSubmatch(text, -1) {
		args := strings.Fields(m[1])
		if helps[args[0]] == "" {
			code, help, problem := run(t, args[0], "--help")
			if code != 0 || help == "" {
				t.Errorf("meshscope %s: %s", args[0], problem)
				continue
			}
			helps[args[0]] = help
		}
		for _, arg := range args[1:] {
			if flag, _, _ := strings.Cut(arg, "="); strings.HasPrefix(flag, "--") &&
				!regexp.MustCompile(regexp.QuoteMeta(flag)+`\b`).MatchString(helps[args[0]]) {
				t.Errorf("meshscope %s has no flag %s", args[0], flag)
			}
		}
	}
}

// playbookPlaces says by kind whether a name is there.
func playbookPlaces(t *testing.T) map[string]func(string) bool {
	t.Helper()
	lib := presets.Default()
	list, err := glossary.Glossary()
	if err != nil {
		t.Fatal(err)
	}
	lines, err := curves.All(&engine.Evaluator{SkipTimeline: true}, lib)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := os.ReadFile("../docs/keys.md")
	if err != nil {
		t.Fatal(err)
	}
	_, figures, _ := run(t, "explain", "--model", "mixtral-8x7b", "--gpus", "64", "--tp", "4", "--cp", "2",
		"--ep", "8", "--gbs", "256")
	read := map[string]string{}
	sources := func(glob string) string {
		if text, ok := read[glob]; ok {
			return text
		}
		var all strings.Builder
		files, err := filepath.Glob(glob)
		if err != nil || len(files) == 0 {
			t.Fatal(glob, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
		read[glob] = all.String()
		return read[glob]
	}
	rules, problems := sources("../engine/advise/rules*.go"), sources("../engine/layout/rules.go")
	tests := sources("../*/*_test.go") + sources("../*/*/*_test.go") + sources("../*/*/*/*_test.go")
	return map[string]func(string) bool{
		"pane": func(s string) bool {
			screen, pane, _ := strings.Cut(s, "/")
			if !strings.Contains(string(keys), "\n## "+strings.ToUpper(screen[:1])+screen[1:]+"\n") {
				return false
			}
			return pane == "" ||
				strings.Contains(sources("../ui/screens/"+screen+"/*.go")+deeper(screen, sources),
					`"`+pane+`"`)
		},
		"key":  func(s string) bool { return strings.Contains(string(keys), "| `"+s+"` |") },
		"knob": func(s string) bool { _, ok := knob.Find(knob.ID(s)); return ok },
		"word": func(s string) bool { _, ok := glossary.Find(list, s); return ok },
		"lesson": func(s string) bool {
			_, err := os.Stat("../lessons/" + s + ".toml")
			return err == nil
		},
		"demo":   func(s string) bool { _, err := lessons.FindDemo(s, lib); return err == nil },
		"figure": func(s string) bool { return strings.Contains(figures, "\n"+s+" ") || explained(t, s) },
		"rule": func(s string) bool {
			return strings.Contains(strings.Join(strings.Fields(rules), " "), `id: "`+s+`"`)
		},
		"problem": func(s string) bool {
			return strings.Contains(problems, `failf("`+s+`"`) || strings.Contains(problems, `warnf("`+s+`"`)
		},
		"curve": func(s string) bool {
			for i := range lines {
				if lines[i].ID == s {
					return true
				}
			}
			return false
		},
		"model":    func(s string) bool { _, err := lib.Model(s); return err == nil },
		"gpu":      func(s string) bool { _, err := lib.GPU(s); return err == nil },
		"schedule": func(s string) bool { _, ok := schedule.Kind(s).Info(); return ok },
		"test":     func(s string) bool { return strings.Contains(tests, "\nfunc "+s+"(") },
		"file":     func(s string) bool { _, err := os.Stat("../" + s); return err == nil },
	}
}

// deeper returns the source of the panes that a screen keeps in packages of their own.
func deeper(screen string, sources func(string) string) string {
	if nested, _ := filepath.Glob("../ui/screens/" + screen + "/*/*.go"); len(nested) == 0 {
		return ""
	}
	return sources("../ui/screens/" + screen + "/*/*.go")
}

// explained reports whether explain knows a figure that its list leaves out.
func explained(t *testing.T, name string) bool {
	code, _, _ := run(t, "explain", name, "--model", "llama3.1-8b", "--gpus", "8", "--tp", "2", "--gbs", "8")
	return code == 0
}
