package world

import (
	"cmp"
	"slices"
)

// tournament is a tournament as the service has it: everything but its times
// follows from its key and the clock.
type tournament struct {
	key   uint64
	id    string
	tier  int
	start int64
	given []byte // JSON of one that a test added; it stays as it is
}

const (
	cupHours = 6 // between two tournaments of the schedule

	cupOpen     = 24 * hourMillis // registration opens this long before the start
	cupDeadline = hourMillis      // and closes this long before it
	roundTime   = 10 * minuteMillis
	stageTime   = 2 * hourMillis // between the starts of two stages
)

// States of tournaments and stages. Documented is 2, of
// finished ones; the others are the fake's own.
const (
	cupIsOpen = iota
	cupRuns
	cupIsOver
)

// cupStages are the rounds of a tournament and how many horses run in each.
var cupStages = []struct {
	name          string
	races, horses int
}{{"Heats", 4, 16}, {"Semi-finals", 2, 8}, {"Final", 3, 4}}

// firstTournamentRace is where the ids of the races of tournaments start. The
// service lists them in stage results only.
const firstTournamentRace = 900_000_000_000

// firstCup is the number of the first tournament of the schedule that can
// still be open at the start.
func (s *schedule) firstCup() int { return -2 * 24 / cupHours }

func (s *schedule) cupOpens(k int) int64 { return s.begin + int64(k)*cupHours*hourMillis }

// cup makes up tournament k of the schedule.
func (s *schedule) cup(k int) *tournament {
	d := drawFrom(s.seed, forLiveTournaments, uint64(k))
	tier := omega
	if d.oneIn(4) {
		tier = d.between(1, omega-1)
	}
	start := s.cupOpens(k) + cupOpen
	return &tournament{key: d.next(), id: objectID(start, 1<<60|uint64(k-s.firstCup())), tier: tier, start: start}
}

// ends is when the tournament turns from the open into the results listing.
func (t *tournament) ends() int64 { return t.start + int64(len(cupStages))*stageTime }

func statusOf(now, start, end int64) int64 {
	switch {
	case now < start:
		return cupIsOpen
	case now < end:
		return cupRuns
	}
	return cupIsOver
}

// standing is a horse in a tournament.
type standing struct {
	horse   int64
	total   float64 // of the last stage it ran
	totals  [3]float64
	dropped int // the last stage it ran
}

// standings makes up who took part and how it went, best last total first.
func (t *tournament) standings() []standing {
	d := draw(t.key)
	field := make([]standing, cupStages[0].horses)
	horse, stride := d.below(horseCount), 2*d.below(horseCount/2)+1
	for i := range field {
		field[i].horse = int64(1 + (horse+i*stride)%horseCount)
	}
	for stage, s := range cupStages {
		running := field[:s.horses]
		for i := range running {
			running[i].totals[stage] = float64(d.between(60_000, 110_000)) / 1000
			running[i].total = running[i].totals[stage]
			running[i].dropped = stage
		}
		slices.SortFunc(running, func(a, b standing) int { return cmp.Compare(a.totals[stage], b.totals[stage]) })
	}
	return field
}

// tokenNames are the members in which the additional prize carries the game's
// currency, for which the API reference writes "token".
//
// See docs/service.md, section 2.5.
var tokenNames = [][2]string{
	{`"additional_token":`, `,"additional_treasury_token":`},
	{`"additional_horseshoe":`, `,"additional_treasury_horseshoe":`},
}

// appendTournament writes the tournament as it is at that time.
func appendTournament(b []byte, t *tournament, now int64) []byte {
	if t.given != nil {
		return append(b, t.given...)
	}
	d := drawFrom(t.key, forTournaments, 1)
	hippodrome := d.below(len(hippodromes))
	cost := pick(&d, fees)
	levels := pick(&d, levelRanges)
	b = appendText(b, `{"_id":`, t.id)
	b = appendText(b, `,"name":`, pick(&d, raceNames)+" Tournament")
	b = appendText(b, `,"description":"Three stages; the best times go on.","hippodrome_id":`, objectID(0, uint64(hippodrome+1)))
	b = appendText(b, `,"hippodrome_name":`, hippodromes[hippodrome].hippodromeName)
	b = appendInt(b, `,"turf":`, int64(hippodrome))
	b = appendInt(b, `,"registration_open":`, t.start-cupOpen)
	b = appendInt(b, `,"registration_deadline":`, t.start-cupDeadline)
	b = appendInt(b, `,"start_time":`, t.start)
	b = appendInt(b, `,"length":`, int64(d.between(2, 15)))
	b = appendInt(b, `,"places":`, int64(cupStages[0].horses))
	b = append(b, `,"min_places":4,"entry_fee":`...)
	b = append(append(append(b, cost.fee...), `,"prizes":`...), cost.prizes...)
	b = appendBool(b, `,"no_equipment":`, d.oneIn(3))
	b = appendInt(b, `,"min_level":`, int64(levels[0]))
	b = appendInt(b, `,"max_level":`, int64(levels[1]))
	b = appendInt(b, `,"max_participants_per_wallet":`, int64(d.between(1, 5)))
	b = append(b, `,"min_race_count":0,"max_race_count":`...)
	if d.oneIn(2) {
		b = append(b, "null"...)
	} else {
		b = appendInt(b, "", int64(d.between(50, 500)))
	}
	b = appendInt(b, `,"type":"best_time","status":`, statusOf(now, t.start, t.ends()))
	b = appendInt(b, `,"tier":`, int64(t.tier))
	b = append(b, `,"stages":`...)
	field := t.standings()
	b = appendList(b, len(cupStages), func(b []byte, i int) []byte { return t.appendStage(b, i, field, now) })
	b = t.appendParticipants(b, field, now)
	b = append(b, `,"additional_prizes":`...)
	b = appendList(b, d.below(3), func(b []byte, i int) []byte {
		names := pick(&d, tokenNames)
		b = append(append(append(b, '{'), names[0]...), pick(&d, fees).fee...)
		b = appendInt(b, names[1], int64(d.between(0, 5000)))
		b = appendInt(b, `,"additional_sugar":`, int64(d.between(0, 300)))
		b = append(b, `,"additional_items":`...)
		b = appendList(b, d.below(2), func(b []byte, _ int) []byte {
			b = appendText(b, `{"_id":`, objectID(t.start, d.next()))
			return append(b, `,"type":"saddle"}`...)
		})
		return append(b, '}')
	})
	return append(b, '}')
}

// appendStage writes stage i. Its results are there when it is over.
func (t *tournament) appendStage(b []byte, i int, field []standing, now int64) []byte {
	stage := cupStages[i]
	start := t.start + int64(i)*stageTime
	end := start + int64(stage.races)*roundTime
	round := min(max(0, (now-start)/roundTime+1), int64(stage.races))
	if now < start {
		round = 0
	}
	b = appendInt(b, `{"race_count":`, int64(stage.races))
	b = appendInt(b, `,"start_time":`, start)
	b = appendInt(b, `,"minutes_between_races":`, roundTime/minuteMillis)
	b = appendText(b, `,"name":`, stage.name)
	results := slices.Clone(field[:stage.horses])
	if now < end {
		results = nil
	}
	slices.SortFunc(results, func(a, b standing) int { return cmp.Compare(a.totals[i], b.totals[i]) })
	b = append(b, `,"results":`...)
	b = appendList(b, len(results), func(b []byte, n int) []byte {
		b = appendInt(b, `{"number":`, results[n].horse)
		b = appendFloat(b, `,"total":`, results[n].totals[i])
		b = appendInt(b, `,"main_race_id":`, firstTournamentRace+int64(t.key%1_000_000_000)*100+int64(i*10+n%stage.races))
		return append(b, '}')
	})
	b = appendInt(b, `,"status":`, statusOf(now, start, end))
	b = appendInt(b, `,"current_round":`, round)
	return append(b, '}')
}

// appendParticipants writes who takes part: while registration is open, more
// with every hour; in the end, by ascending total.
func (t *tournament) appendParticipants(b []byte, field []standing, now int64) []byte {
	over := now >= t.ends()
	if over {
		field = slices.Clone(field)
		slices.SortFunc(field, func(a, b standing) int { return cmp.Compare(a.total, b.total) })
	} else {
		open := now - (t.start - cupOpen)
		slices.SortFunc(field, func(a, b standing) int { return cmp.Compare(a.horse, b.horse) })
		field = field[:min(max(0, int(open*int64(len(field))/(cupOpen-cupDeadline))), len(field))]
	}
	b = append(b, `,"participants":`...)
	return appendList(b, len(field), func(b []byte, i int) []byte {
		p := field[i]
		if !over {
			p.dropped, p.total = 0, 0
		}
		b = appendInt(b, `{"number":`, p.horse)
		b = appendInt(b, `,"dropped_at_index":`, int64(p.dropped))
		b = appendFloat(b, `,"total":`, p.total)
		return append(b, '}')
	})
}
