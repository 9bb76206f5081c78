package band

import "math"

// OwnRun is a measured run that a calibration of the user's own was fitted to.
type OwnRun struct {
	Traits
	Error float64 // |ln(predicted / measured)| of the step time, predicted by a fit without the run
}

// nineOfTen is the 90 % quantile of a half-normal distribution over its mean: 1.645 / 0.798.
const nineOfTen = 2.06

// Narrow narrows the band of a setup that a calibration of the user's own decides where runs that
// it was fitted to are like the setup, and returns how many are. The nearer the nearest of them,
// the more the band begins at that of the built-in constants; of step times the mean error of the
// runs, over the root of their number as that of a release, moves it on, as the mean of published
// runs does the prior. Of memory no run has a prediction without it.
func (t *Table) Narrow(b *Band, builtIn Band, x *Traits, runs []OwnRun) (alike int) {
	least, errors, weight, of := math.Inf(1), 0.0, 0.0, 0.0
	for i := range runs {
		r := &runs[i]
		if r.Stack != x.Stack || r.GPU != x.GPU {
			continue
		}
		of++
		d := t.Distance(x, &r.Traits)
		least = min(least, d)
		if d < similar {
			alike++
		}
		if w := math.Exp(-d) - math.Exp(-far); w > 0 {
			errors, weight = errors+w*r.Error, weight+w
		}
	}
	if alike == 0 {
		return 0
	}
	wide, plain := math.Log1p(b.Error), math.Log1p(builtIn.Error)
	log := wide + (plain-wide)*math.Exp(-least)
	if !t.Memory && t.PriorWeight > 0 {
		v := 1 / math.Sqrt(of)
		log = (t.PriorWeight*log + v*nineOfTen*errors) / (t.PriorWeight + v*weight)
	}
	b.Error, b.Typical = math.Expm1(log), math.Expm1(typicalShare*log)
	return alike
}
