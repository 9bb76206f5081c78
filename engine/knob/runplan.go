package knob

// RunPlan is what is given of a whole training run: its length, and what an hour
// of it takes. 0 is left out.
type RunPlan struct {
	Budget float64 `json:"tokens,omitempty"` // tokens to train on; 0: no run is asked for
	// US dollars per GPU and hour; 0: the GPU's preset, where it has one
	Price float64 `json:"price,omitempty"`
	Power float64 `json:"power,omitempty"` // watts per GPU; 0: the GPU's TDP, where it is known
	PUE   float64 `json:"pue,omitempty"`   // power drawn over that of the GPUs, at least 1; 0: 1
	// power of the data centre over that of its machines, at least 1; 0: 1
	Site float64 `json:"facility_pue,omitempty"`
	// percent of the time in which steps advance the run; 0: 100
	Goodput float64 `json:"goodput,omitempty"`
}

// figure returns the row of a decimal number; 0 leaves it out.
func figure(k Knob, low, high float64, field func(*Setup) *float64) Knob {
	k.Kind, k.Low, k.High, k.figure, k.optional = Figure, low, high, field, true
	clamp := k // the closure must not keep a copy of itself
	k.fixes = becomes(func(t *Setup) { *field(t) = clamp.clamp(*field(t)) })
	return k
}

// runKnobs returns what a whole training run takes next to the setup.
func runKnobs() []Knob {
	return []Knob{
		figure(Knob{
			ID: Tokens, Label: "train on", Unit: "tokens", Large: true,
			Help: "Tokens of the whole training run, such as 15T: gives days, GPU-hours, cost and " +
				"energy; none leaves the run out.",
			Choices: []string{noFigure, "100B", "300B", "1T", "2T", "5T", "10T", "15T", "20T", "40T"},
			// fewer are trillions whose T was forgotten
		}, 1e3, 1e18, func(s *Setup) *float64 { return &s.Budget }),
		figure(Knob{
			ID: Price, Label: "price", Unit: "$ per GPU-hour",
			Help: "Dollars per GPU and hour: cost of the whole run = GPU-hours x price; none uses the " +
				"GPU's preset where there is one.",
			Choices: []string{noFigure, "0.5", "1", "1.5", "2", "2.5", "3", "4", "5", "6", "8", "10"},
		}, 1e-3, 1e6, func(s *Setup) *float64 { return &s.Price }),
		figure(Knob{
			ID: Power, Label: "power", Unit: "W per GPU",
			Help: "Watts that a GPU draws while it trains: energy of the whole run = GPU-hours x power; " +
				"none uses the GPU's TDP, an upper bound.",
			Choices: []string{noFigure, "300", "400", "500", "600", "700", "800", "1000", "1200", "1400"},
		}, 1, 1e5, func(s *Setup) *float64 { return &s.Power }),
		figure(Knob{
			ID: PUE, Label: "all power / GPUs'",
			Help: "All power over that of the GPUs alone (host, network, storage, cooling), which is no " +
				"facility PUE: multiplies the energy of the whole run; none counts the GPUs alone.",
			Choices: []string{noFigure, "1", "1.1", "1.2", "1.3", "1.5", "2"},
		}, 1, 10, func(s *Setup) *float64 { return &s.PUE }),
		figure(Knob{
			ID: FacilityPUE, Label: "facility PUE",
			Help: "Power of the data centre over that of its machines, as operators publish it (1.08 to " +
				"1.2): multiplies the energy of the whole run, with a published share for hosts and " +
				"network; none counts the GPUs alone.",
			Choices: []string{noFigure, "1", "1.1", "1.15", "1.2", "1.3", "1.5"},
			Off: func(s *Setup) (why, word string) {
				return offWhere(s.PUE > 0, "--pue includes it", "")
			},
		}, 1, 10, func(s *Setup) *float64 { return &s.Site }),
		figure(Knob{
			ID: Goodput, Label: "goodput", Unit: "%",
			Help: "Share of the time in percent in which steps advance the run: failures, restarts, " +
				"checkpoints and evaluation take the rest; none assumes no loss.",
			Choices: []string{noFigure, "80", "85", "90", "95", "99", "100"},
		}, 1, 100, func(s *Setup) *float64 { return &s.Goodput }),
	}
}
