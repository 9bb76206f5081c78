package ledger

import "slices"

const (
	kib = 1 << 10
	mib = 1 << 20

	blockBytes   = 512      // blocks are multiples of it
	smallTensor  = mib      // tensors up to this come from segments of smallSegment
	smallSegment = 2 * mib  // and those up to middleTensor from segments of middleSegment
	middleTensor = 10 * mib // beyond: a segment of their own, in steps of smallSegment
	middleSeg    = 20 * mib
)

// stream is what a tensor was allocated on: the allocator keeps a free list for each.
type stream uint8

const (
	computing stream = iota
	reducing         // of FSDP's reduce-scatter
	gathering        // of its all-gather
	streams
)

// block is a piece of a segment of the caching allocator.
type block struct {
	size       int64
	address    int64 // orders blocks of one size
	prev, next *block
	free       bool
	small      bool
	stream     stream
}

// pool is PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp): best fit over a free list for each
// stream and size class; a large block is cut where more than 1 MiB would remain, a small one always; nothing
// is given back to the driver. With expandable segments (PYTORCH_CUDA_ALLOC_CONF) each list has one segment,
// which grows at its end, and every block is cut.
type pool struct {
	expandable          bool
	ends                [streams][2]*block // of expandable segments
	now, peak, reserved int64
	free                [streams][2][]*block // by size, then address
	segments            int64
	spare               []*block
	want                block // what is looked for
}

func (p *pool) list(b *block) *[]*block { return &p.free[b.stream][b.class()] }

func (b *block) class() int {
	if b.small {
		return 1
	}
	return 0
}

func compareBlocks(a, b *block) int {
	if a.size != b.size {
		if a.size < b.size {
			return -1
		}
		return 1
	}
	switch {
	case a.address < b.address:
		return -1
	case a.address > b.address:
		return 1
	}
	return 0
}

func (p *pool) insert(b *block) {
	list := p.list(b)
	at, _ := slices.BinarySearchFunc(*list, b, compareBlocks)
	*list = slices.Insert(*list, at, b)
}

func (p *pool) remove(b *block) {
	list := p.list(b)
	at, _ := slices.BinarySearchFunc(*list, b, compareBlocks)
	*list = slices.Delete(*list, at, at+1)
}

func (p *pool) newBlock() *block {
	if n := len(p.spare); n > 0 {
		b := p.spare[n-1]
		p.spare = p.spare[:n-1]
		*b = block{}
		return b
	}
	return new(block)
}

// take allocates so many bytes and reports whether the peak rose.
func (p *pool) take(bytes int64, on stream) (b *block, rose bool) {
	bytes = max(blockBytes, (bytes+blockBytes-1)/blockBytes*blockBytes)
	want := &p.want
	*want = block{size: bytes, address: -1, small: bytes <= smallTensor, stream: on}
	list := p.list(want)
	if at, _ := slices.BinarySearchFunc(*list, want, compareBlocks); at < len(*list) {
		b = (*list)[at]
		*list = slices.Delete(*list, at, at+1)
	} else if p.expandable {
		b = p.grow(bytes, want)
	} else {
		b = p.segment(bytes)
		b.small, b.stream = want.small, on
	}
	if rest := b.size - bytes; rest > mib || (want.small || p.expandable) && rest >= blockBytes {
		cut := p.newBlock()
		cut.size, cut.address, cut.small, cut.stream, cut.free = rest, b.address+bytes, b.small, on, true
		cut.prev, cut.next = b, b.next
		if b.next != nil {
			b.next.prev = cut
		}
		b.next, b.size = cut, bytes
		p.insert(cut)
		if end := &p.ends[on][b.class()]; *end == b {
			*end = cut
		}
	}
	b.free = false
	p.now += b.size
	if rose = p.now > p.peak; rose {
		p.peak = p.now
	}
	return b, rose
}

// segment asks the driver for memory that holds so many bytes.
func (p *pool) segment(bytes int64) *block {
	b := p.newBlock()
	switch {
	case bytes <= smallTensor:
		b.size = smallSegment
	case bytes < middleTensor:
		b.size = middleSeg
	default:
		b.size = (bytes + smallSegment - 1) / smallSegment * smallSegment
	}
	p.segments++
	b.address = p.segments << 44
	p.reserved += b.size
	return b
}

// grow maps more memory at the end of the segment that a block like this one is wanted from.
func (p *pool) grow(bytes int64, like *block) *block {
	step := int64(middleSeg)
	if like.small {
		step = smallSegment
	}
	end := &p.ends[like.stream][like.class()]
	b := *end
	if b != nil && b.free {
		p.remove(b)
	} else {
		p.segments++
		b = p.newBlock()
		b.prev, b.small, b.stream, b.address = *end, like.small, like.stream, p.segments<<44
		if b.prev != nil {
			b.prev.next, b.address = b, b.prev.address+b.prev.size
		}
	}
	more := (bytes - b.size + step - 1) / step * step
	b.size += more
	p.reserved += more
	*end = b
	return b
}

// give frees a block and joins it with free neighbours.
func (p *pool) give(b *block) {
	p.now -= b.size
	b.free = true
	if n := b.next; n != nil && n.free {
		p.remove(n)
		b.size += n.size
		b.next = n.next
		if n.next != nil {
			n.next.prev = b
		}
		p.ended(n, b)
		p.spare = append(p.spare, n)
	}
	if o := b.prev; o != nil && o.free {
		p.remove(o)
		o.size += b.size
		o.next = b.next
		if b.next != nil {
			b.next.prev = o
		}
		p.ended(b, o)
		p.spare = append(p.spare, b)
		b = o
	}
	p.insert(b)
}

// ended notes that a block has been joined to another, which may be the end of a segment now.
func (p *pool) ended(b, by *block) {
	if end := &p.ends[b.stream][b.class()]; *end == b {
		*end = by
	}
}
