package horseracing

// Gender is the gender of a horse. Undocumented values pass through.
type Gender string

// GenderStallion is the only documented gender.
const GenderStallion Gender = "Stallion"

// RaceType determines which time wins a race or a tournament: the best or the worst, as
// its values suggest. Undocumented values pass through.
type RaceType string

// The documented race types. For tournaments only the first is documented.
const (
	RaceTypeBestTime  RaceType = "best_time"
	RaceTypeWorstTime RaceType = "worst_time"
)

// RaceStatus is the state of a race. Undocumented values pass through. The order of the
// states is undocumented.
type RaceStatus string

// RaceStatusInProgress is the documented status of open races. The status of finished
// races is empty; see [Race.Finished].
const RaceStatusInProgress RaceStatus = "In progress"

// TierName is the name of a tier, as in horses and races. Undocumented values pass
// through.
type TierName string

// The documented tier names.
const (
	TierNameOmega TierName = "Omega"
	TierNameBeta  TierName = "Beta"
)

// MissionPeriod is how often a mission is assigned. Undocumented values pass through.
type MissionPeriod string

// The documented mission periods.
const (
	MissionPeriodDaily   MissionPeriod = "daily"
	MissionPeriodWeekly  MissionPeriod = "weekly"
	MissionPeriodMonthly MissionPeriod = "monthly"
)

// MissionKind is what a mission requires. Undocumented values pass through.
type MissionKind string

// The documented mission kinds, of horses and of the catalogue.
const (
	MissionKindAllDaily                MissionKind = "all_daily"
	MissionKindAllWeekly               MissionKind = "all_weekly"
	MissionKindRunAll                  MissionKind = "run_all"
	MissionKindRunAllOnZHippodrome     MissionKind = "run_all_on_z_hippodrome"
	MissionKindRunOnXHippodrome        MissionKind = "run_on_x_hippodrome"
	MissionKindRunXFurlongRace         MissionKind = "run_x_furlong_race"
	MissionKindRunXRaces               MissionKind = "run_x_races"
	MissionKindRunXRacesOfYFurlongsOnZ MissionKind = "run_x_races_of_y_furlongs_on_z"
	MissionKindRunXRacesOnZ            MissionKind = "run_x_races_on_z"
	MissionKindRunXRacesOnZHippodrome  MissionKind = "run_x_races_on_z_hippodrome"
	MissionKindRunXRacesYFurlong       MissionKind = "run_x_races_y_furlong"
	MissionKindTakeIPlaceXRaces        MissionKind = "take_i_place_x_races"
	MissionKindTakePrizePlaceInXRaces  MissionKind = "take_prize_place_in_x_races"
)
