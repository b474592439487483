package world

import "fmt"

// Key makes up a key from the seed: key 0 is that of the application, the others those
// of the users.
func Key(seed uint64, n int) uint64 { return uint64(drawFrom(seed, forKeys, uint64(n))) }

// UserKey returns the key of a user, numbered from 0.
func (w *World) UserKey(user int) string {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.userKey(user)
}

func (w *World) userKey(user int) string {
	return fmt.Sprintf("user-key-%d-%016x", user, Key(w.seed, user+1))
}

// userOf returns the user a key belongs to.
func (w *World) userOf(key string) (int, *Refusal) {
	user, found := w.userKeys[key]
	if !found {
		return 0, Refuse(forbidden, "unknown_user_key", "the user_key belongs to no user of this service")
	}
	return user, nil
}

// Horses returns the horses of a user, in ascending order.
func (w *World) Horses(user int) []int64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.horsesOf(user)
}
