package horseracingtest

import (
	"fmt"
	"net/http"

	"github.com/horseracing-go/horseracing"
)

// NumUsers returns how many users the fake has keys for, numbered from 0. See
// [WithUsers].
func (s *Server) NumUsers() int { return s.settings.users }

// UserKey returns the key of a user, numbered from 0. It panics if the user does not
// exist.
func (s *Server) UserKey(user int) horseracing.UserKey {
	s.mustHaveUser(user)
	return horseracing.UserKey(s.userKey(user))
}

func (s *Server) userKey(user int) string {
	return fmt.Sprintf("user-key-%d-%016x", user, uint64(drawFrom(s.settings.seed, forKeys, uint64(user)+1)))
}

// userOf returns the user a key belongs to.
func (s *Server) userOf(key string) (int, *refusal) {
	user, ok := s.userKeys[key]
	if !ok {
		return 0, refuse(http.StatusForbidden, "unknown_user_key", "the user_key belongs to no user of this service")
	}
	return user, nil
}

// Horses returns the horses of a user, in ascending order. Six belong to each
// user from the start, of levels 15, 35, 50, 5, 75 and 100; [Server.AddHorses]
// adds more. It panics if the user does not exist.
func (s *Server) Horses(user int) []horseracing.HorseNumber {
	s.mustHaveUser(user)
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	var horses []horseracing.HorseNumber
	for _, number := range s.world.horsesOf(user) {
		horses = append(horses, horseracing.HorseNumber(number))
	}
	return horses
}

func (s *Server) mustHaveUser(user int) {
	if user < 0 || user >= s.settings.users {
		panic(fmt.Sprintf("horseracingtest: there is no user %d, only 0 to %d", user, s.settings.users-1))
	}
}
