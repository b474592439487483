package world

import "fmt"

// Key makes up a key from the seed: key 0 is that of the application, the others those
// of the users.
func Key(seed uint64, n int) uint64 { return uint64(drawFrom(seed, forKeys, uint64(n))) }

func userKey(seed uint64, user int) string {
	return fmt.Sprintf("user-key-%d-%016x", user, Key(seed, user+1))
}
