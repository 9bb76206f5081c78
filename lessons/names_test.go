package lessons

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestNames: docs/lessons.md lists every short name; MESHSCOPE_UPDATE=1 writes the list.
func TestNames(t *testing.T) {
	const file, head = "../docs/lessons.md", "| name | figure | what it is |\n| --- | --- | --- |\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(text), head)
	if !ok {
		t.Fatal("docs/lessons.md has no list of names")
	}
	want := before + head
	for _, n := range Names() {
		want += fmt.Sprintf("| `%s` | `%s` | %s |\n", n.Name, n.ID, n.Says)
	}
	if os.Getenv("MESHSCOPE_UPDATE") == "1" {
		err = os.WriteFile(file, []byte(want), 0o600)
	} else if want != string(text) {
		t.Error("the list of names in docs/lessons.md is not that of the program: MESHSCOPE_UPDATE=1 writes it")
	}
	if err != nil {
		t.Fatal(err)
	}
}
