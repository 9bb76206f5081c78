package engine

import (
	"fmt"
	"math"
	"strconv"

	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Run is a whole training run of a setup. Cost and Energy are absent where
// what they need is neither given nor published.
type Run struct {
	Tokens   float64       `json:"tokens"`
	Steps    float64       `json:"steps"`
	Training units.Seconds `json:"training_seconds"` // steps alone
	Seconds  units.Seconds `json:"seconds"`          // from the start to the end, lost time included
	Days     float64       `json:"days"`
	GPUHours float64       `json:"gpu_hours"`
	Cost     *float64      `json:"cost_usd,omitempty"`
	Energy   *float64      `json:"energy_kwh,omitempty"`

	Price   *float64 `json:"price_usd_per_gpu_hour,omitempty"` // as used
	Power   *float64 `json:"power_watts_per_gpu,omitempty"`    // as used
	PUE     float64  `json:"pue"`
	Goodput float64  `json:"goodput"` // share of 1

	Assumptions []string `json:"assumptions"`
	Evidence             // of the step time, and so of all of these
}

const (
	secondsPerHour = 3600
	secondsPerDay  = 86400
)

// WholeRun answers for the token budget; nil when none was said.
func WholeRun(s *Setup, t *Time) *Run {
	p := &s.RunPlan
	if p.Budget <= 0 || t == nil {
		return nil
	}
	r := &Run{Tokens: p.Budget, PUE: max(p.PUE, 1), Goodput: 1, Evidence: t.Evidence}
	if p.PUE <= 0 && p.Site > 0 {
		r.PUE = p.Site
		if t := typical(s); t != nil {
			r.PUE *= t.Machine(&s.Cluster).OverGPUs()
		}
	}
	if p.Goodput > 0 {
		r.Goodput = p.Goodput / 100
	}
	r.Steps = math.Ceil(p.Budget / s.Tokens())
	r.Training = units.Seconds(r.Steps) * t.Step
	r.Seconds = r.Training / units.Seconds(r.Goodput)
	r.Days = float64(r.Seconds) / secondsPerDay
	r.GPUHours = float64(s.GPUs) * float64(r.Seconds) / secondsPerHour
	if price := hourPrice(s); price > 0 {
		cost := r.GPUHours * price
		r.Price, r.Cost = &price, &cost
	}
	if power := gpuPower(s); power > 0 {
		energy := r.GPUHours * power / 1000 * r.PUE
		r.Power, r.Energy = &power, &energy
	}
	r.Assumptions = planAssumptions(p, s)
	return r
}

// record records the formulas of WholeRun.
func (r *Run) record(rec *record.Recorder, s *Setup) {
	if r == nil || !rec.On() {
		return
	}
	rec = rec.Scope("run", "whole run")
	const (
		budget = "token budget over tokens per step; every step takes the predicted time"
		lost   = "failures, restarts, checkpoints and evaluation beyond goodput; a partial last step " +
			"counts as a whole one"
	)
	figure := func(id, name, formula string, value float64, unit record.Unit, source, omits string) {
		symbol := id
		switch id {
		case "gpu-hours":
			symbol = "GPU-hours"
		case "pue":
			symbol = "PUE"
		}
		rec.Figure(record.Entry{
			ID: id, Name: name, Symbol: symbol, Unit: unit, Formula: formula,
			Value: value, Source: source, LeavesOut: omits,
		})
	}
	rec.Given(record.In("budget", s.Budget), record.InUnit(record.Share, "given_goodput", r.Goodput),
		record.In("given_PUE", r.PUE))
	figure("tokens", "tokens of the whole run", "budget", r.Tokens, record.Count, "as given (--tokens)", "")
	figure("steps", "steps of the whole run", "ceil(tokens / (gbs * s))", r.Steps, record.Count, budget, lost)
	figure("training", "time of all steps", "steps * {time.step}", float64(r.Training), record.Seconds,
		budget, lost)
	figure("goodput", "share of the time that advances the run", "given_goodput", r.Goodput, record.Share,
		"as given (--goodput), else all of it", "")
	figure("seconds", "time from the start to the end", "training / goodput", float64(r.Seconds),
		record.Seconds, "time of all steps over their share of the time", lost)
	figure("days", "days from the start to the end", "seconds / 86400", r.Days, record.Days,
		"86,400 seconds each", lost)
	figure("gpu-hours", "GPU-hours", "GPUs * seconds / 3600", r.GPUHours, record.Hours,
		"all GPUs, from the start to the end", lost)
	figure("pue", "power drawn over that of the GPUs", "given_PUE", r.PUE, record.Count,
		"as given (--pue, or --facility-pue times the machine over its GPUs), else the GPUs alone", "")
	g := &s.Cluster.GPU
	if r.Price != nil {
		source, omits := "as given (--price)", ""
		if s.Price <= 0 {
			source, omits = "preset of "+g.Name+": "+g.PriceSource, "your contract"
		}
		rec.Given(record.InUnit(record.Dollars, "price_of_an_hour", *r.Price))
		figure("price", "price of a GPU and hour", "price_of_an_hour", *r.Price, record.Dollars, source,
			omits)
		figure("cost", "cost of the whole run", "{run.gpu-hours} * price", *r.Cost, record.Dollars,
			"GPU-hours times the price of one",
			"storage, network and people, where they are not in the price")
	}
	if r.Power != nil {
		source, omits := "as given (--power)", ""
		if s.Power <= 0 {
			source, omits = "TDP of "+g.Name+", from its preset", "that a waiting GPU draws less"
		}
		rec.Given(record.InUnit(record.Watts, "watts_of_a_GPU", *r.Power))
		figure("power", "power of a GPU", "watts_of_a_GPU", *r.Power, record.Watts, source, omits)
		figure("energy", "energy of the whole run", "{run.gpu-hours} * power / 1000 * PUE", *r.Energy,
			record.Energy,
			"GPU-hours times the power of a GPU and the overhead",
			"power of hosts, network and cooling beyond pue")
	}
}

// hourPrice returns the given price, else what the GPU's preset knows; 0: neither.
func hourPrice(s *Setup) float64 {
	if s.Price > 0 {
		return s.Price
	}
	return s.Cluster.GPU.PriceUSD
}

// gpuPower returns the given power, else the GPU's TDP; 0: neither.
func gpuPower(s *Setup) float64 {
	if s.Power > 0 {
		return s.Power
	}
	return s.Cluster.GPU.TDPWatt
}

// typical returns the public figures of whole runs; nil where there are none.
func typical(s *Setup) *hardware.Typical {
	if p := s.Cluster.Published; p != nil && p.Typical.Facility.PUE > 0 {
		return &p.Typical
	}
	return nil
}

// TypicalRun computes the whole run with public figures of goodput, power and PUE where they are not given,
// which its assumptions name with their sources; nil where all are given or nothing is published.
func TypicalRun(s *Setup, t *Time) *Run {
	public := typical(s)
	if public == nil {
		return nil
	}
	plan, list := *s, []string(nil)
	if plan.Goodput <= 0 {
		plan.Goodput = 100 * public.Share(float64(s.GPUs), float64(s.Model.Total()))
		list = append(list, fmt.Sprintf("goodput: %.3g %%; %s", plan.Goodput, public.Goodput.Source))
	}
	if tdp := s.Cluster.GPU.TDPWatt; plan.Power <= 0 && tdp > 0 {
		plan.Power = public.Power.Draw * tdp
		list = append(list, fmt.Sprintf("power: %s W per GPU, %s", plainNumber(plan.Power),
			public.Power.Source))
	}
	if plan.PUE <= 0 && plan.Site <= 0 && plan.Power > 0 {
		plan.Site = public.Facility.PUE
		m := public.Machine(&s.Cluster)
		list = append(list, fmt.Sprintf("machine: %.3g times its GPUs, %s", m.OverGPUs(), m.Source),
			fmt.Sprintf("facility: PUE %s, %s", plainNumber(plan.Site), public.Facility.Source))
	}
	r := WholeRun(&plan, t)
	if r == nil || len(list) == 0 {
		return nil
	}
	r.Assumptions = list
	return r
}

// planAssumptions say where each figure of the plan comes from, and which figures are
// missing.
func planAssumptions(p *knob.RunPlan, s *Setup) []string {
	list := []string{fmt.Sprintf("every step has %s tokens and takes the predicted time",
		plainNumber(s.Tokens()))}
	g := &s.Cluster.GPU
	switch {
	case p.Price > 0:
		list = append(list, fmt.Sprintf("price: %s $ per GPU and hour, as given", plainNumber(p.Price)))
	case g.PriceUSD > 0:
		list = append(list,
			fmt.Sprintf("price: %s $ per GPU and hour, the preset of %s (%s); --price sets your own",
				plainNumber(g.PriceUSD), g.Name, g.PriceSource))
	default:
		list = append(list, "cost: unknown, no price is known for "+g.Name+"; --price sets one")
	}
	switch {
	case p.Power > 0:
		list = append(list, fmt.Sprintf("power: %s W per GPU, as given", plainNumber(p.Power)))
	case g.TDPWatt > 0:
		list = append(list,
			fmt.Sprintf("power: %s W per GPU, the TDP of %s: an upper bound for the GPU; --power sets a "+
				"measured one", plainNumber(g.TDPWatt), g.Name))
	default:
		list = append(list, "energy: unknown, no power is known for "+g.Name+"; --power sets it")
	}
	switch {
	case p.Power <= 0 && g.TDPWatt <= 0: // there is no energy to multiply
	case p.PUE > 0:
		list = append(list, fmt.Sprintf("energy: %s times that of the GPUs, as given (pue)",
			plainNumber(p.PUE)))
	case p.Site > 0 && typical(s) != nil:
		m := typical(s).Machine(&s.Cluster)
		list = append(list, fmt.Sprintf("energy: %.3g times that of the GPUs: facility PUE %s, as given, "+
			"and a machine of %.3g times its GPUs, that of %s",
			m.OverGPUs()*p.Site, plainNumber(p.Site), m.OverGPUs(), m.Source))
	case p.Site > 0:
		list = append(list,
			fmt.Sprintf("energy: %s times that of the GPUs, without host, network and storage: facility "+
				"PUE, as given", plainNumber(p.Site)))
	default:
		list = append(list, "energy: that of the GPUs alone, without host, network, storage and cooling; "+
			"--pue (all power over the GPUs') or --facility-pue (a data centre's) adds them")
	}
	if p.Goodput > 0 {
		return append(list,
			fmt.Sprintf("time: %s %% of it advances the run, as given (goodput); the rest is paid for too",
				plainNumber(p.Goodput)))
	}
	return append(list, "time: nothing is lost to failures, restarts, checkpoints and evaluation; "+
		"--goodput sets the share")
}

// plainNumber writes a number without needless digits: 2.5, 700, 4,194,304.
func plainNumber(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		digits := strconv.FormatFloat(v, 'f', 0, 64)
		for i := len(digits) - 3; i > 0; i -= 3 {
			digits = digits[:i] + "," + digits[i:]
		}
		return digits
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}
