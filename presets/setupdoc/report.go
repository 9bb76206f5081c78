package setupdoc

import (
	"reflect"
	"slices"
	"strings"

	"meshscope/engine"
)

// reportKeys returns the keys of what eval --json and import --json print.
func reportKeys() []string {
	keys := []string{
		"schema_version", "version", "setup", "layout_chosen", "notices", "typical_run",
		"step_range", "no_effect", "peak_moment", "screen", "launcher", "understood", "ignored", "unknown",
		"complete", "other_parts",
	}
	for _, key := range keysOf(reflect.TypeFor[engine.Report]()) {
		if key != "-" {
			keys = append(keys, key)
		}
	}
	return keys
}

// setupOf finds the setup of a document: itself, or the one inside a report of
// eval or a reading of import that is fed back.
func setupOf(root *node) (*node, error) {
	inner := root.find("setup")
	if inner == nil {
		return root, nil
	}
	known := reportKeys()
	for i := range root.members {
		m := &root.members[i]
		switch {
		case m.key == "setup" && m.value.kind != object:
			return nil, wrongValue("setup", m.value, "a table of keys such as model, gpus, tp")
		case m.key == "schema_version" && (m.value.kind != number || m.value.text != "1"):
			return nil, wrongValue("schema_version", m.value, "1")
		case slices.Contains(known, m.key) && (m.key != "model" || m.value.kind == object):
		case isFlat(m.key):
			return nil, place(m.at, &KeyError{Key: m.key, Beside: "setup"})
		default:
			return nil, place(m.at, unknownKey(m.key, known))
		}
	}
	return inner, nil
}

func isFlat(key string) bool {
	return slices.Contains(flatKeys(), strings.ReplaceAll(key, "-", "_")) || key == "offload" || key == "set"
}
