package lessons

import "meshscope/engine/figures"

// step returns the step time of a side.
func (s *Side) step() figures.Figure {
	f, _ := s.figure("time.step")
	return f
}
