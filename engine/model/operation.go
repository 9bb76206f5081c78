package model

import (
	"meshscope/engine/recipe"
	"meshscope/engine/record"
)

// Cut says how a tensor lies on the ranks that share a layer.
type Cut uint8

// Cuts.
const (
	Sequence      Cut = iota // along the sequence with SP, else each rank has it whole
	Columns                  // over TP
	KeyValue                 // over TP, but a rank has one head at least
	Routed                   // a row for each expert that a token goes to
	RoutedColumns            // the same, over expert-TP
)

// Tensor is what operations of a layer read and write.
type Tensor struct {
	Width record.Num // elements per token (or per routed token) on all ranks together
	Head  record.Num // those of one head
	Cut   Cut
	FP32  bool // in 4 bytes whatever the precision
	By    int  // the operation that makes it; -1: the layer before

	heads record.Num
}

// Ref is a tensor of a layer; 0 is none.
type Ref uint8

// MaxTensors is more than a layer can have.
const MaxTensors = 1 << 8

// Kind is what an operation does. What a stack keeps of a layer and what a GPU takes for it
// are rules on kinds.
type Kind uint8

// Kinds of operations.
const (
	Product     Kind = iota // by a matrix
	Gate                    // the router's product, which keeps 16 bits where others have fewer
	Grouped                 // by a matrix of each expert
	Core                    // scores, softmax and values of attention: reads queries, keys and values
	Norm                    // of its input
	Activation              // between the matrices of an MLP
	Rotary                  // turns queries and keys
	Choice                  // of experts: softmax and top-k over the router's scores
	Permute                 // of rows to experts and back
	Residual                // adds the output of a sub-layer to its input
	View                    // the same numbers under another name
	Multiply                // of two tensors, element by element
	Convolution             // of each channel over the last tokens
	Scan                    // carries a state from chunk to chunk of a sequence
)

// Part is the part of a layer that an operation belongs to.
type Part uint8

// Parts.
const (
	PartAttention Part = iota
	PartNorms          // around the sub-layers, with the residual stream
	PartMLP            // dense
	PartShared         // experts that every token goes to
	PartRouter
	PartExperts
	PartExtra // what the configuration only counts
	PartCount = iota
)

// Op is one operation of a layer.
type Op struct {
	Kind     Kind
	Part     Part
	ID, Name string // of its figures; operations of one ID run as one kernel
	Kernel   int    // the first operation of that ID
	In, Out  [3]Ref // what it reads and writes
	Apart    bool   // each output has a matrix of its own
	Fused    bool   // part of another kernel: costs no time
	Shared   bool   // its parameters are those of a block that layers share
	// of a product among those of the layer that selective recomputation counts: of the first output where
	// they are apart
	Number int
	Module recipe.Modules // those of --recompute that it belongs to
	// parameters that are no matrix: biases, a norm's scale, channels of a convolution
	Other  record.Num
	Taps   record.Num // tokens that a convolution sees
	Blocks record.Num // of a product whose matrix has one block for each head; 0: one
	Scan   *ScanCost  // of a Scan
}

// ScanCost is what a scan in chunks does, all heads together.
type ScanCost struct {
	Again bool       // its inputs are made again from the projection's output, not saved
	State record.Num // elements that a sequence carries on
	// Gathers is what a rank of CP gives all others of a sequence, in elements of fp32, where each has its
	// part of the sequence; 0: the sequence is exchanged for heads.
	Gathers record.Num
	FLOPs   [2]record.Num // of a token, forward and backward
	Moved   [2]record.Num // elements of a token that its kernels read and write, forward and backward
}

// Layer is a short program: the operations of one layer in order.
type Layer struct {
	ID, Name string // of its kind: in identifiers of figures, and in their texts and operands
	Words    string // Name with blanks, for readers
	Mixer    string // ID of what mixes tokens: layers with the same one cost and keep the same there
	Index    int    // in Program.Layers
	Count    int    // layers of the stack that are like it, without multi-token-prediction modules
	MoE      bool   // with routed experts
	Window   int    // tokens that attention sees at most; 0: all

	Ops     []Op
	Tensors []Tensor   // 0 is none, 1 the layer's input
	Heads   record.Num // of attention
	Experts record.Num // routed ones
	TopK    record.Num // of them that a token goes to

	names  []record.Operand // what names of widths are, where formulas are recorded
	every  int              // tokens of a compressed key that attention sees too; 0: none
	chosen int              // of those, how many; 0: all
	sparse bool             // attention to the Window tokens that were chosen, which all counts are of
	index  record.Num       // FLOPs of the choice for each pair of tokens
	// of the indexer's products, forward
	indexer  record.Num
	hybrid   bool    // the model's layers differ in their mixers
	wide     bool    // its dense ones in the widths of their MLPs
	untaught bool    // the indexer has no gradient
	fewest   float64 // key-value heads of a tensor that is cut by them
	total    float64
	params   LayerParams
	flops    LayerFLOPs // but for the scores
}

// Input is the layer's input.
const Input Ref = 1

// Tensor returns one of the layer's tensors.
func (l *Layer) Tensor(r Ref) *Tensor { return &l.Tensors[r] }

// Width returns the width of all tensors of a list.
func (l *Layer) Width(list [3]Ref) record.Num {
	var sum record.Terms
	for _, r := range list {
		if r != 0 {
			sum.Add(1, l.Tensors[r].Width)
		}
	}
	return sum.Num()
}

// IsProduct reports whether an operation multiplies by a matrix.
func (o *Op) IsProduct() bool { return o.Kind <= Grouped }

// Weights returns the elements of an operation's matrices: of one expert where there is
// one for each.
func (l *Layer) Weights(o *Op) record.Num {
	if !o.IsProduct() {
		return record.Num{}
	}
	all := l.Tensors[o.In[0]].Width.Times(l.Width(o.Out))
	if o.Blocks.V > 0 {
		return all.Over(o.Blocks)
	}
	return all
}

// SplitOut and SplitIn report whether TP (expert-TP) cuts an operation's output, its input.
func (l *Layer) SplitOut(o *Op) bool { return l.Tensors[o.Out[0]].Cut.split() }

// SplitIn is SplitOut of the input.
func (l *Layer) SplitIn(o *Op) bool { return l.Tensors[o.In[0]].Cut.split() }

func (c Cut) split() bool { return c == Columns || c == KeyValue || c == RoutedColumns }

// Core returns the attention of the layer; false where there is none.
func (l *Layer) Core() (*Op, bool) {
	for i := range l.Ops {
		if l.Ops[i].Kind == Core {
			return &l.Ops[i], true
		}
	}
	return nil, false
}

// Scanned returns the scan of the layer; nil where there is none.
func (l *Layer) Scanned() *Op {
	for i := range l.Ops {
		if l.Ops[i].Kind == Scan {
			return &l.Ops[i]
		}
	}
	return nil
}

// Regions returns how many pieces of the layer TP runs on cut tensors: each begins with a
// gather of its input and ends with a sum of its output.
func (l *Layer) Regions() int {
	n := 0
	for i := range l.Ops {
		if o := &l.Ops[i]; o.Kind == Product && o.Part != PartExtra && l.SplitIn(o) && !l.SplitOut(o) {
			n++
		}
	}
	return n
}

// Inner returns the width of what the activation of a part reads; 0 where it has none.
func (l *Layer) Inner(p Part) record.Num {
	for i := range l.Ops {
		if o := &l.Ops[i]; o.Kind == Activation && o.Part == p {
			return l.Width(o.In)
		}
	}
	return record.Num{}
}

// On returns a tensor's width on one GPU of so many TP and expert-TP ranks. Each rank has one
// key-value head at least, so that TP beyond their number keeps copies.
func (t *Tensor) On(tp, etp record.Num) record.Num {
	switch t.Cut {
	case Columns:
		return t.Width.Over(tp)
	case KeyValue:
		return t.heads.Over(tp).AtLeast(record.Lit(1)).Times(t.Head)
	case RoutedColumns:
		return t.Width.Over(etp)
	case Sequence, Routed:
	}
	return t.Width
}

// WidthOn returns On of all tensors of a list together.
func (l *Layer) WidthOn(list [3]Ref, tp, etp record.Num) record.Num {
	var sum record.Terms
	for _, r := range list {
		if r != 0 {
			sum.Add(1, l.Tensors[r].On(tp, etp))
		}
	}
	return sum.Num()
}

// Copies returns the parameters of a layer that each rank keeps beyond its share, since TP
// exceeds the key-value heads.
func (l *Layer) Copies(tp record.Num) record.Num {
	var sum record.Terms
	if tp.V > l.fewest {
		for i := range l.Ops {
			sum.Add(1, l.Copied(&l.Ops[i], tp))
		}
	}
	return sum.Num()
}

// Copied is Copies of one operation.
func (l *Layer) Copied(o *Op, tp record.Num) record.Num {
	var sum record.Terms
	if o.Kind != Product {
		return record.Num{}
	}
	for _, r := range o.Out {
		if t := &l.Tensors[r]; t.Cut == KeyValue && t.heads.V < tp.V {
			sum.Add(1, l.Tensors[o.In[0]].Width.Times(t.Head).Times(record.Lit(1).Minus(t.heads.Over(tp))))
		}
	}
	return sum.Num()
}
