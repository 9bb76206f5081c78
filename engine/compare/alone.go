package compare

import (
	"meshscope/engine"
	"meshscope/engine/schedule"
)

// Method is a setup that uses its GPUs in one way and no other.
type Method struct {
	Name   string
	Setup  engine.Setup
	Report engine.Report // empty until the setup is evaluated
}

// MethodsAlone returns a setup's model on n GPUs, cut by each method alone, all with the
// global batch of 4 sequences per GPU and micro-batch size. The first uses one GPU.
func MethodsAlone(base engine.Setup, n int) []Method {
	base.DP, base.TP, base.PP, base.VPP, base.CP, base.EP, base.ETP = 1, 1, 1, 1, 1, 1, 1
	base.SP, base.ZeRO, base.HSDP, base.Split = false, 0, 0, ""
	base.Schedule, base.GroupSize, base.MaxInFlight = schedule.OneFOneB, 0, 0
	base.GPUs, base.GBS = n, 4*n*base.MBS
	var out []Method
	add := func(name string, change func(s *engine.Setup)) {
		s := base
		change(&s)
		s.MicroBatches = s.GBS / (s.MBS * s.DP)
		out = append(out, Method{Name: name, Setup: s})
	}
	add("1 GPU", func(s *engine.Setup) { s.GPUs = 1 })
	for stage, name := range []string{"DP", "ZeRO-1", "ZeRO-2", "ZeRO-3"} {
		add(name, func(s *engine.Setup) { s.DP, s.ZeRO = n, stage })
	}
	add("TP", func(s *engine.Setup) { s.TP = n })
	add("TP + SP", func(s *engine.Setup) { s.TP, s.SP = n, true })
	add("CP", func(s *engine.Setup) { s.CP = n })
	add("PP", func(s *engine.Setup) { s.PP = n })
	add("EP", func(s *engine.Setup) { s.DP, s.EP = n, n })
	return out
}
