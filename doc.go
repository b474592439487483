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
// A [Client] groups its methods by resource: [HorsesService], [RacesService],
// [TournamentsService] and [MissionsService]. The context that each method takes
// bounds the whole call, retries included. [Client.Do] calls an operation that
// has no method here.
//
// # Reading races
//
// Several methods read races. The last column is their cost in requests:
//
//	Races.Get       one race                                        1
//	Races.Open      the open races, once                            1
//	Races.WatchOpen changes in the open races, for one reader       1 every 15 s (Interval)
//	Races.Watcher   the open races, for many readers                1 every 15 s (Interval)
//	Races.Results   finished races, newest first                    about 1.13 per 10 races
//	Races.Follow    finished races as they appear, oldest first     1 every 30 s (Interval), plus 1 per 9 races of the last hour (Lookback)
//
// Tournaments.Results and Tournaments.Follow do the same for finished tournaments, with a
// Lookback of a day.
//
// # Results
//
// Finished races and tournaments are listed in pages of ten. A [Pager] hides that: it
// returns each entry exactly once, newest first, even if several start at the same
// instant. Concurrency is the maximum number of requests in flight.
//
//	results := client.Races.Results(horseracing.ResultsQuery{
//		Tier:        horseracing.TierOmega, // also the zero value: Omega alone, not every tier
//		Since:       lastWeek,
//		Concurrency: 8,
//	})
//	for race, err := range results.All(ctx) {
//		if errors.Is(err, horseracing.ErrSkipped) {
//			log.Print(err) // an entry that cannot be read; the rest follows
//			continue
//		}
//		if err != nil {
//			return err // range again, or resume from results.Cursor(), and nothing is lost
//		}
//		fmt.Println(race.StartTime, race.Info.Name)
//	}
//
// A query reads one tier, by default Omega; set Tiers to read several as one listing.
// [Pager.Entries] also returns each entry's JSON.
//
// A [Cursor] is the position of a walk as a short text. Store it with the entries, and
// another process can continue. It includes the query's tiers and Since.
//
// # Registering a horse
//
// Registering spends the race's entry fee. The package
// [github.com/horseracing-go/horseracing/ledger] registers each horse at most once in a
// race, under a budget and across crashes.
//
// Without it, [RacesService.Register] sends the request again only if it certainly had
// no effect. If the response is lost, the error matches [ErrOutcomeUnknown], and the
// horse may or may not be in the race. Even if the race does not list the horse now, the
// request may still arrive: [RacesService.Settle] waits until the outcome is certain.
//
//	_, err := client.Races.Register(ctx, horseracing.Registration{Horse: horse, Race: id, UserKey: userKey})
//	if errors.Is(err, horseracing.ErrOutcomeUnknown) {
//		registered, err := client.Races.Settle(ctx, id, horse) // do not register again before it returns
//		if err != nil {
//			return err
//		}
//		fmt.Println("registered:", registered)
//	}
//
// # Errors
//
// The types of errors are [*APIError] (an error response), [*DecodeError] (a response
// that cannot be read) and [*TransportError] (no complete response). errors.Is matches
// them to [ErrUnauthorized], [ErrNotFound], [ErrRateLimited], [ErrServer] and the other
// sentinels, and to the context's error.
//
//	race, err := client.Races.Get(ctx, id)
//	if errors.Is(err, horseracing.ErrNotFound) {
//		return nil // there is no such race
//	}
//	if refused, ok := errors.AsType[*horseracing.APIError](err); ok {
//		log.Println(refused.StatusCode, refused.ID, refused.Message)
//	}
//	if err != nil {
//		return err
//	}
//	fmt.Println(race.Info.Name)
//
// If some entries of a list cannot be read, a method returns the others and an error
// that wraps a [*DecodeError]. No error, log line or printed value of this package
// contains a key, with the exceptions listed at [UserKey].
//
// # Timeouts and retries
//
// The context bounds a call. [WithAttemptTimeout] bounds one attempt, from
// connecting to the last byte of the body: 30 seconds by default.
//
// Reads are retried on connection failures and on the statuses 408, 429, 500, 502, 503
// and 504, three times by default, with jitter; see [Retry] and, for one call,
// [CallRetry]. A budget shared by all calls keeps retries from multiplying the load of
// an outage. Calls that change something are sent again only if the request certainly
// had no effect.
//
// # Limits and pace
//
// The service's rate limits are undocumented, so the client learns them. It does not
// limit requests until the service refuses one (429, or 503 with Retry-After). From
// then on all calls of the client share what the service allows, by priority: calls
// that change something first, then single reads, then polls (of a [Follower] or a
// [Watcher]), then walks (of a [Pager], of [HorsesService.GetMany] or with
// [AsBackground]). If the service refuses only one route, the other routes are not
// slowed down. While the service refuses requests, a Pager waits for up to its
// Patience, a Follower, a Watcher and WatchOpen keep polling, and any other call waits
// for up to [Retry]'s MaxWait. [Client.Pace] reports what was learned. [WithRateLimit]
// and [WithLimiter] set an upper bound.
//
// # Observing
//
// [WithLogger] logs attempts and retries to a slog.Logger. [WithTransportWrapper] adds
// tracing or metrics to every request; in a wrapper, [CallFromContext] returns the call
// that the request belongs to. [CaptureResponse] keeps the whole response of one call.
// [WithDriftHandler] reports members that the service sends but the types do not
// declare, and documented members that the service does not send.
//
// # Values
//
// Fees are of type [BigInt], prizes and prices of type [Number], except
// AdditionalPrize.Token, a BigInt; both types are exact. Instants are of type
// [Timestamp], except Horse.BreedingCooldown, a *time.Time. A field that may be absent
// or null is a pointer, or its comment documents its zero value. Undocumented values of
// string types such as [RaceType] are preserved.
//
// # Testing
//
// The package [github.com/horseracing-go/horseracing/horseracingtest] is a fake of the
// whole service, for tests without a network or a key. Its races open, fill, run and
// appear in the results, and it can inject faults and limit requests.
//
//	fake := horseracingtest.NewServer()
//	defer fake.Close()
//	run(ctx, fake.Client()) // the code under test
//
// The API reference is
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md, and the
// questions that it leaves open are in
// https://github.com/horseracing-go/horseracing/blob/main/docs/unknowns.md.
package horseracing
