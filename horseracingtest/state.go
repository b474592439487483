package horseracingtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/horseracing-go/horseracing"
)

// AddRaces adds races to the service, or replaces those with the same MainRaceID. A
// race with a FinalOrder, or with a StartTime that has passed, is in the results
// unchanged. The others are open: they take registrations until their deadline, run,
// and appear in the results one to thirty-five minutes after their start, like races of
// the schedule. Only the race's Participants and horses registered later take part.
//
// MainRaceID and StartTime are required. Other empty fields get a default: the
// deadline is the start, Tier is Omega, Type is best_time, Places is 12, or the
// number of participants if that is more, and MaxLevel is 100. It panics if a
// required field is missing, or if the fake does not have the tier.
func (s *Server) AddRaces(races ...horseracing.Race) {
	now := s.catchUp()
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	added := make([]*liveRace, len(races))
	for i := range races {
		added[i] = s.world.given(&races[i]) // before any is in the world
	}
	for i, r := range added {
		s.world.addLive(r)
		if len(races[i].FinalOrder) > 0 || r.start <= now {
			s.world.publish(r)
		}
	}
}

// publish moves a race to the results at once.
func (w *world) publish(r *liveRace) {
	r.isFinished = true
	w.upcoming = slices.DeleteFunc(w.upcoming, func(other *liveRace) bool { return other == r })
	w.races[r.tier].add(order[int64]{r.start, r.id}, r)
}

// given turns a race that a test adds into one as the service has it.
func (w *world) given(from *horseracing.Race) *liveRace {
	r := w.convert(from)
	switch {
	case r.id <= 0:
		panic("horseracingtest: a race to add has no MainRaceID")
	case from.StartTime.IsZero():
		panic(fmt.Sprintf("horseracingtest: race %d has no StartTime", r.id))
	case r.tier == 0:
		panic(fmt.Sprintf("horseracingtest: race %d: there is no tier %q, only %s", r.id, from.Tier, strings.Join(tierNames[1:], ", ")))
	}
	r.runs()
	return r
}

// convert turns a race as users write it into one as the service has it.
func (w *world) convert(from *horseracing.Race) *liveRace {
	r := &liveRace{key: uint64(drawFrom(w.seed, forLiveRaces, uint64(from.MainRaceID)))}
	r.race = race{
		oid: from.ID, id: int64(from.MainRaceID), start: from.StartTime.UnixMilli(), deadline: from.RegistrationDeadline.UnixMilli(),
		kind: string(from.Type), length: from.Length, v2: from.V2, noEquipment: from.NoEquipment,
		money: money{fee: from.EntryFee.String(), prizes: "[]"}, tier: tierOf(string(from.Tier)),
		info:   raceInfo{from.Info.Name, from.Info.HippodromeType, from.Info.HippodromeName, from.Info.Turf},
		places: from.Places, minLevel: from.MinLevel, maxLevel: from.MaxLevel, status: string(from.Status),
		finalOrder: slices.Clone(from.FinalOrder), winners: slices.Clone(from.Winners),
	}
	if from.Tier == "" {
		r.tier = omega
	}
	if r.tier == 0 {
		r.tierName = string(from.Tier)
	}
	if from.RegistrationDeadline.IsZero() {
		r.deadline = r.start
	}
	if r.maxLevel == 0 {
		r.maxLevel = 100
	}
	if r.places == 0 {
		r.places = max(12, len(from.Participants))
	}
	r.worstTime = from.Type == horseracing.RaceTypeWorstTime
	if len(from.Prizes) > 0 {
		prizes := make([]string, len(from.Prizes))
		for i, p := range from.Prizes {
			prizes[i] = p.String()
		}
		r.money.prizes = "[" + strings.Join(prizes, ",") + "]"
	}
	for _, p := range from.Participants {
		r.participants = append(r.participants, participant{int64(p.Number), p.Total, p.Lane})
	}
	return r
}

// RemoveRaces removes races from the service. Ids of races that do not exist are
// ignored.
func (s *Server) RemoveRaces(ids ...horseracing.RaceID) {
	s.catchUp()
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	for _, id := range ids {
		s.world.removeRace(int64(id))
	}
}

// AddTournaments adds tournaments to the service, or replaces added ones with the
// same ID. Those with Status 2 are in the results, the others are open. They are
// shown as given and do not change with the clock. ID and StartTime are required;
// Tier defaults to Omega. It panics if a required field is missing, or if the fake
// does not have the tier.
func (s *Server) AddTournaments(tournaments ...horseracing.Tournament) {
	s.catchUp()
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	for _, from := range tournaments { // before any is in the world
		switch {
		case from.ID == "":
			panic("horseracingtest: a tournament to add has no ID")
		case from.StartTime.IsZero():
			panic(fmt.Sprintf("horseracingtest: tournament %s has no StartTime", from.ID))
		case from.Tier != 0 && !knownTier(int64(from.Tier)):
			panic(fmt.Sprintf("horseracingtest: tournament %s: there is no tier %d", from.ID, from.Tier))
		}
	}
	for _, from := range tournaments {
		from.Tier = cmp.Or(from.Tier, horseracing.TierOmega)
		from.Prizes = notNil(from.Prizes)
		from.Participants = notNil(from.Participants)
		from.AdditionalPrizes = notNil(from.AdditionalPrizes)
		from.Stages = slices.Clone(notNil(from.Stages))
		for i := range from.Stages {
			from.Stages[i].Results = notNil(from.Stages[i].Results)
		}
		t := &tournament{id: string(from.ID), tier: int(from.Tier), start: from.StartTime.UnixMilli(), given: encode(from)}
		s.world.addTournament(t, from.Status == cupIsOver)
	}
}

func (w *world) addTournament(t *tournament, over bool) {
	if old := w.tournaments[t.id]; old != nil {
		w.current = slices.DeleteFunc(w.current, func(other *tournament) bool { return other == old })
		w.cups[old.tier].remove(order[string]{old.start, old.id})
	}
	w.tournaments[t.id] = t
	if over {
		w.cups[t.tier].add(order[string]{t.start, t.id}, t)
	} else {
		w.current = append(w.current, t)
	}
}
