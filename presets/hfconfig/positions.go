package hfconfig

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"meshscope/engine/model"
)

// ropeTheta reads the base of rotary positions, a key of its own or (version 5 of the library) of
// rope_parameters. Any but a whole number is left out: it changes no size.
func (r *reader) ropeTheta() {
	theta := func(raw json.RawMessage) (n int, ok bool) {
		var base float64
		err := json.Unmarshal(raw, &base)
		return int(base), err == nil && base >= 1 && base <= model.MaxRopeTheta && base == math.Trunc(base)
	}
	if !strings.HasPrefix(r.Model.Position, "rope") {
		return
	}
	key, raw := "rope_theta", r.keys["rope_theta"].raw
	if !r.has(key) {
		key = "rope_parameters"
		var of struct {
			Theta json.RawMessage `json:"rope_theta"`
		}
		if json.Unmarshal(r.keys[key].raw, &of) != nil {
			return
		}
		raw = of.Theta
	}
	n, ok := theta(raw)
	if v := r.keys[key]; ok && !v.outer && !r.used[key] {
		r.Model.RopeTheta, r.used[key], r.given["rope_theta"] = n, true, key
		r.understand(v, n, "rope_theta")
	}
}

// normEps reads the epsilon of the norms, which changes no size: one that is no number between 0 and 1 is
// left out.
func (r *reader) normEps() {
	for _, key := range []string{
		"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_eps", "norm_epsilon",
	} {
		v, eps := r.keys[key], 0.0
		if !r.has(key) || v.outer || r.used[key] || json.Unmarshal(v.raw, &eps) != nil || eps <= 0 ||
			eps >= 1 {
			continue
		}
		r.Model.NormEps, r.used[key], r.given["norm_eps"] = eps, true, key
		r.Understood = append(r.Understood, Key{
			Name: v.path, Value: eps, Fields: []string{"norm_eps"}, Line: r.line(v.at - len(v.raw)),
		})
		return
	}
}

// ropeScaling reads how rotary positions are stretched: it changes no size. Version 5 of the library writes
// rope_parameters, of each kind of layers where they differ: the full ones count.
func (r *reader) ropeScaling() {
	for _, key := range []string{"rope_scaling", "rope_parameters"} {
		v := r.keys[key]
		read := func(raw json.RawMessage) (word string, factor float64, full json.RawMessage) {
			var of struct {
				Type   any             `json:"rope_type"`
				Old    any             `json:"type"`
				Factor any             `json:"factor"`
				Full   json.RawMessage `json:"full_attention"`
				Far    json.RawMessage `json:"compress"` // of DeepSeek-V4
			}
			_ = json.Unmarshal(raw, &of)
			if word, _ = of.Type.(string); word == "" {
				word, _ = of.Old.(string)
			}
			factor, _ = of.Factor.(float64)
			if of.Full == nil {
				of.Full = of.Far
			}
			return word, factor, of.Full
		}
		word, factor, full := read(v.raw)
		if word == "" {
			word, factor, _ = read(full)
		}
		if word == "" || word == "default" || word == "mrope" || v.outer || len(word) > 20 ||
			strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" ||
			!strings.HasPrefix(r.Model.Position, "rope") {
			continue
		}
		r.Model.RopeScaling, r.given["rope_scaling"] = word, key
		if factor > 0 && factor <= model.MaxSequence {
			r.Model.RopeFactor = factor
		}
		if !r.used[key] { // the base may be of the same key
			r.used[key] = true
			r.understand(v, fmt.Sprintf("%s, factor %g", word, factor), "rope_scaling", "rope_factor")
		}
		return
	}
}
