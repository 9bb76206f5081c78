package knob

import (
	"fmt"
	"strconv"

	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/schedule"
)

// Locks say what stays when a knob turns. GPUs on: DP follows TP, PP and CP at
// a constant number of GPUs; off: DP stays and the GPUs follow. Batch on: the
// number of micro-batches follows DP and the micro-batch size at a constant
// global batch; off: the number stays and the global batch follows. Tokens on: the global
// batch follows the sequence at constant tokens; off: its sequences stay.
type Locks struct {
	GPUs   bool `json:"gpus"`
	Batch  bool `json:"batch"`
	Tokens bool `json:"tokens"`
}

// Lock names a lock.
type Lock uint8

// The locks: one fixes the GPUs or DP, one the global batch or the micro-batches, one the
// tokens or the sequences of a batch.
const (
	NoLock Lock = iota
	GPULock
	BatchLock
	TokenLock
)

// Turn sets a knob and lets its followers follow. The result may be
// illegal: Check tells. A value that cannot be taken is a *ValueError and
// leaves the setup as it was.
func Turn(s Setup, id ID, text string, l Locks) (Setup, error) {
	k := find(id)
	if k == nil {
		return s, Unknown(id, text)
	}
	var turned Setup
	if err := turnInto(&turned, &s, k, text, l); err != nil {
		return s, err
	}
	return turned, nil
}

// turnInto makes s what old is turned to; by pointers, since a Setup is large.
func turnInto(s, old *Setup, k *Knob, text string, l Locks) error {
	*s = *old
	if err := k.setTo(s, text); err != nil {
		return err
	}
	// Turning to the current value changes nothing, also where the identities
	// are broken. Of nodes the text is compared: the last may be partly used.
	if *s == *old || k.textOf(s) == k.textOf(old) {
		*s = *old
		return nil
	}
	return derive(s, old, k, text, l)
}

// derive lets everything else follow a knob that was set.
func derive(s, old *Setup, k *Knob, text string, l Locks) error {
	k.followed(s, old, l)
	return derivedBounds(s, old, k, text, l)
}

func (k *Knob) followed(s, old *Setup, l Locks) {
	if k.follow != nil {
		k.follow(s, old, l)
	}
	followSplit(s, old)
}

// Copy gives a setup the value that another has of a knob; nothing follows.
func Copy(id ID, to, from *Setup) {
	if k := find(id); k != nil {
		if k.ID == Nodes { // it has no field
			to.GPUs = from.Nodes() * to.Cluster.Node()
			return
		}
		k.copyField(to, from)
	}
}

// Follow makes DP and the number of micro-batches follow from everything else.
func Follow(s *Setup) {
	s.DP = max(1, s.GPUs/max(1, product(s.TP, s.PP, s.CP)))
	s.MicroBatches = microBatchesOf(s)
}

// followDegree keeps the GPUs (DP follows) or DP (the GPUs follow). Sequence
// parallelism goes with TP unless it was switched by hand.
func followDegree(s, old *Setup, l Locks) {
	if s.TP != old.TP && old.SP == (old.TP > 1) {
		s.SP = s.TP > 1
	}
	replica := product(s.TP, s.PP, s.CP)
	if !l.GPUs {
		s.GPUs = product(s.DP, replica)
		return
	}
	s.DP = max(1, s.GPUs/replica)
	if s.DP != old.DP {
		followDP(s, l)
	}
}

// followGPUs cuts another number of GPUs into as many replicas as go.
func followGPUs(s, old *Setup, l Locks) {
	s.DP = max(1, s.GPUs/product(s.TP, s.PP, s.CP))
	if s.DP != old.DP {
		followDP(s, l)
	}
}

// followSplit keeps a balanced split balanced over another number of stages.
func followSplit(s, old *Setup) {
	if s.Split == "" || s.Split != old.Split || s.Stages() == old.Stages() ||
		s.Split != layout.BalancedSplit(old.Model.Layers, old.Stages()) {
		return
	}
	if s.Split = ""; s.Stages() <= s.Model.Layers {
		s.Split = layout.BalancedSplit(s.Model.Layers, s.Stages())
	}
}

// followDP is the batch rule after a change of DP or of the micro-batch size.
func followDP(s *Setup, l Locks) {
	if l.Batch {
		s.MicroBatches = microBatchesOf(s)
		return
	}
	s.GBS = product(s.MBS, s.MicroBatches, s.DP)
}

// microBatchesOf returns the number of micro-batches of the global batch, rounded down.
func microBatchesOf(s *Setup) int { return max(1, s.GBS/product(s.MBS, s.DP)) }

// followVPP keeps the schedule one that can have that many stages per rank: a
// relative of the one before, with whole or split backwards as it had.
func followVPP(s *Setup) {
	info, ok := s.Schedule.Info()
	if !ok || info.Chunks == s.VPP || info.Chunks == 0 && s.VPP > 1 {
		return
	}
	switch several := s.VPP > 1; {
	case several && info.SplitsBackward:
		s.Schedule = schedule.InterleavedZB
	case several:
		s.Schedule = schedule.Interleaved
	case info.SplitsBackward:
		s.Schedule = schedule.ZBH1
	default:
		s.Schedule = schedule.OneFOneB
	}
}

// followSchedule gives a schedule as many stages per rank as it needs, and one
// that interleaves any number at least two to interleave.
func followSchedule(s *Setup) {
	switch info, _ := s.Schedule.Info(); {
	case info.Chunks > 0:
		s.VPP = info.Chunks
	case s.VPP == 1:
		s.VPP = 2
	}
}

// derivedBounds holds what followed a turn against the named bounds; the nearest value is the last on the way
// from the old one that keeps them.
func derivedBounds(s, old *Setup, k *Knob, text string, l Locks) error {
	allowed := beyond(s)
	if allowed == "" {
		return nil
	}
	wrong := &ValueError{Field: string(k.ID), Given: text, Allowed: allowed}
	if k.Kind == Number {
		keeps, breaks := k.intOf(old), k.intOf(s)
		for mid := (keeps + breaks) / 2; mid != keeps && mid != breaks; mid = (keeps + breaks) / 2 {
			t := *old
			if k.setTo(&t, strconv.Itoa(mid)) != nil {
				break
			}
			if k.followed(&t, old, l); beyond(&t) == "" {
				keeps = mid
			} else {
				breaks = mid
			}
		}
		wrong.Nearest = strconv.Itoa(keeps)
	}
	return wrong
}

// beyond says what keeps a setup within the named bounds; empty where it is.
func beyond(s *Setup) string {
	for _, b := range [...]struct {
		is, most int
		what     string
	}{
		{s.GPUs, MaxGPUs, "GPUs"},
		{s.DP, MaxDegree, "replicas (dp)"},
		{s.MicroBatches, MaxMicroBatches, "micro-batches"},
		{s.GBS, MaxBatch, "sequences in a global batch"},
	} {
		if b.is > b.most {
			return fmt.Sprintf("a value with at most %d %s; here %d follow", b.most, b.what, b.is)
		}
	}
	return ""
}

// WithModel trains another model on the same layout. What the new model does
// not have falls back: a longer sequence than it knows, experts, extra
// prediction modules, a stage split made for the old one.
func WithModel(s Setup, m model.Model) Setup {
	s.Model, s.Split = m, ""
	if m.MaxSeq > 0 {
		s.Seq = min(s.Seq, m.MaxSeq)
	}
	if !m.IsMoE() {
		s.EP, s.ETP = 1, 1
	}
	if m.MTPLayers == 0 {
		s.TrainMTP = false
	}
	return s
}
