package world

import (
	"math"
	"slices"
)

// Advance makes happen what was to happen until now.
func (w *World) Advance(now int64) {
	if now < w.due.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	next := int64(math.MaxInt64)
	for ; w.schedule.perHour > 0; w.nextRace++ {
		if opens := w.schedule.opens(w.nextRace); opens > now {
			next = min(next, opens)
			break
		}
		r := w.schedule.race(w.nextRace)
		if _, taken := w.live[r.id]; !taken && r.start > w.begin {
			w.addLive(r)
		}
	}
	for ; len(w.historic) > 0; w.historic = w.historic[1:] {
		if opens := w.historic[0].opens; opens > now {
			next = min(next, opens)
			break
		}
		w.addLive(w.openHistoric(w.historic[0]))
	}
	for ; w.schedule.perHour > 0; w.nextCup++ {
		if opens := w.schedule.cupOpens(w.nextCup); opens > now {
			next = min(next, opens)
			break
		}
		if t := w.schedule.cup(w.nextCup); t.ends() > w.begin {
			w.tournaments[t.id] = t
			w.current = append(w.current, t)
		}
	}
	w.upcoming = slices.DeleteFunc(w.upcoming, func(r *liveRace) bool {
		due := r.catchUp(now)
		next = min(next, due)
		if !r.isListed && (due == published || w.readings.EarlyResults && now >= r.start) {
			w.races[r.tier].add(r.start, r.id, r)
			r.isListed = true
		}
		return due == published
	})
	w.current = slices.DeleteFunc(w.current, func(t *tournament) bool {
		if t.given != nil || now < t.ends() {
			if t.given == nil {
				next = min(next, t.ends())
			}
			return false
		}
		w.cups[t.tier].add(t.start, t.id, t)
		return true
	})
	w.due.Store(next)
}

// openHistoric turns a recorded race into a live one.
func (w *World) openHistoric(h Recorded) *liveRace {
	r := w.convert(h.race)
	r.appears = r.start + historyPublishes
	result := r.race
	r.result = &result
	r.participants, r.finalOrder, r.winners, r.status = nil, nil, nil, ""
	for i, p := range result.participants {
		if horse := w.horse(p.horse); horse == nil || horse.owner < 0 {
			at := h.opens + int64(i+1)*(r.deadline-h.opens)/int64(len(result.participants)+1)
			r.joins = append(r.joins, join{at, p.horse})
		}
	}
	return r
}
