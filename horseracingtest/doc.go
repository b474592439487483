// Package horseracingtest is a fake of the game data service, for tests of programs
// that use it. It is modelled on net/http/httptest:
//
//	server := horseracingtest.NewServer()
//	defer server.Close()
//	client := server.Client()
//
// The fake has every documented operation. Races open, take registrations, run and appear in
// the results, some of them late. Horses' missions, breeding listings, the mission catalogue
// and tournaments are examples that do not change, unless a test sets others. The races depend
// only on a seed and on a clock that stands still until the test advances it, so every run of
// a test sees the same ones.
//
// The fake is strict. A request that differs from the API reference (a missing header, a
// misspelled member, a string for a number, a body where none is documented) is refused with a
// message that names the mistake.
//
// Faults can be injected ([Server.Inject]), requests limited ([WithRequestLimit]) and
// inspected ([Server.Requests]), and single operations replaced ([Server.Handle]). Recorded
// races can be run again, for a backtest ([WithHistoryOf]). If the API reference leaves open
// how the service behaves, the fake can be made to behave in one of the other ways
// ([WithReadings]).
//
// https://github.com/horseracing-go/horseracing/blob/main/docs/testing.md has examples.
//
// # Choices of the fake
//
// Much of the service is undocumented. Programs should not rely on these choices
// of the fake:
//
//   - the statuses of errors, and their body {"error":{"code":"...","message":"..."}};
//   - the response to a registration is {"registered":true,"main_race_id":1,"horse_number":2,"entry_fee":3};
//   - an open race is listed until it starts; from then until its result is published, only
//     GET /api/v1/races/{raceId} shows it; for an id that does not exist, the response is an
//     empty array;
//   - open tournaments are an array, one tournament is an object;
//   - there are tiers other than 5 (Omega), and tournaments and stages have the
//     status 0 until they are finished;
//   - version 1 of the results has neither type nor levels;
//   - entries with the same start are sorted by descending id;
//   - final_order is sorted by ascending total, or by descending total in a
//     worst_time race, and winners are the first three of it;
//   - the shapes of mission progress.
package horseracingtest
