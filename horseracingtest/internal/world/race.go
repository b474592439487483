package world

import (
	"cmp"
	"slices"
)

// race is a race as the service has it.
type race struct {
	oid             string // _id; made up from start and id if empty
	id              int64
	start, deadline int64 // epoch milliseconds
	worstTime       bool
	kind            string // type, unless it is one of the documented two
	length          int
	v2, noEquipment bool
	money           money
	tier            int
	tierName        string // where its id is unknown
	info            raceInfo
	places          int
	minLevel        int
	maxLevel        int
	participants    []participant
	status          string // if it is not the one that the race's state implies
	finalOrder      []int
	winners         []int
}

type raceInfo struct{ name, hippodromeType, hippodromeName, turf string }

type participant struct {
	horse int64
	total float64
	lane  int
}

// money is an entry fee and what can be won with it, as JSON.
type money struct{ fee, prizes string }

// fees are what races cost. JavaScript, in which services of this kind are
// often written, prints numbers from 10^21 on with an exponent.
var fees = []money{
	{"1000000000000000000", "[6000000000000000000,3000000000000000000,1500000000000000000]"},
	{"2500000000000000000", "[15000000000000000000,7500000000000000000,3750000000000000000]"},
	{"5000000000000000001", "[30000000000000000006,15000000000000000003]"},
	{"25000000000000000000", "[150000000000000000000,75000000000000000000,37500000000000000000]"},
	{"100000000000000000000", "[600000000000000000000,300000000000000000000,150000000000000000000]"},
	{"1e+21", "[6e+21,3e+21,1.5e+21]"},
	{"2.5e+21", "[2e+22]"},
}

// The values that races and tournaments are made up from; the fake's own,
// since those of the service are undocumented.
var (
	raceNames   = []string{"Silver Bridle", "Northern Mile", "Clover Cup", "Founders Dash", "Harbour Stakes", "Amber Handicap", "Two Rivers", "Midnight Gallop"}
	hippodromes = []raceInfo{
		{hippodromeType: "Oval", hippodromeName: "Larkspur Downs", turf: "Grass"},
		{hippodromeType: "Straight", hippodromeName: "Saltmarsh Mile", turf: "Sand"},
		{hippodromeType: "Triangle", hippodromeName: "Three Elms Park", turf: "Dirt"},
	}
	levelRanges = [][2]int{{1, 100}, {1, 100}, {1, 20}, {10, 40}, {30, 60}}
)

// describe makes up everything about a race but its times and participants.
func (r *race) describe(d *draw) {
	r.worstTime = d.oneIn(4)
	r.length = d.between(2, 15)
	r.v2 = !d.oneIn(10)
	r.noEquipment = d.oneIn(3)
	r.money = pick(d, fees)
	r.info = pick(d, hippodromes)
	r.info.name = pick(d, raceNames)
	r.places = 12
	if d.oneIn(8) {
		r.places = 6
	}
	levels := pick(d, levelRanges)
	r.minLevel, r.maxLevel = levels[0], levels[1]
}

// run gives every participant a lane and a time, and finds out who won.
func (r *race) run(d *draw) {
	n := len(r.participants)
	for i := range r.participants {
		// Seven seconds and a bit a furlong, in milliseconds. The last digit is
		// never a zero, so that the literal is as long for every horse.
		millis := max(1, r.length)*d.between(6800, 7900)/10*10 + d.between(1, 9)
		r.participants[i].total = float64(millis) / 1000
		r.participants[i].lane = i + 1
	}
	for i := n - 1; i > 0; i-- {
		j := d.below(i + 1)
		r.participants[i].lane, r.participants[j].lane = r.participants[j].lane, r.participants[i].lane
	}
	r.finalOrder = r.finalOrder[:0]
	for i := range n {
		r.finalOrder = append(r.finalOrder, i)
	}
	slices.SortStableFunc(r.finalOrder, func(a, b int) int {
		if r.worstTime {
			a, b = b, a
		}
		return cmp.Compare(r.participants[a].total, r.participants[b].total)
	})
	r.winners = append(r.winners[:0], r.finalOrder[:min(n, 3)]...)
}

// raceForm is one of the ways in which the service shows a race.
type raceForm int

const (
	asOpen         raceForm = iota // with _id and status, without lanes and order
	asFinished                     // version 2 results
	asFinishedV1                   // version 1 results: without type and levels
	asFinishedByID                 // one finished race: the results' members and _id
)

// appendRace writes the race as JSON.
func appendRace(b []byte, r *race, form raceForm) []byte {
	b = append(b, '{')
	if form == asOpen || form == asFinishedByID {
		b = appendText(b, `"_id":`, cmp.Or(r.oid, objectID(r.start, uint64(r.id))))
		b = append(b, ',')
	}
	b = appendInt(b, `"main_race_id":`, r.id)
	b = appendInt(b, `,"start_time":`, r.start)
	b = appendInt(b, `,"registration_deadline":`, r.deadline)
	if form != asFinishedV1 {
		kind := "best_time"
		if r.worstTime {
			kind = "worst_time"
		}
		b = appendText(b, `,"type":`, cmp.Or(r.kind, kind))
	}
	b = appendInt(b, `,"length":`, int64(r.length))
	b = appendBool(b, `,"v2":`, r.v2)
	b = appendBool(b, `,"no_equipment":`, r.noEquipment)
	b = append(b, `,"entry_fee":`...)
	b = append(b, r.money.fee...)
	b = append(b, `,"prizes":`...)
	b = append(b, r.money.prizes...)
	b = appendText(b, `,"tier":`, cmp.Or(r.tierName, tierNames[r.tier]))
	b = appendText(b, `,"info":{"name":`, r.info.name)
	b = appendText(b, `,"hippodrome_type":`, r.info.hippodromeType)
	b = appendText(b, `,"hippodrome_name":`, r.info.hippodromeName)
	b = appendText(b, `,"turf":`, r.info.turf)
	b = appendInt(b, `},"places":`, int64(r.places))
	if form != asFinishedV1 {
		b = appendInt(b, `,"min_level":`, int64(r.minLevel))
		b = appendInt(b, `,"max_level":`, int64(r.maxLevel))
	}
	b = append(b, `,"participants":`...)
	b = appendList(b, len(r.participants), func(b []byte, i int) []byte {
		p := &r.participants[i]
		b = appendInt(b, `{"number":`, p.horse)
		if form == asOpen {
			return append(b, `,"total":0}`...)
		}
		b = appendFloat(b, `,"total":`, p.total)
		b = appendInt(b, `,"lane":`, int64(p.lane))
		return append(b, '}')
	})
	status := ""
	if form == asOpen {
		status = "In progress"
	}
	b = appendText(b, `,"status":`, cmp.Or(r.status, status))
	if form != asOpen {
		b = appendInts(b, `,"final_order":`, r.finalOrder)
		b = appendInts(b, `,"winners":`, r.winners)
	}
	return append(b, '}')
}
