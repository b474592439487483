package world

// Operation is one of the documented operations, in the order of the API reference.
//
// See docs/service.md, section 4.
type Operation int

// The operations.
const (
	UserHorses Operation = iota
	GetHorse
	HorseMissions
	OpenBreeding
	RaceResults
	RaceResultsV1
	OpenRaces
	Register
	GetRace
	TournamentResults
	OpenTournaments
	GetTournament
	Catalogue
)

// Argument is the parameter in the path of an operation: a number, or the id of a
// tournament.
type Argument struct {
	Number int64
	Text   string
}

// Body is the content of a request body. Members that were not sent have the values
// of DefaultBody.
type Body struct {
	Tier, StartTimeFrom, Offset int64
	Horse, Race                 int64
	UserKey                     string
}

// DefaultBody is the Body of a request without one.
func DefaultBody(now int64) Body { return Body{Tier: omega, StartTimeFrom: now} }
