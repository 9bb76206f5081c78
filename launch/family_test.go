package launch_test

import (
	"testing"

	"meshscope/launch"
	"meshscope/presets"
)

// TestUnknownOfTheModel: what no preset knows of a model and Megatron-LM has a default for is a placeholder, not
// that default in silence; it is written for every model.
func TestUnknownOfTheModel(t *testing.T) {
	l, ok := launch.Find("megatron-lm")
	if !ok {
		t.Fatal("no launcher megatron-lm")
	}
	gpt3 := presets.DefaultSetup()
	if m, err := presets.Default().Model("gpt3-175b"); err != nil {
		t.Error(err)
	} else {
		gpt3.Model = m
	}
	d, _ := l.Export(&gpt3, "test")
	for _, e := range d.Entries {
		if e.Key == "rotary-base" {
			t.Errorf("a model without RoPE has --rotary-base %v", e.Value)
		}
	}
	for id, asked := range map[string]bool{"qwen3-8b": true, "mixtral-8x7b": true, "llama3.1-8b": false, "deepseek-v3": false} {
		m, err := presets.Default().Model(id)
		if err != nil {
			t.Fatal(err)
		}
		s := presets.DefaultSetup()
		s.Model = m
		d, _ := l.Export(&s, "test")
		for _, key := range []string{"rotary-base", "norm-epsilon"} {
			times := 0
			for _, e := range d.Entries {
				if e.Key != key {
					continue
				}
				if times++; e.Site != asked || e.Why == "" {
					t.Errorf("%s: --%s is %v, a placeholder %v, %s", id, key, e.Value, e.Site, e.Why)
				}
			}
			if times != 1 {
				t.Errorf("%s: --%s is written %d times", id, key, times)
			}
		}
	}
}
