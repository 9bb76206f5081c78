package published

// MemoryKind is what a published figure of memory counts.
type MemoryKind string

// Kinds of memory.
const (
	Allocated MemoryKind = "allocated" // tensors at the peak
	Reserved  MemoryKind = "reserved"  // what the framework took from the driver for them
	Device    MemoryKind = "device"    // everything on the GPU, as the driver reports it
)

// MemoryRank says which pipeline rank a published figure of memory is of.
type MemoryRank string

// Ranks of memory.
const (
	FullestRank MemoryRank = ""
	FirstRank   MemoryRank = "first"
	LastRank    MemoryRank = "last"
)
