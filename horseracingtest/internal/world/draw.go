package world

import "math/bits"

// draw is a stream of numbers that depends only on where it started
// (SplitMix64). Everything the fake makes up comes from one, so that the same
// seed gives the same service, and so that any race of a long history can be
// made up on its own.
type draw uint64

// drawFrom starts a stream that belongs to the seed and to what the two
// numbers mean.
func drawFrom(seed, a, b uint64) draw {
	d := draw(seed)
	d = draw(d.next() ^ a)
	d = draw(d.next() ^ b)
	return draw(d.next())
}

func (d *draw) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number from 0 to n-1; n must be positive.
func (d *draw) below(n int) int { return int(d.below64(int64(n))) }

// below64 is below for spans of time, which an int of 32 bits does not hold.
func (d *draw) below64(n int64) int64 {
	high, _ := bits.Mul64(d.next(), uint64(n))
	return int64(high)
}

// between returns a number from low to high, both included.
func (d *draw) between(low, high int) int { return low + d.below(high-low+1) }

// oneIn is true once in n draws.
func (d *draw) oneIn(n int) bool { return d.below(n) == 0 }

// pick returns one of the values.
func pick[T any](d *draw, values []T) T { return values[d.below(len(values))] }

// What a stream is for: two uses of one seed must not repeat each other.
const (
	forDays uint64 = iota + 1
	forTies
	forInstants
	forRaces
	forLiveRaces
	forRuns
	forHorses
	forMissions
	forBreeding
	forTournaments
	forLiveTournaments
	forKeys
)
