// Package horseracing is a client for the data service of a horse-racing game: horses,
// races, tournaments, missions, and the registration of a horse into a race.
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
// A [Client] groups its methods by resource. The context that each method takes bounds the
// whole call, retries included. [Client.Do] calls an operation that has no method here.
//
// # Reading races
//
// The last column is what a method costs in requests:
//
//	Races.Get         one race                                       1
//	Races.Open        the open races, once                           1
//	Races.Watch       the open races, and how they change            1 every 15 s (Interval)
//	Races.Results     finished races, newest first                   about 1.13 per 10 races
//	Follower.CatchUp  keep a store up to date each day               little more than Races.Results
//	Follower.All      finished races as they appear, oldest first    1 or more every 30 s (Interval)
//
// Races.Follow returns the [Follower], whose polls also read the races of the last hour (Lookback)
// again, nine a request. There is the same for tournaments. A query reads one tier, by default
// Omega. This loop reads the races of the last week:
//
//	for race, err := range client.Races.Results(horseracing.ResultsQuery{Since: lastWeek, Concurrency: 8}).All(ctx) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(race.StartTime, race.Info.Name)
//	}
//
// # Registering a horse
//
// Registering spends the race's entry fee. The package
// [github.com/horseracing-go/horseracing/ledger] registers each horse at most once in a race,
// under a budget and across crashes. If you do not use it, call [RacesService.Register]. If the
// response is lost, the error matches [ErrOutcomeUnknown], because the fee may be paid. Do not
// register again then: [RacesService.Registered] finds out whether the horse is registered.
//
// # Errors
//
// A call returns an [*APIError] for an error response, a [*DecodeError] for a response that
// cannot be read, and a [*TransportError] if there was no complete response. errors.Is finds
// sentinels such as [ErrNotFound], and the error of the context. A method that returns a list
// returns its entries or an error, never both, except [Pager.Take]. If one entry cannot be read, the
// method returns its error, unless [WithSkipHandler] leaves such entries out. No error, log line or printed
// value contains a key, with the exceptions listed at [UserKey].
//
// # Timeouts and retries
//
// [WithAttemptTimeout] bounds one attempt: 30 seconds by default. Reads are retried three times, and
// the pages of a [Pager] or [Follower] ten times; see [Retry]. While the service refuses requests,
// calls wait, and are sent by priority; see [WithRateLimit]. [Client.Pace] reports the limits that
// the service announced, or that the client learned from refusals.
//
// # Values
//
// Fees are [BigInt] and prizes [Number], both exact; instants are [Timestamp]. [WithDriftHandler]
// reports where the service differs from the types.
//
// # Testing
//
// The package [github.com/horseracing-go/horseracing/horseracingtest] is a fake of the whole
// service, for tests without a network or a key:
//
//	fake := horseracingtest.NewServer()
//	defer fake.Close()
//	run(ctx, fake.Client()) // the code under test
//
// The API reference is https://github.com/horseracing-go/horseracing/blob/main/docs/service.md.
package horseracing

//go:generate bash tools/update.sh
