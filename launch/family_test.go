package launch_test

import (
	"fmt"
	"strings"
	"testing"

	"meshscope/launch"
	"meshscope/presets"
)

// TestUnknownOfTheModel: what no preset knows of a model and Megatron-LM has a default for is a placeholder,
// not that default in silence; it is written for every model.
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
	for id, asked := range map[string]bool{
		"qwen3-8b": true, "mixtral-8x7b": true, "llama3.1-8b": false,
		"deepseek-v3": false,
	} {
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

// TestRopeTheta: the base of rotary positions that a config.json gives is carried, and no placeholder stands
// for it.
func TestRopeTheta(t *testing.T) {
	for _, c := range []struct {
		base string
		want int
		site bool
	}{
		{`"rope_theta":1e6`, 1000000, false},
		{`"rope_parameters":{"rope_theta":150000.0,"rope_type":"default"}`, 150000, false},
		{`"rope_theta":null`, 10000, true},
		{`"rope_theta":-3`, 10000, true},
		{`"rope_theta":0.5`, 10000, true},
		{`"rope_theta":"much"`, 10000, true},
		{`"rope_parameters":{"full_attention":{"rope_theta":1e6}}`, 10000, true},
	} {
		r := launch.Open("config.json",
			[]byte(
				`{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":31,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128256,"max_position_embeddings":8192,`+c.base+`}`,
			), presets.Default())
		if len(r.Problems) > 0 {
			t.Fatalf("%s: %v", c.base, r.Problems)
		}
		s := presets.DefaultSetup()
		of := r.Resolve(presets.Default())
		s.Model = of.Model
		for id, key := range map[string]string{
			"megatron-lm": "rotary-base",
			"nanotron":    "model.model_config.rope_theta",
		} {
			l, _ := launch.Find(id)
			d, refused := l.Export(&s, "test")
			if len(refused) > 0 {
				t.Fatalf("%s: %s: %v", c.base, id, refused)
			}
			found := 0
			for _, e := range d.Entries {
				if e.Key != key {
					continue
				}
				if found++; e.Value != c.want && e.Value != float64(c.want) || id == "megatron-lm" &&
					e.Site != c.site {
					t.Errorf("%s: %s: --%s %v, a placeholder %v", c.base, id, key, e.Value, e.Site)
				}
			}
			if found != 1 {
				t.Errorf("%s: %s: %s is written %d times", c.base, id, key, found)
			}
			if told := strings.Contains(strings.Join(d.Warnings, " "), "rotary-base"); id == "megatron-lm" &&
				told != c.site {
				t.Errorf("%s: %v", c.base, d.Warnings)
			}
		}
	}
}

// TestNormEps: the epsilon of the norms that a config.json gives is carried, and no placeholder stands for
// it.
func TestNormEps(t *testing.T) {
	for _, c := range []struct {
		eps  string
		want any
		site bool
	}{
		{`"rms_norm_eps":1e-6`, "1e-6", false},
		{`"rms_norm_eps":0.00001`, "1e-5", false},
		{`"rms_norm_eps":null`, "1e-5", true},
		{`"rms_norm_eps":-1`, "1e-5", true},
		{`"rms_norm_eps":"small"`, "1e-5", true},
	} {
		r := launch.Open("config.json",
			[]byte(`{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,`+
				`"num_hidden_layers":31,"num_attention_heads":32,"num_key_value_heads":8,`+
				`"vocab_size":128256,`+
				`"max_position_embeddings":8192,"rope_theta":1e6,`+c.eps+`}`), presets.Default())
		if len(r.Problems) > 0 {
			t.Fatalf("%s: %v", c.eps, r.Problems)
		}
		s := presets.DefaultSetup()
		of := r.Resolve(presets.Default())
		s.Model = of.Model
		l, _ := launch.Find("megatron-lm")
		d, refused := l.Export(&s, "test")
		if len(refused) > 0 {
			t.Fatalf("%s: %v", c.eps, refused)
		}
		found := 0
		for _, e := range d.Entries {
			if e.Key == "norm-epsilon" {
				if found++; e.Value != c.want || e.Site != c.site {
					t.Errorf("%s: --norm-epsilon %v, a placeholder %v", c.eps, e.Value, e.Site)
				}
			}
		}
		again, _ := launch.Read(d.File, d.Text())
		if got := again.Resolve(presets.Default()).Model.NormEps; c.want == "1e-6" && got != 1e-6 {
			t.Errorf("%s: read back as %g", c.eps, got)
		}
		told := strings.Contains(strings.Join(d.Warnings, " "), "norm-epsilon")
		if found != 1 || told != c.site {
			t.Errorf("%s: written %d times, %v", c.eps, found, d.Warnings)
		}
	}
}

// TestRopeThetaOfPresets: a config.json with the figures of a preset is that preset, with a base of its own
// where it is not the one of the family.
func TestRopeThetaOfPresets(t *testing.T) {
	for base, want := range map[string]int{"500000.0": 0, "1e6": 1000000, "null": 0} {
		r := launch.Open("config.json",
			[]byte(
				`{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128256,"max_position_embeddings":8192,"rope_theta":`+base+`}`,
			), presets.Default())
		s := r.Resolve(presets.Default())
		if len(r.Problems) > 0 || s.Model.ID != "llama3-8b" || s.Model.RopeTheta != want {
			t.Errorf("%s: %s with %d, %v", base, s.Model.ID, s.Model.RopeTheta, r.Problems)
		}
		l, _ := launch.Find("megatron-lm")
		d, _ := l.Export(&s, "test")
		for _, e := range d.Entries {
			if e.Key == "rotary-base" && e.Value != max(want, 500000) {
				t.Errorf("%s: --rotary-base %v", base, e.Value)
			}
		}
	}
}

// TestRopeScaling: how rotary positions are stretched is carried from a config.json into what Megatron-LM has
// a flag for; another kind is told to be lost. Of a preset that has it, it is no change.
func TestRopeScaling(t *testing.T) {
	const llama = `{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":31,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128256,"max_position_embeddings":131072,"rope_theta":500000.0,`
	const latent = `{"model_type":"deepseek_v3","hidden_size":2048,"intermediate_size":1024,"num_hidden_layers":4,"num_attention_heads":16,"vocab_size":1024,"q_lora_rank":512,"kv_lora_rank":256,"qk_nope_head_dim":64,"qk_rope_head_dim":32,"v_head_dim":64,"n_routed_experts":8,"n_shared_experts":1,"num_experts_per_tok":2,"moe_intermediate_size":128,"first_k_dense_replace":1,"n_group":1,"topk_group":1,"rope_theta":10000,`
	for _, c := range []struct {
		text, kind string
		factor     float64
		want       string // what is written
	}{
		{llama + `"rope_scaling":{"rope_type":"llama3","factor":16.0}}`, "llama3", 16, "--use-rope-scaling"},
		{llama + `"rope_parameters":{"rope_type":"llama3","factor":8}}`, "llama3", 8, "--use-rope-scaling"},
		{llama + `"rope_parameters":{"full_attention":{"rope_type":"yarn","factor":4}}}`, "yarn", 4, ""},
		{llama + `"rope_scaling":{"type":"linear","factor":2.0}}`, "linear", 2, ""},
		{llama + `"rope_scaling":{"type":"longrope","long_factor":[1.0]}}`, "longrope", 0, ""},
		{llama + `"rope_scaling":{"rope_type":"default","mrope_section":[1]}}`, "", 0, ""},
		{llama + `"rope_scaling":null}`, "", 0, ""},
		{latent + `"rope_scaling":{"type":"yarn","factor":40}}`, "yarn", 40, "--rotary-scaling-factor"},
	} {
		r := launch.Open("config.json", []byte(c.text), presets.Default())
		if len(r.Problems) > 0 {
			t.Fatalf("%s: %v", c.text, r.Problems)
		}
		s := presets.DefaultSetup()
		s.Model = r.Resolve(presets.Default()).Model
		if s.Model.RopeScaling != c.kind || s.Model.RopeFactor != c.factor {
			t.Errorf("%s: %q %v", c.text, s.Model.RopeScaling, s.Model.RopeFactor)
		}
		plain := s.Model
		plain.RopeScaling, plain.RopeFactor = "", 0
		if plain.Total() != s.Model.Total() || len(s.Model.Check()) > 0 {
			t.Errorf("%s: %v", c.text, s.Model.Check())
		}
		l, _ := launch.Find("megatron-lm")
		d, refused := l.Export(&s, "test")
		if len(refused) > 0 {
			t.Fatalf("%s: %v", c.text, refused)
		}
		text := string(d.Text())
		if c.want == "" {
			lost := strings.Contains(strings.Join(d.Warnings, " "), "scaling of RoPE ("+c.kind)
			if strings.Contains(text, "scaling") && c.kind != "" && !lost || lost != (c.kind != "") {
				t.Errorf("%s: %v", c.text, d.Warnings)
			}
			continue
		}
		if factor := fmt.Sprintf("-factor %g ", c.factor); !strings.Contains(text, c.want) ||
			!strings.Contains(text, factor) {
			t.Errorf("%s: %s is not in\n%s", c.text, factor, text)
		}
		again := launch.Open("train.sh", []byte(text), presets.Default())
		if m := again.Resolve(presets.Default()).Model; m.RopeScaling != c.kind || m.RopeFactor != c.factor ||
			m.RopeTheta != s.Model.RopeTheta && s.Model.RopeTheta != 10000 {
			t.Errorf("%s: read back as %d, %q %v", c.text, m.RopeTheta, m.RopeScaling, m.RopeFactor)
		}
	}
	r := launch.Open("config.json", []byte(strings.Replace(llama, ":31", ":32", 1)+
		`"rope_scaling":{"rope_type":"llama3","factor":8.0}}`), presets.Default())
	if s := r.Resolve(presets.Default()); s.Model.ID != "llama3.1-8b" || s.Model.RopeScaling != "" {
		t.Errorf("%s with %q", s.Model.ID, s.Model.RopeScaling)
	}
}

// TestReadRoPE: flags of rotary positions say what they say to Megatron-LM: its own defaults, and those of
// another kind of attention or positions, nothing.
func TestReadRoPE(t *testing.T) {
	const sizes = "torchrun pretrain_gpt.py --num-layers 5 --hidden-size 1024 --num-attention-heads 8 " +
		"--seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 8 " +
		"--vocab-size 32000 --bf16 --disable-bias-linear "
	const rope = "--position-embedding-type rope"
	const latent = rope + " --multi-latent-attention"
	for flags, want := range map[string]string{
		rope + " --rotary-base 1000000":                         `1000000 "" 0`,
		rope + " --rotary-base 1e6":                             `1000000 "" 0`,
		rope + " --rotary-base 10000":                           `0 "" 0`,
		"--rotary-base 1000000":                                 `0 "" 0`,
		rope + " --rotary-base 0.5":                             `0 "" 0`,
		rope + " --use-rope-scaling":                            `0 "llama3" 8`,
		rope + " --use-rope-scaling --rope-scaling-factor 32.0": `0 "llama3" 32`,
		rope + " --rope-scaling-factor 32.0":                    `0 "" 0`,
		rope + " --rotary-scaling-factor 40":                    `0 "" 0`,
		latent + " --rotary-scaling-factor 40":                  `0 "yarn" 40`,
		latent + " --rotary-scaling-factor 1":                   `0 "" 0`,
		latent + " --use-rope-scaling":                          `0 "" 0`,
		latent + " --rope-scaling-factor 9.5 --bf16":            `0 "" 0`,
		"--position-embedding-type learned_absolute --use-rope-scaling --rope-scaling-factor 32.0 ": `0 "" 0`,
	} {
		r := launch.Open("train.sh", []byte(sizes+flags), presets.Default())
		if len(r.Problems) > 0 {
			t.Fatalf("%s: %v", flags, r.Problems)
		}
		m := r.Resolve(presets.Default()).Model
		if got := fmt.Sprintf("%d %q %g", m.RopeTheta, m.RopeScaling, m.RopeFactor); got != want {
			t.Errorf("%s: %s, want %s", flags, got, want)
		}
	}
}
