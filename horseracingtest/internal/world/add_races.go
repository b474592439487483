package world

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/horseracing-go/horseracing"
)

// AddRaces adds races, or replaces those with the same MainRaceID: all of them, or none
// if there is an error.
func (w *World) AddRaces(now int64, races ...horseracing.Race) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	added := make([]*liveRace, len(races))
	for i := range races {
		var err error
		if added[i], err = w.given(&races[i]); err != nil {
			return err
		}
	}
	for i, r := range added {
		w.addLive(r)
		if len(races[i].FinalOrder) > 0 || r.start <= now {
			w.publish(r)
		}
	}
	return nil
}

// RemoveRaces removes races. Ids of races that do not exist are ignored.
func (w *World) RemoveRaces(ids ...horseracing.RaceID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		w.removeRace(int64(id))
	}
}

// publish moves a race to the results at once.
func (w *World) publish(r *liveRace) {
	r.isFinished, r.isListed = true, true
	w.upcoming = slices.DeleteFunc(w.upcoming, func(other *liveRace) bool { return other == r })
	w.races[r.tier].add(r.start, r.id, r)
}

// given turns a race that a test adds into one as the service has it.
func (w *World) given(from *horseracing.Race) (*liveRace, error) {
	r := w.convert(from)
	switch {
	case r.id <= 0:
		return nil, errors.New("a race to add has no MainRaceID")
	case from.StartTime.IsZero():
		return nil, fmt.Errorf("race %d has no StartTime", r.id)
	case r.tier == 0:
		return nil, fmt.Errorf("race %d: there is no tier %q, only %s", r.id, from.Tier, strings.Join(tierNames[1:], ", "))
	}
	r.runs()
	return r, nil
}

// convert turns a race as users write it into one as the service has it.
func (w *World) convert(from *horseracing.Race) *liveRace {
	r := &liveRace{key: uint64(drawFrom(w.seed, forLiveRaces, uint64(from.MainRaceID)))}
	r.race = race{
		oid: from.ObjectID, id: int64(from.MainRaceID), start: from.StartTime.UnixMilli(), deadline: from.RegistrationDeadline.UnixMilli(),
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
