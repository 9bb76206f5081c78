package layout

// Coordinates are the places of one rank in every dimension: TP, CP, DP and PP
// say which dense weights and tokens it has, ETP, EP and ExpertDP which experts.
type Coordinates struct{ TP, CP, DP, PP, ETP, EP, ExpertDP int }

// Coordinates of a rank in the rank order of Groups: tp fastest, then cp, dp
// and pp; etp, ep and expert-dp fill the same ranks of a pipeline stage.
func (l *Layout) Coordinates(rank int) Coordinates {
	plane := max(l.TP*l.CP*l.DP, 1)
	in := rank % plane
	return Coordinates{
		TP: in % l.TP, CP: in / l.TP % l.CP, DP: in / (l.TP * l.CP), PP: rank / plane,
		ETP: in % l.ETP, EP: in / l.ETP % l.EP, ExpertDP: in / (l.ETP * l.EP),
	}
}

// Ring is one communication group: Size ranks, the first and then every
// Stride-th.
type Ring struct{ First, Stride, Size int }

// Place returns where a rank stands in the ring; false: it is no member.
func (r Ring) Place(rank int) (int, bool) {
	far := rank - r.First
	if far < 0 || far%max(r.Stride, 1) != 0 || far/max(r.Stride, 1) >= r.Size {
		return 0, false
	}
	return far / max(r.Stride, 1), true
}

// At returns the rank at a place of the ring.
func (r Ring) At(place int) int { return r.First + place*r.Stride }

// Ring returns the group of a dimension that a rank belongs to; dimensions are
// named as in the traffic of a step. What has no such group is alone.
func (l *Layout) Ring(dimension string, rank int) Ring {
	plane := l.TP * l.CP * l.DP
	size, stride := 1, 1
	switch dimension {
	case "tp":
		size = l.TP
	case "cp":
		size, stride = l.CP, l.TP
	case "dp":
		size, stride = l.DP*l.CP, l.TP
	case "pp", "pp-wait":
		size, stride = l.PP, plane
	case "etp":
		size = l.ETP
	case "ep":
		size, stride = l.EP, l.ETP
	case "expert-dp":
		size, stride = l.ExpertDP(), l.ETP*l.EP
	case "mirror":
		return l.mirror(rank, plane)
	}
	return Ring{First: rank - rank/stride%size*stride, Stride: stride, Size: size}
}

// mirror returns a rank and the one that has the same stages for the other half of
// the batch: stage p and stage PP-1-p of a bidirectional pipeline.
func (l *Layout) mirror(rank, plane int) Ring {
	p := rank / plane
	other := rank + (l.PP-1-2*p)*plane
	if other == rank {
		return Ring{First: rank, Stride: 1, Size: 1}
	}
	return Ring{First: min(rank, other), Stride: max(rank, other) - min(rank, other), Size: 2}
}
