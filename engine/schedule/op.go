package schedule

import "strconv"

// OpKind is what one operation does.
type OpKind uint8

// Operation kinds, in the letters of the field (and of PyTorch).
const (
	Forward        OpKind = iota // F
	Backward                     // B: input and weight gradient together
	InputGradient                // I
	WeightGradient               // W
)

// String returns the kind's letter.
func (k OpKind) String() string { return "FBIW"[k&3 : k&3+1] }

// Op is one operation of one rank: kind, chunk (which of the rank's stages) and
// micro-batch, packed. Paired marks the first of two operations that run
// overlapped as one: they start together, when both have their inputs, and end
// together.
type Op uint32

// The fields of an Op, from the low bit: 20 bits micro-batch, 8 bits chunk,
// 2 bits kind, 1 bit pair.
const (
	microBatchBits = 20
	chunkBits      = 8

	chunkShift = microBatchBits
	kindShift  = chunkShift + chunkBits
	pairFlag   = Op(1) << (kindShift + 2)
)

// NewOp packs an operation. Chunk must be below 256 and the micro-batch below
// 2^20; higher bits are dropped.
func NewOp(kind OpKind, chunk, microBatch int) Op {
	return Op(kind&3)<<kindShift |
		Op(chunk&(1<<chunkBits-1))<<chunkShift |
		Op(microBatch&(1<<microBatchBits-1))
}

// Kind returns what the operation does.
func (op Op) Kind() OpKind { return OpKind(op>>kindShift) & 3 }

// Chunk returns which of the rank's own stages it works on, from 0.
func (op Op) Chunk() int { return int(op>>chunkShift) & (1<<chunkBits - 1) }

// MicroBatch returns which micro-batch it works on, from 0.
func (op Op) MicroBatch() int { return int(op) & (1<<microBatchBits - 1) }

// Paired reports whether the operation runs overlapped with the next one of its rank.
func (op Op) Paired() bool { return op&pairFlag != 0 }

// Pair returns the operation marked as the first of an overlapped pair.
func (op Op) Pair() Op { return op | pairFlag }

// place is chunk*4+kind, the index of tables by both.
func (op Op) place() int { return op.Chunk()<<2 | int(op.Kind()) }

// String is kind and micro-batch, with the chunk where it is not the first:
// "F12", "B3.1". Order.Text names the model stage instead.
func (op Op) String() string {
	text := op.Kind().String() + strconv.Itoa(op.MicroBatch())
	if c := op.Chunk(); c > 0 {
		text += "." + strconv.Itoa(c)
	}
	return text
}

// Stage returns the model stage that an operation of a rank works on.
func (o *Order) Stage(rank int, op Op) int {
	return o.StageOf(rank, op.Chunk())
}

// StageOf returns the model stage of a rank's chunk.
func (o *Order) StageOf(rank, chunk int) int {
	return o.Placement.stage(o.Spec.Ranks, rank, chunk)
}

// Text returns an operation of a rank as `<model stage><kind><micro-batch>`, "8F3".
func (o *Order) Text(rank int, op Op) string {
	return strconv.Itoa(o.Stage(rank, op)) + op.Kind().String() + strconv.Itoa(op.MicroBatch())
}

// RankText returns the whole list of a rank in that notation, blank-separated, the
// two halves of an overlapped pair joined by "&".
func (o *Order) RankText(rank int) string {
	ops := o.Rank(rank)
	text := make([]byte, 0, 8*len(ops))
	for i, op := range ops {
		if i > 0 {
			sep := byte(' ')
			if ops[i-1].Paired() {
				sep = '&'
			}
			text = append(text, sep)
		}
		text = append(text, o.Text(rank, op)...)
	}
	return string(text)
}
