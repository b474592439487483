package horseracingtest

import "github.com/horseracing-go/horseracing"

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
	must(s.world.AddRaces(s.late.catchUp(), races...))
}

// RemoveRaces removes races from the service. Ids of races that do not exist are
// ignored.
func (s *Server) RemoveRaces(ids ...horseracing.RaceID) {
	s.late.catchUp()
	s.world.RemoveRaces(ids...)
}

// AddTournaments adds tournaments to the service, or replaces added ones with the
// same ID. Those with Status 2 are in the results, the others are open. They are
// shown as given and do not change with the clock. ID and StartTime are required;
// Tier defaults to Omega. It panics if a required field is missing, or if the fake
// does not have the tier.
func (s *Server) AddTournaments(tournaments ...horseracing.Tournament) {
	s.late.catchUp()
	must(s.world.AddTournaments(tournaments...))
}

// AddHorses adds horses of a user to the service, or replaces those with the same
// Number. User -1 is an owner without a key. Number is required; horses with a Number
// above 4096 are not in the fake's own races. Other empty fields are generated, except
// Generation and BreedingCooldown. It panics if the user does not exist, or if a horse
// has no Number.
func (s *Server) AddHorses(user int, horses ...horseracing.Horse) {
	if user != -1 {
		s.mustHaveUser(user)
	}
	must(s.world.AddHorses(user, horses...))
}

// SetBreeding replaces the horses that are offered for breeding.
func (s *Server) SetBreeding(listings ...horseracing.BreedingListing) {
	must(s.world.SetBreeding(listings...))
}

// SetHorseMissions replaces the missions of these horses. It panics if a horse does
// not exist: add it first.
func (s *Server) SetHorseMissions(missions ...horseracing.HorseMissions) {
	must(s.world.SetHorseMissions(missions...))
}

// SetCatalogue replaces the mission catalogue.
func (s *Server) SetCatalogue(catalogue horseracing.MissionCatalogue) {
	must(s.world.SetCatalogue(catalogue))
}
