// Package horseracing is a client for the data service of a horse-racing game:
// horses, races, tournaments, missions, and the registration of a horse into a
// race.
//
//	client, err := horseracing.NewClient("https://races.example", apiKey)
//	if err != nil {
//		return err
//	}
//	races, err := client.Races.Open(ctx)
//	if err != nil {
//		return err
//	}
//	for _, race := range races {
//		fmt.Println(race.Info.Name, race.FreePlaces(), race.EntryFee.Decimal(18))
//	}
//
// # Reading results
//
// Finished races and tournaments come in pages of ten. A [Pager] hides that:
// it hands out each entry exactly once, newest first, also where several start
// at the same instant, and with several pages in flight if asked to.
//
//	results := client.Races.Results(horseracing.ResultsQuery{Since: lastWeek, Concurrency: 8})
//	for race, err := range results.All(ctx) {
//		if err != nil {
//			return err // range again, or resume from results.Cursor(), and nothing is lost
//		}
//		fmt.Println(race.StartTime, race.Info.Name)
//	}
//
// A [Cursor] is the place where a walk stands, as a short text to store:
// another process goes on there. [RacesService.Follow] hands out new results as
// they appear, [RacesService.WatchOpen] what changes in the open races; the
// service itself has no events.
//
// # Errors
//
// An answer that refuses or fails is an [*APIError], one that cannot be read a
// [*DecodeError], a call without a whole answer a [*TransportError]. errors.Is
// finds what they mean: [ErrUnauthorized], [ErrNotFound], [ErrRateLimited],
// [ErrServer] and the others. Reads are retried by themselves; see [Retry].
// No error, log line or printed value of this package holds a key.
//
// # Registering a horse
//
// [RacesService.Register] pays the entry fee. It is sent once: where the answer
// gets lost the error is [ErrOutcomeUnknown], and [RacesService.Registered]
// tells what became of it.
//
// # Testing
//
// The package horseracingtest is a fake of the whole service with races that
// open, fill, run and appear in the results, and with faults on demand, for
// tests that need neither network nor key.
//
// What the service is and what its document leaves open is told in
// docs/service.md and docs/unknowns.md of the repository. Section numbers in
// the comments here are those of that interface document.
package horseracing
