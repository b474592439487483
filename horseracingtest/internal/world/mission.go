package world

// missionKind is a mission that horses have. Its identifier is documented;
// titles, targets and rewards are the fake's own, and so is the shape of
// progress, which is undocumented.
//
// See docs/service.md, section 2.3.
type missionKind struct {
	period, mission, name string
	low, high             int    // target count
	extra                 string // the member that only this kind has
	extraLow, extraHigh   int
	progress              []string // JSON
}

// missionKinds are in the order in which the service lists them: monthly,
// weekly, daily.
var missionKinds = []missionKind{
	{period: "monthly", mission: "run_x_races", name: "Run races this month", low: 80, high: 100, progress: []string{"3", "7"}},
	{period: "monthly", mission: "take_prize_place_in_x_races", name: "Finish among the winners", low: 10, high: 25, extra: "place", extraLow: 1, extraHigh: 3, progress: []string{`{"race":1001,"place":2}`}},
	{period: "weekly", mission: "all_weekly", name: "Complete all weekly missions", low: 3, high: 5, progress: []string{`"run_x_races"`}},
	{period: "weekly", mission: "run_all_on_z_hippodrome", name: "Run every distance on one hippodrome", low: 14, high: 14, extra: "hippodrome", extraLow: 0, extraHigh: 2, progress: []string{"[2,true]", "[3,false]"}},
	{period: "weekly", mission: "run_x_races", name: "Run races this week", low: 20, high: 50, progress: []string{"1"}},
	{period: "daily", mission: "all_daily", name: "Complete all daily missions", low: 2, high: 4, progress: []string{"null"}},
	{period: "daily", mission: "run_x_furlong_race", name: "Run one race of a distance", low: 1, high: 1, extra: "furlongs", extraLow: 2, extraHigh: 15},
	{period: "daily", mission: "run_x_races_y_furlong", name: "Run races of a distance", low: 1, high: 5, extra: "furlongs", extraLow: 2, extraHigh: 15, progress: []string{"true"}},
}

// appendMissions writes the missions record of a horse: every kind, except
// one that it has not been given.
func appendMissions(b []byte, seed uint64, number int64) []byte {
	d := drawFrom(seed, forMissions, uint64(number))
	missing := d.below(2 * len(missionKinds))
	kinds := make([]missionKind, 0, len(missionKinds))
	for i, kind := range missionKinds {
		if i != missing {
			kinds = append(kinds, kind)
		}
	}
	b = appendInt(b, `{"number":`, number)
	b = append(b, `,"missions":`...)
	b = appendList(b, len(kinds), func(b []byte, i int) []byte {
		kind := kinds[i]
		completed := d.oneIn(3)
		b = appendText(b, `{"type":`, kind.period)
		b = appendText(b, `,"mission":`, kind.mission)
		b = appendText(b, `,"name":`, kind.name)
		b = appendInt(b, `,"count":`, int64(d.between(kind.low, kind.high)))
		b = appendInt(b, `,"reward_xp":`, int64(d.between(100, 4000)))
		b = appendInt(b, `,"reward_sugar":`, int64(d.between(10, 400)))
		b = append(b, `,"progress":`...)
		b = appendList(b, d.below(len(kind.progress)+1), func(b []byte, i int) []byte {
			return append(b, kind.progress[i]...)
		})
		b = appendBool(b, `,"processed":`, completed && d.oneIn(2))
		b = appendBool(b, `,"completed":`, completed)
		if kind.extra != "" {
			b = append(append(append(b, `,"`...), kind.extra...), `":`...)
			b = appendInt(b, "", int64(d.between(kind.extraLow, kind.extraHigh)))
		}
		return append(b, '}')
	})
	return append(b, '}')
}

// template is an entry of the mission catalogue.
type template struct {
	kind, description        string
	min, max                 int64
	xpBase, xpModifier       int64
	sugarBase, sugarModifier int64
	bounds                   []bound
}

type bound struct {
	name      string
	low, high int64
}

var (
	onHippodrome = bound{"hippodrome_type", 0, 2}
	ofFurlongs   = bound{"furlong", 2, 15}
)

// catalogue holds the documented values; the descriptions are the fake's own.
//
// See docs/service.md, section 4.13.
var catalogue = []struct {
	period    string
	templates []template
}{
	{"daily", []template{
		{"run_x_races", "run some races", 1, 10, 106, 10, 10, 1, nil},
		{"run_x_furlong_race", "run one race of a distance", 1, 1, 116, 0, 11, 0, []bound{ofFurlongs}},
		{"run_on_x_hippodrome", "run one race on a hippodrome", 1, 1, 116, 0, 11, 0, []bound{onHippodrome}},
		{"run_x_races_of_y_furlongs_on_z", "run races of a distance on a hippodrome", 1, 3, 83, 33, 8, 3, []bound{onHippodrome, ofFurlongs}},
		{"run_x_races_y_furlong", "run races of a distance", 1, 5, 96, 20, 10, 2, []bound{ofFurlongs}},
		{"run_x_races_on_z", "run races on a hippodrome", 1, 5, 96, 20, 10, 2, []bound{onHippodrome}},
	}},
	{"weekly", []template{
		{"run_x_races", "run many races", 20, 50, 250, 16, 25, 1, nil},
		{"run_x_races_of_y_furlongs_on_z", "run races of a distance on a hippodrome", 10, 20, 83, 50, 8, 5, []bound{onHippodrome, ofFurlongs}},
		{"take_prize_place_in_x_races", "take a prize place", 1, 5, 458, 125, 45, 12, []bound{{"place", 1, 3}}},
		{"run_all_on_z_hippodrome", "run every distance on a hippodrome", 14, 14, 809, 1, 75, 1, []bound{onHippodrome}},
		{"run_x_races_on_z_hippodrome", "run many races on a hippodrome", 15, 25, -166, 50, -16, 2, nil},
	}},
	{"monthly", []template{
		{"run_x_races", "run a great many races", 80, 100, -5666, 100, -550, 10, nil},
		{"run_x_races_of_y_furlongs_on_z", "run many races of a distance on a hippodrome", 20, 40, 333, 100, 33, 10, []bound{onHippodrome, ofFurlongs}},
		{"take_prize_place_in_x_races", "take many prize places", 10, 25, 1000, 133, 100, 13, []bound{{"place", 1, 3}}},
		{"run_all", "run every kind of race", 30, 30, 3306, 1, 320, 1, nil},
		{"run_x_races_on_z_hippodrome", "run very many races on a hippodrome", 25, 40, 333, 100, 33, 10, []bound{onHippodrome}},
		{"take_i_place_x_races", "finish in one place again and again", 5, 10, 333, 400, 33, 40, []bound{{"place", 1, 12}}},
	}},
}

func appendCatalogue(b []byte) []byte {
	for i, group := range catalogue {
		lead := byte(',')
		if i == 0 {
			lead = '{'
		}
		b = appendString(append(b, lead), group.period)
		b = append(b, ':')
		b = appendList(b, len(group.templates), func(b []byte, i int) []byte {
			t := &group.templates[i]
			b = appendText(b, `{"type":`, t.kind)
			b = appendInt(b, `,"min":`, t.min)
			b = appendInt(b, `,"max":`, t.max)
			b = appendText(b, `,"description":`, t.description)
			b = appendInt(b, `,"xp_base":`, t.xpBase)
			b = appendInt(b, `,"xp_modifier":`, t.xpModifier)
			b = appendInt(b, `,"sugar_base":`, t.sugarBase)
			b = appendInt(b, `,"sugar_modifier":`, t.sugarModifier)
			for _, bound := range t.bounds {
				b = appendInt(b, `,"`+bound.name+`_min":`, bound.low)
				b = appendInt(b, `,"`+bound.name+`_max":`, bound.high)
			}
			return append(b, '}')
		})
	}
	return append(b, '}')
}
