package engine_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"meshscope/engine"
	"meshscope/presets/published"
)

// sweep are the usable rows of the playbook's sweep, and its OOM rows.
func sweep(t testing.TB) (ok, oom []run) {
	t.Helper()
	for _, row := range validationRows(t, "playbook-sweep.csv") {
		usable := row["pp"] == "1" || row["after_pp_fix"] == "true"
		switch {
		case row["status"] == "ok" && row["oom_logged"] == "false" && usable:
			ok = append(ok, sweepRun(t, row))
		case row["status"] == "oom" || row["oom_logged"] == "true":
			oom = append(oom, sweepRun(t, row))
		}
	}
	return ok, oom
}

func TestAccuracySweep(t *testing.T) {
	ok, _ := sweep(t)
	j := errorsOf(ok)
	signed := make([]float64, len(j.errs)) // of tokens/s, not of time
	byCell, byEra := map[string][]int{}, map[string][]float64{}
	for i, r := range ok {
		signed[i] = 1/(1+j.errs[i]) - 1
		byCell[r.group] = append(byCell[r.group], i)
		byEra[r.row["model"]+" "+r.row["era"]] = append(byEra[r.row["model"]+" "+r.row["era"]], signed[i])
	}
	s := scoreOf(signed)
	t.Logf("7 playbook sweep, tokens/s: n %d  median error %.1f %%  mean %.1f %%  bias %+.1f %% (best "+
		"constant MFU 52; strongest simulator 165)", s.n, 100*s.median, 100*s.mean, 100*middle(signed))
	for _, name := range slices.Sorted(mapsKeys(byEra)) {
		e := scoreOf(byEra[name])
		t.Logf("    %-10s n %3d median %5.1f %% bias %+.1f %%", name, e.n, 100*e.median,
			100*middle(byEra[name]))
	}
	var rhos []float64
	for _, name := range slices.Sorted(mapsKeys(byCell)) {
		var a, b, errs []float64
		for _, i := range byCell[name] {
			a, b, errs = append(a, j.step[i]), append(b, j.step[i]*(1+j.errs[i])), append(errs, signed[i])
		}
		if len(a) < 5 {
			continue
		}
		rho := published.RankCorrelation(a, b)
		rhos = append(rhos, rho)
		t.Logf("    cell %-14s n %3d rank correlation %.3f median error %.1f %% bias %+.1f %%", name, len(a),
			rho, 100*scoreOf(errs).median, 100*middle(errs))
	}
	limit(t, "median error", s.median, 0.15)
	limit(t, "1 - rank correlation", 1-average(rhos), 0.15)
	t.Logf("7 mean rank correlation over %d cells of at least 5 rows: %.3f (strongest simulator 0.67, eras "+
		"mixed)", len(rhos), average(rhos))
}

func TestAccuracyRegret(t *testing.T) {
	ok, oom := sweep(t)
	cells := map[string][]run{}
	for _, r := range append(slices.Clone(ok), oom...) {
		cells[r.group] = append(cells[r.group], r)
	}
	var e engine.Evaluator
	var shares []float64
	worstSmall := 1.0
	for _, name := range slices.Sorted(mapsKeys(cells)) {
		best, chosen, at := 0.0, -1.0, math.Inf(1)
		var pick string
		for _, r := range cells[name] {
			rate := 0.0
			if r.step > 0 && r.row["status"] == "ok" && r.row["oom_logged"] == "false" {
				rate = r.setup.Tokens() / r.step
			}
			best = max(best, rate)
			report := e.Evaluate(r.setup)
			if !report.Legal || !report.Memory.Fits {
				continue
			}
			p := float64(report.Time.Step) / r.setup.Tokens()
			if p < at || p == at && rate < chosen { // ties at their worst
				at, chosen, pick = p, rate, fmt.Sprintf("dp%d tp%d pp%d mbs%d z%d", r.setup.DP, r.setup.TP,
					r.setup.PP, r.setup.MBS, r.setup.ZeRO)
			}
		}
		if best == 0 || len(cells[name]) < 5 {
			continue
		}
		share := max(chosen, 0) / best
		shares = append(shares, share)
		if n := *integer(cells[name][0].row, "nodes"); n <= 8 {
			worstSmall = min(worstSmall, share)
		}
		t.Logf("    cell %-14s of %3d layouts: first choice %-24s reaches %5.1f %% of the best", name,
			len(cells[name]), pick, 100*share)
	}
	t.Logf("8 first choice over %d cells: mean %.1f %% of the measured best, worst up to 8 nodes %.1f %%, "+
		"worst %.1f %% (strongest simulator 84 mean, 34 worst)", len(shares), 100*average(shares),
		100*worstSmall, 100*slices.Min(shares))
}
