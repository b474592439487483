package horseracingtest

import (
	"time"

	"github.com/horseracing-go/horseracing"
)

// Registration is a registration that the fake accepted.
type Registration struct {
	Time  time.Time // by the fake's clock
	User  int       // the user whose key was sent
	Horse horseracing.HorseNumber
	Race  horseracing.RaceID
	Fee   horseracing.BigInt // the entry fee of the race
}

// Registrations returns the accepted registrations, in the order in which they
// arrived.
func (s *Server) Registrations() []Registration {
	s.late.catchUp()
	var all []Registration
	for _, r := range s.world.Registrations() {
		all = append(all, Registration(r))
	}
	return all
}
