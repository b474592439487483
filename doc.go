// Package horseracing is a client for the data service of a horse-racing game:
// horses, races, tournaments, missions, and the registration of a horse into a
// race.
//
//	client, err := horseracing.NewClientFromEnv() // HORSERACING_BASE_URL, HORSERACING_API_KEY
//	if err != nil {
//		return err
//	}
//	races, err := client.Races.Open(ctx)
//	if err != nil {
//		return err
//	}
//	for _, race := range races {
//		fmt.Println(race.Info.Name, race.Length, "furlongs,", race.FreePlaces(), "places left")
//	}
//
// A [Client] groups its methods by what they are about: [HorsesService],
// [RacesService], [TournamentsService] and [MissionsService]. The context that
// each takes bounds the whole call, retries included. [Client.Do] calls an
// operation that has no method here.
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
// [ErrServer] and the others, and the context's own error.
//
//	race, err := client.Races.Get(ctx, id)
//	if errors.Is(err, horseracing.ErrNotFound) {
//		return nil // there is no such race
//	}
//	var answer *horseracing.APIError
//	if errors.As(err, &answer) {
//		log.Println(answer.StatusCode, answer.Message)
//	}
//
// Reads are retried by themselves, see [Retry]; [WithRateLimit] keeps a limit,
// [WithLogger] tells what happens. No error, log line or printed value of this
// package holds a key.
//
// # Registering a horse
//
// [RacesService.Register] spends the race's entry fee. It is sent once: where
// the answer gets lost the error is [ErrOutcomeUnknown], and
// [RacesService.Registered] tells what became of it.
//
//	_, err := client.Races.Register(ctx, horseracing.Registration{Horse: horse, Race: race, UserKey: key})
//	if errors.Is(err, horseracing.ErrOutcomeUnknown) {
//		registered, err := client.Races.Registered(ctx, race, horse) // ask, do not pay twice
//		…
//	}
//
// # Values
//
// Fees are [BigInt], amounts of unknown unit [Number], both exact; instants are
// [Timestamp]. A member that may be absent or null is a pointer, or its comment
// says what its zero value means. Words that the interface document does not
// mention pass through as they are. The struct tag named shown is
// for [WithDriftHandler]: it tells where the document shows a member.
//
// # Testing
//
// The package [github.com/horseracing-go/horseracing/horseracingtest] is a fake
// of the whole service with races that open, fill, run and appear in the
// results, and with faults on demand, for tests that need neither network nor
// key.
//
//	fake := horseracingtest.NewServer()
//	defer fake.Close()
//	client := fake.Client()
//
// What the service is and what its document leaves open is told in
// docs/service.md and docs/unknowns.md of the repository. Section numbers in
// the comments here are those of that interface document.
package horseracing
