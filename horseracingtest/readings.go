package horseracingtest

import (
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/wire"
	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
)

// Readings are ways in which the service may read its own document, where that leaves
// something open. The zero value is the literal reading, which the fake has otherwise.
// They can be combined. An HTML page or a cut body with status 200 is a [Fault].
type Readings struct {
	// Participants is when a race lists its participants: always (""), only "from start",
	// only "in result", only "until start" (the results list them nevertheless), or
	// "others first": those that were registered with a user's key only in the result.
	Participants string

	// RepeatedAs is the status, such as 409, of "already registered". If it is set, a front
	// server sends each registration twice and passes on the second response.
	RepeatedAs int

	// Confirmation and Refusal are the bodies of the responses, both with status 200, to a
	// registration that was accepted or refused. "empty" stands for no body.
	Confirmation, Refusal string

	OtherRace, OtherHorse bool // the response for a race or a horse is the one with the next number, alone

	// Heats makes a race whose id ends in 1 a second heat: it has the id of the race before
	// it, unless both start at the same time. That race's operation returns both.
	Heats bool

	EarlyResults   bool   // a race is in the results from its start on, at first without a final order
	EmptyOpen      int    // one response of this many for the open races is an empty list
	Seconds        bool   // times of races and tournaments are written in seconds
	Inclusive      bool   // start_time_from is inclusive
	TierName       string // the tier that all races are written with
	EmptyList      string // how an empty list is written: "" as [], or as "null", "204" or "404"
	LatestByFinish bool   // a page of finished races has the ten that finished last, of those that started before
	FeesRise       bool   // a registration costs twice the fee that the race shows
	WholeTokens    bool   // fees are written divided by 10^18

	// Members are the JSON values of members that have another type than documented,
	// by their paths, such as "tier" or "info.turf" or "participants.total". The first name
	// is that of a member of an entry or of a response that is an object.
	Members map[string]string

	DateOff time.Duration // added to the header Date
}

// WithReadings makes the fake read its document in other ways than the literal one.
func WithReadings(r Readings) Option {
	return func(s *settings) {
		s.wire.Readings = wire.Readings(r)
		s.wire.World.Readings = world.Readings{EarlyResults: r.EarlyResults, LatestByFinish: r.LatestByFinish, FeesRise: r.FeesRise}
	}
}
