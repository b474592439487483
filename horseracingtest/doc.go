// Package horseracingtest is a fake of the game data service, for the tests of
// programs that use it, in the manner of net/http/httptest:
//
//	server := horseracingtest.NewServer()
//	defer server.Close()
//	client := server.Client()
//
// It knows every operation of the interface document and keeps state: races
// open, take registrations, run and show up in the results, some of them late;
// tournaments go through their stages. All of it follows from a seed and a
// clock that stands still until the test advances it, so that a test sees the
// same on every run. The history before the start may have millions of races.
//
// It is strict. A request that strays from the interface document (a missing
// header, a misspelled member, a string for a number, a body where none is
// documented) is refused with a message that says what was wrong, so that a
// client's mistake is found in its tests.
//
// Faults can be injected ([Server.Inject]) and requests looked at
// ([Server.Requests]).
//
// # What is the fake's own
//
// The interface document leaves much open. Where it does, the fake has to
// decide, and a program should not rely on what it decided:
//
//   - errors: the statuses, and the body {"error":{"code":"...","message":"..."}};
//   - the answer to a registration: {"registered":true,"main_race_id":1,"horse_number":2,"entry_fee":3};
//   - an open race is listed until it starts; between its start and the
//     publication of its result only the race operation shows it; a race that
//     does not exist is an empty array there;
//   - open tournaments are an array, one tournament is an object;
//   - tiers other than 5, Omega, and the statuses 0 (open) and 1 (running) of
//     tournaments and stages;
//   - version 1 of the results shows neither type nor levels;
//   - the order of entries on one instant: by descending id;
//   - dropped_at_index: the stage a horse ran last, counted from 0;
//   - final_order: by ascending total, or descending in a worst_time race;
//     winners: the first three of it;
//   - the shapes of mission progress, and what missions are worth.
package horseracingtest
