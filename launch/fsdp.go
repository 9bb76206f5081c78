package launch

import (
	"meshscope/engine"
	"meshscope/engine/knob"
)

// shards returns over how many ranks FSDP2 shards, and on how many replicas; with DDP every
// rank is a replica.
func shards(s *engine.Setup) (replicas, shard int) {
	if s.ZeRO == 0 {
		return s.DP, 1
	}
	return s.Replicas(), max(s.DP/s.Replicas(), 1)
}

// fsdpRules returns the rules of sharding by FSDP2, which torchtitan and accelerate share.
func fsdpRules(source string) []Rule {
	return []Rule{
		refuses("zero", knob.ZeRO, source, "FSDP2 shards weights with gradients and optimizer: zero 3 "+
			"frees them after each use, zero 2 keeps them gathered; zero 0 is DDP",
			func(s *engine.Setup) bool { return s.ZeRO == 1 }),
		refuses("ddp", knob.ZeRO, source,
			"DDP is not combined with another dimension (zero 0 with tp, pp, cp or ep)",
			func(s *engine.Setup) bool {
				return s.ZeRO == 0 && (s.CP > 1 || s.DP > 1 && (s.TP > 1 || s.PP > 1 || s.EP > 1))
			}),
		refuses("hsdp", knob.HSDP, source,
			"with as many replicas as dp nothing is sharded: that is DDP, zero 0 with hsdp 1",
			func(s *engine.Setup) bool {
				return s.Replicas() > 1 && (s.ZeRO == 0 || s.Replicas() == s.DP && s.CP == 1)
			}),
	}
}

// readShards reads both degrees and whether weights stay gathered.
func (r *reader) readShards(replicate, shard, reshard string, left int) {
	replicas, sharded := r.whole(replicate, 1, 1), r.whole(shard, -1, left)
	cp := r.number("cp", 1)
	stage := 3
	if v, said := r.values[reshard]; said &&
		(v.Value == "never" || v.Value == false || v.Value == "default" && r.number("pp", 1) > 1) {
		stage = 2
	} else if !said && replicas == 1 && sharded == 1 && cp <= 1 {
		stage = 0
	}
	switch {
	case sharded < 1:
		r.Ignored = append(r.Ignored,
			Ignored{
				Key: shard, Why: "the ranks that are left over: dp follows from the number of GPUs",
				Line: r.values[shard].Line,
			})
	case sharded == 1 && cp <= 1 && replicas > 1: // DDP
		r.Setup[flat(knob.DP)], r.Setup[flat(knob.ZeRO)], r.Setup[flat(knob.HSDP)] = replicas, 0, 1
		return
	default:
		r.Setup[flat(knob.DP)] = times(replicas, sharded)
	}
	r.Setup[flat(knob.HSDP)], r.Setup[flat(knob.ZeRO)] = replicas, stage
	if stage > 0 && !r.said(reshard) && !r.lost[flat(knob.ZeRO)] {
		r.Understood = append(r.Understood, Understood{
			Key: flat(knob.ZeRO), Value: stage, Setup: []string{flat(knob.ZeRO)},
			Assumed: "what is not told by " + reshard + " is freed after each use",
		})
	}
}
