package horseracingtest

import (
	"cmp"
	"slices"
	"strconv"
)

// race is a race as the service has it.
type race struct {
	oid             string // _id; empty: made up from start and id
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
	status          string // where it is not the one that the race's state implies
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
		b = append(b, `"_id":`...)
		if r.oid != "" {
			b = appendString(b, r.oid)
		} else {
			b = append(b, '"')
			b = append(b, objectID(r.start, uint64(r.id))...)
			b = append(b, '"')
		}
		b = append(b, ',')
	}
	b = appendInt(b, `"main_race_id":`, r.id)
	b = appendInt(b, `,"start_time":`, r.start)
	b = appendInt(b, `,"registration_deadline":`, r.deadline)
	if form != asFinishedV1 {
		b = append(b, `,"type":`...)
		switch {
		case r.kind != "":
			b = appendString(b, r.kind)
		case r.worstTime:
			b = append(b, `"worst_time"`...)
		default:
			b = append(b, `"best_time"`...)
		}
	}
	b = appendInt(b, `,"length":`, int64(r.length))
	b = appendBool(b, `,"v2":`, r.v2)
	b = appendBool(b, `,"no_equipment":`, r.noEquipment)
	b = append(b, `,"entry_fee":`...)
	b = append(b, r.money.fee...)
	b = append(b, `,"prizes":`...)
	b = append(b, r.money.prizes...)
	b = append(b, `,"tier":`...)
	b = appendString(b, cmp.Or(r.tierName, tierNames[r.tier]))
	b = append(b, `,"info":{"name":`...)
	b = appendString(b, r.info.name)
	b = append(b, `,"hippodrome_type":`...)
	b = appendString(b, r.info.hippodromeType)
	b = append(b, `,"hippodrome_name":`...)
	b = appendString(b, r.info.hippodromeName)
	b = append(b, `,"turf":`...)
	b = appendString(b, r.info.turf)
	b = appendInt(b, `},"places":`, int64(r.places))
	if form != asFinishedV1 {
		b = appendInt(b, `,"min_level":`, int64(r.minLevel))
		b = appendInt(b, `,"max_level":`, int64(r.maxLevel))
	}
	b = append(b, `,"participants":[`...)
	for i, p := range r.participants {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendInt(b, `{"number":`, p.horse)
		b = append(b, `,"total":`...)
		if form == asOpen {
			b = append(b, '0')
		} else {
			b = strconv.AppendFloat(b, p.total, 'f', -1, 64)
			b = appendInt(b, `,"lane":`, int64(p.lane))
		}
		b = append(b, '}')
	}
	b = append(b, `],"status":`...)
	switch {
	case r.status != "":
		b = appendString(b, r.status)
	case form == asOpen:
		b = append(b, `"In progress"`...)
	default:
		b = append(b, `""`...)
	}
	if form != asOpen {
		b = appendInts(b, `,"final_order":`, r.finalOrder)
		b = appendInts(b, `,"winners":`, r.winners)
	}
	return append(b, '}')
}
