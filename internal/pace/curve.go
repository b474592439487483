package pace

import "math"

// curve is the rate between a recovery and the next refusal. It returns to what
// is known with the cube of the time that is left until then, and rises beyond
// with the cube of the time since.
type curve struct {
	*tuning
	known   float64 // requests a second; zero: none
	returns float64 // seconds until the rate is back at what is known
	rises   float64 // seconds from then on, until it is beyond that by the steepness
	elapsed float64 // seconds in which the rate was what held requests back
}

// at returns the rate so many seconds after its return.
func (c curve) at(seconds float64) float64 {
	return c.known * (1 + math.Pow(seconds/c.scale(seconds), 3))
}

// scale returns in how many seconds the rate changes by itself, before its
// return, or after it.
func (c curve) scale(seconds float64) float64 {
	if seconds < 0 {
		return c.returns / math.Cbrt(c.margin)
	}
	return c.rises / math.Cbrt(c.steepness)
}

// beyond returns how many requests were sent beyond that rate, while it was
// exceeded.
func (c curve) beyond(rate float64) float64 {
	more := rate - c.known
	from := max(math.Cbrt(more/c.known)*c.scale(more), -c.returns)
	to := c.elapsed - c.returns
	if from >= to {
		return 0
	}
	return -more*(to-from) + (to*(c.at(to)-c.known)-from*(c.at(from)-c.known))/4
}

// bisect returns where f, positive below, becomes zero.
func bisect(high float64, f func(float64) float64) float64 {
	low := 0.0
	for range 40 {
		if middle := (low + high) / 2; f(middle) > 0 {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
