package explain

const sourceRun = "the budget over what a step trains on; every step takes the predicted time"

// runFigure explains a figure of the whole run; nil where no run was asked for.
func (b *Book) runFigure(rest string) *Explanation {
	r, s := b.r.Run, b.w.Setup
	if r == nil {
		return nil
	}
	part := func(id string) *Expr { return ref(b.runFigure(id)) }
	a := about{symbol: rest, unit: Count, omits: "failures, restarts, checkpoints and evaluation, but for what goodput says; a last step that is not full counts whole"}
	var formula func() *Expr
	switch rest {
	case "tokens":
		a.name, a.source, a.omits = "Tokens of the whole run", "as said (--tokens)", ""
		formula = func() *Expr { return num("budget", s.Budget, Count) }
	case "steps":
		a.name, a.source = "Steps of the whole run", sourceRun
		formula = func() *Expr { return ceil(div(part("tokens"), mul(count("gbs", s.GBS), count("s", s.Seq)))) }
	case "training":
		a.name, a.unit, a.source = "Time of all steps", Seconds, sourceRun
		formula = func() *Expr { return mul(part("steps"), ref(b.timeFigure("step"))) }
	case "goodput":
		a.name, a.unit, a.source, a.omits = "Share of the time that advances the run", Share, "as said (--goodput), else all of it", ""
		formula = func() *Expr { return num("goodput", r.Goodput, Share) }
	case "seconds":
		a.name, a.unit, a.source = "Time from the start to the end", Seconds, "time of all steps over the share of the time that they take"
		formula = func() *Expr { return div(part("training"), part("goodput")) }
	case "days":
		a.name, a.unit, a.source = "Days from the start to the end", Days, "86,400 seconds each"
		formula = func() *Expr { return div(part("seconds"), lit(86400)) }
	case "gpu-hours":
		a.name, a.symbol, a.unit, a.source = "GPU-hours", "GPU-hours", Hours, "all GPUs, from the start to the end"
		formula = func() *Expr { return div(mul(count("GPUs", s.GPUs), part("seconds")), lit(3600)) }
	case "price", "cost", "power", "energy", "pue":
		formula = b.runMoney(rest, &a, part)
	}
	if formula == nil {
		return nil
	}
	return b.explain("run."+rest, a, formula)
}

// runMoney are cost and energy with what they need; nil where that is unknown.
func (b *Book) runMoney(rest string, a *about, part func(string) *Expr) func() *Expr {
	r, g := b.r.Run, &b.w.Setup.Cluster.GPU
	switch {
	case rest == "price" && r.Price != nil:
		a.name, a.unit, a.source, a.omits = "Price of a GPU and hour", Dollars, "as said (--price)", ""
		if b.w.Setup.Price <= 0 {
			a.source, a.omits = "preset of "+g.Name+": "+g.PriceSource, "your contract"
		}
		return func() *Expr { return num("price", *r.Price, Dollars) }
	case rest == "cost" && r.Cost != nil:
		a.name, a.unit, a.source = "Cost of the whole run", Dollars, "GPU-hours times the price of one"
		a.omits = "storage, network and people, where they are not in the price"
		return func() *Expr { return mul(part("gpu-hours"), part("price")) }
	case rest == "power" && r.Power != nil:
		a.name, a.unit, a.source, a.omits = "Power of a GPU", Watts, "as said (--power)", ""
		if b.w.Setup.Power <= 0 {
			a.source, a.omits = "TDP of "+g.Name+", from its preset", "that a waiting GPU draws less"
		}
		return func() *Expr { return num("power", *r.Power, Watts) }
	case rest == "energy" && r.Energy != nil:
		a.name, a.unit, a.source = "Energy of the whole run", Energy, "GPU-hours times the power of a GPU and the overhead"
		a.omits = "what the hosts, the network and the cooling draw, but for what pue says"
		return func() *Expr { return mul(div(mul(part("gpu-hours"), part("power")), lit(1000)), part("pue")) }
	case rest == "pue":
		a.name, a.symbol, a.source, a.omits = "Power drawn over that of the GPUs", "PUE", "as said (--pue), else the GPUs alone", ""
		return func() *Expr { return num("PUE", r.PUE, Count) }
	}
	return nil
}
