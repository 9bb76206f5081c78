package serve

import (
	"sync"
	"time"
)

// keepalive asks for an answer, of which any will do.
const keepalive = "keepalive@openssh.com"

// missed is after how many keepalive intervals without an answer a connection is closed.
const missed = 3

// watch asks the client again and again whether it is there. The connection of one whose network
// has gone ends, which TCP alone notices after many minutes.
func (v *visit) watch() {
	every := v.server.config.Limits.Alive
	for v.link.sleep(every); !v.link.ended() && v.answers(missed*every); {
		v.link.sleep(every)
	}
}

// answers reports whether the client answers in a time; its connection ends otherwise.
func (v *visit) answers(patience time.Duration) bool {
	late := time.AfterFunc(patience, func() {
		v.server.events.quietly("connection dropped", "address", v.link.address, "why", "no answer")
		_ = v.link.Close()
	})
	defer late.Stop()
	_, _, err := v.conn.SendRequest(keepalive, true, nil)
	return err == nil
}

// freeSeat ends the visits of presenters who do not answer, so that their seat is free for a new one.
func (s *Server) freeSeat(v *visit) {
	patience := s.config.Limits.Alive / missed
	var asked sync.WaitGroup
	s.mu.Lock()
	for other := range s.visits {
		if other == v || !other.guest.Presenter {
			continue
		}
		asked.Go(func() {
			if other.answers(patience) {
				return
			}
			select {
			case <-other.left:
			case <-time.After(leaveTime):
			}
		})
	}
	s.mu.Unlock()
	asked.Wait()
}
