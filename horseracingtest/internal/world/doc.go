// Package world is the service as a machine, without net/http and without a clock of
// its own: the time is handed in.
//
// [World.Do] is its one door for requests, all of them parsed. [World.Advance] makes
// happen what was to happen until a time: races open, fill up, run and are published.
// AddRaces, SetBreeding and the like set the state from outside.
//
// What was before the start is computed from the seed whenever it is requested (timeline,
// listing, horse); what happens since is stored (live, recorded, and what was added).
package world
