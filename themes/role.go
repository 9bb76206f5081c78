package themes

// Role is the purpose of a piece of text. Screens ask for roles; only the palette
// files know colours.
type Role uint8

// Roles of text and lines.
const (
	Text    Role = iota // ordinary text: the terminal's own foreground
	Strong              // figures and names that are read first
	Muted               // labels, units, remarks
	Faint               // decoration that may be missed: rules, empty tracks
	Title               // name of the program
	Heading             // name of a panel
	Accent              // the focused thing
	Focus               // row of the focused knob
	Current             // the current value on a ladder
	Good                // better, fits
	Warn                // legal, but look here
	Bad                 // illegal, does not fit, worse
	Key                 // name of a key in a help line
	Entry               // text that is being typed
	Match               // letters that a filter matched
	Chosen              // chosen line of a list
	Time                // curve of the step time
	Memory              // curve of the peak memory
	Limit               // a limit line: usable memory
	Cursor              // operation under the cursor; drawn reversed
	Input               // operation that it reads from
	Reader              // operation that reads its result
	numRoles
)

// Fill is what an area of a bar represents. An area has a colour, an ink that
// is readable on it, and, because colour is never the only carrier, a letter
// and a shade.
type Fill uint8

// Fills of memory terms, parts of a step, pipeline operations and gauges.
const (
	Weights Fill = iota
	Gradients
	Optimizer
	Activations
	Logits
	Buffers
	Overhead

	Compute
	Recompute
	Bubble
	Exposed
	Update  // the optimizer's share of a step
	Offload // copies to and from host memory and drives

	Forward
	ForwardAlt // the neighbour shade, for the next micro-batch or chunk
	Backward
	BackwardAlt
	InputGrad
	WeightGrad
	Idle // waiting while the pipeline fills or drains

	Gauge
	GaugeBad
	Empty // the unused part of a bar

	Heat1 // cells of a heat map, from the least value
	Heat2
	Heat3
	Heat4 // to the largest
	numFills
)

// roleNames and fillNames are the keys of the palette files, in the order of
// the constants.
func roleNames() [numRoles]string {
	return [numRoles]string{
		"text", "strong", "muted", "faint", "title", "heading", "accent", "focus", "current",
		"good", "warn", "bad", "key", "entry", "match", "chosen", "time", "memory", "limit",
		"cursor", "input", "reader",
	}
}

func fillNames() [numFills]string {
	return [numFills]string{
		"weights", "gradients", "optimizer", "activations", "logits", "buffers", "overhead",
		"compute", "recompute", "bubble", "exposed", "update", "offload",
		"forward", "forward-alt", "backward", "backward-alt", "input-grad", "weight-grad", "idle",
		"gauge", "gauge-bad", "empty",
		"heat-1", "heat-2", "heat-3", "heat-4",
	}
}

// String returns the role's key in the palette files.
func (r Role) String() string {
	if r >= numRoles {
		return "unknown"
	}
	return roleNames()[r]
}

// String returns the fill's key in the palette files.
func (f Fill) String() string {
	if f >= numFills {
		return "unknown"
	}
	return fillNames()[f]
}

// Mark is how a fill is told apart without colour: the letter that stands at
// its start, and the shade that fills it where colours are missing.
type Mark struct {
	Letter rune
	Shade  rune // needs Unicode; where that is missing the letter fills the area
}

// Mark of a fill.
func (f Fill) Mark() Mark {
	return [numFills]Mark{
		Weights: {'W', '█'}, Gradients: {'G', '▓'}, Optimizer: {'O', '▒'}, Activations: {'A', '░'},
		Logits: {'L', '▚'}, Buffers: {'B', '▤'}, Overhead: {'+', ':'},
		Compute: {'C', '█'}, Recompute: {'R', '▓'}, Bubble: {'b', '·'}, Exposed: {'X', '▒'},
		Update: {'U', '░'}, Offload: {'O', '▤'},
		Forward: {'F', '▒'}, ForwardAlt: {'f', '░'}, Backward: {'B', '█'}, BackwardAlt: {'b', '▓'},
		InputGrad: {'I', '▓'}, WeightGrad: {'W', '░'}, Idle: {'.', '·'},
		Gauge: {'#', '█'}, GaugeBad: {'!', '█'}, Empty: {'.', '·'},
		Heat1: {'1', '·'}, Heat2: {'2', '░'}, Heat3: {'3', '▒'}, Heat4: {'4', '▓'},
	}[min(f, numFills-1)]
}
