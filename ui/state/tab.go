package state

// Tab is which screen is shown.
type Tab uint8

// Screens, in the order of the tabs.
const (
	ExploreTab Tab = iota
	MemoryTab
	PipelineTab
	NetworkTab
	SearchTab
	CompareTab
	ScanTab
	EvidenceTab
	Tabs // how many there are
)

// String is the tab's name.
func (t Tab) String() string {
	switch t {
	case MemoryTab:
		return "Memory"
	case PipelineTab:
		return "Pipeline"
	case NetworkTab:
		return "Network"
	case SearchTab:
		return "Search"
	case CompareTab:
		return "Compare"
	case ScanTab:
		return "Scan"
	case EvidenceTab:
		return "Evidence"
	default:
		return "Explore"
	}
}

// Next is the tab n places further on, in a circle.
func (t Tab) Next(n int) Tab { return Tab(((int(t)+n)%int(Tabs) + int(Tabs)) % int(Tabs)) }
