package horseracingtest

import (
	"fmt"

	"github.com/horseracing-go/horseracing"
)

// NumUsers returns how many users the fake has keys for, numbered from 0. See
// [WithUsers].
func (s *Server) NumUsers() int { return s.settings.world.Users }

// UserKey returns the key of a user, numbered from 0. It panics if the user does not
// exist.
func (s *Server) UserKey(user int) horseracing.UserKey {
	s.mustHaveUser(user)
	return horseracing.UserKey(s.world.UserKey(user))
}

// Horses returns the horses of a user, in ascending order. Six belong to each
// user from the start, of levels 15, 35, 50, 5, 75 and 100; [Server.AddHorses]
// adds more. It panics if the user does not exist.
func (s *Server) Horses(user int) []horseracing.HorseNumber {
	s.mustHaveUser(user)
	var horses []horseracing.HorseNumber
	for _, number := range s.world.Horses(user) {
		horses = append(horses, horseracing.HorseNumber(number))
	}
	return horses
}

func (s *Server) mustHaveUser(user int) {
	if user < 0 || user >= s.settings.world.Users {
		panic(fmt.Sprintf("horseracingtest: there is no user %d, only 0 to %d", user, s.settings.world.Users-1))
	}
}
