package main

import (
	"database/sql"
	"encoding/json"
	"strconv"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

// Times are milliseconds since the epoch. Fees are text: SQLite's integers end
// at 2^63 and its numbers beyond are floats. prizes, final_order and winners
// are JSON arrays, the prizes of strings of digits.
const schema = `
CREATE TABLE IF NOT EXISTS source (name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS races (
	race_id INTEGER NOT NULL, start_time INTEGER NOT NULL, -- heats share an id
	tier_id INTEGER, registration_deadline INTEGER,
	name TEXT, hippodrome TEXT, hippodrome_type TEXT, turf TEXT, type TEXT, length INTEGER, places INTEGER,
	min_level INTEGER, max_level INTEGER, v2 INTEGER, no_equipment INTEGER,
	entry_fee TEXT, prizes TEXT, final_order TEXT, winners TEXT,
	PRIMARY KEY (race_id, start_time));
CREATE INDEX IF NOT EXISTS races_by_start ON races (tier_id, start_time);
CREATE TABLE IF NOT EXISTS participants (
	race_id INTEGER NOT NULL, start_time INTEGER NOT NULL, position INTEGER NOT NULL, horse INTEGER, lane INTEGER, total REAL,
	place INTEGER, -- 1 for the winner; null if the final order does not show it
	PRIMARY KEY (race_id, start_time, position)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS participants_by_horse ON participants (horse);
CREATE TABLE IF NOT EXISTS horses (
	number INTEGER PRIMARY KEY, name TEXT, gender TEXT, breed TEXT, tier TEXT, generation INTEGER, level INTEGER,
	height REAL, weight REAL);
CREATE TABLE IF NOT EXISTS traits (horse INTEGER NOT NULL, type TEXT NOT NULL, value TEXT, PRIMARY KEY (horse, type)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tournaments (
	tournament_id TEXT PRIMARY KEY, tier_id INTEGER, start_time INTEGER, name TEXT, hippodrome TEXT, type TEXT,
	length INTEGER, places INTEGER, status INTEGER, entry_fee TEXT, prizes TEXT);
CREATE TABLE IF NOT EXISTS tournament_participants (
	tournament_id TEXT NOT NULL, horse INTEGER NOT NULL, total REAL, dropped_at_index INTEGER,
	PRIMARY KEY (tournament_id, horse)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS stages (
	tournament_id TEXT NOT NULL, stage INTEGER NOT NULL, name TEXT, start_time INTEGER, race_count INTEGER, status INTEGER,
	PRIMARY KEY (tournament_id, stage)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS stage_results (
	tournament_id TEXT NOT NULL, stage INTEGER NOT NULL, horse INTEGER NOT NULL, race_id INTEGER NOT NULL, total REAL,
	PRIMARY KEY (tournament_id, stage, horse, race_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS registrations ( -- of the ledger that was read last
	race_id INTEGER NOT NULL, horse INTEGER NOT NULL, sent_at INTEGER, state TEXT, fee TEXT, note TEXT,
	PRIMARY KEY (race_id, horse)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unreadable (listing TEXT NOT NULL, json TEXT NOT NULL, PRIMARY KEY (listing, json));
CREATE TABLE IF NOT EXISTS walks (
	listing TEXT NOT NULL, tier_id INTEGER NOT NULL,
	since INTEGER NOT NULL, -- of the command line; 0 for everything
	cursor TEXT NOT NULL,   -- how far it has come; empty at its start
	done INTEGER NOT NULL,  -- 1 once it has come to the present
	PRIMARY KEY (listing, tier_id, since));`

// row is a row of a table, with the rows of other tables that belong to it.
type row struct {
	table  string
	values []any
	start  int64 // of a race or tournament
	parts  []row
}

func unreadableRow(listing string, entry []byte) row {
	return row{table: "unreadable", values: []any{listing, string(entry)}}
}

func raceRow(r *horseracing.Race, tier horseracing.TierID) row {
	start := millis(r.StartTime.Time)
	out := row{table: "races", start: start, values: []any{
		r.MainRaceID, start, tier, orNull(millis(r.RegistrationDeadline.Time)),
		r.Info.Name, r.Info.HippodromeName, r.Info.HippodromeType, r.Info.Turf, r.Type, r.Length, r.Places,
		r.MinLevel, r.MaxLevel, r.V2, r.NoEquipment,
		r.EntryFee.String(), digits(r.Prizes), array(r.FinalOrder), array(r.Winners),
	}}
	place := make(map[horseracing.HorseNumber]int64, len(r.Participants))
	if finishers, err := r.Finishers(); err == nil { // else final_order shows why places are null
		for i, p := range finishers {
			place[p.Number] = int64(i + 1)
		}
	}
	for i, p := range r.Participants {
		out.parts = append(out.parts, row{table: "participants", values: []any{
			r.MainRaceID, start, i, p.Number, orNull(int64(p.Lane)), p.Total, orNull(place[p.Number]),
		}})
	}
	return out
}

func registrationRow(e ledger.Entry) row {
	return row{table: "registrations", values: []any{e.Race, e.Horse, millis(e.Time), string(e.State), e.Fee.String(), e.Note}}
}

func horseRow(h *horseracing.Horse) row {
	out := row{table: "horses", values: []any{h.Number, h.Name, h.Gender, h.Breed, h.Tier, h.Generation, h.Level, h.Height, h.Weight}}
	for _, trait := range h.Appearance {
		out.parts = append(out.parts, row{table: "traits", values: []any{h.Number, trait.Type, trait.Value}})
	}
	return out
}

func tournamentRow(t *horseracing.Tournament) row {
	start := millis(t.StartTime.Time)
	out := row{table: "tournaments", start: start, values: []any{
		t.ID, t.Tier, start, t.Name, t.HippodromeName, t.Type, t.Length, t.Places, t.Status, t.EntryFee.String(), digits(t.Prizes),
	}}
	for _, p := range t.Participants {
		out.parts = append(out.parts, row{table: "tournament_participants", values: []any{t.ID, p.Number, p.Total, p.DroppedAtIndex}})
	}
	for i, stage := range t.Stages {
		out.parts = append(out.parts, row{table: "stages", values: []any{
			t.ID, i, stage.Name, millis(stage.StartTime.Time), stage.RaceCount, stage.Status,
		}})
		for _, result := range stage.Results {
			out.parts = append(out.parts, row{table: "stage_results", values: []any{t.ID, i, result.Number, result.MainRaceID, result.Total}})
		}
	}
	return out
}

// digits writes amounts in full: some services write 6e+21 for the larger ones,
// which many readers of JSON would round.
func digits(amounts []horseracing.Number) string {
	all := make([]string, len(amounts))
	for i, n := range amounts {
		all[i] = n.FormatUnits(0)
	}
	text, _ := json.Marshal(all) // strings always encode
	return string(text)
}

func array(indexes []int) string {
	text := []byte{'['}
	for i, n := range indexes {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(n), 10)
	}
	return string(append(text, ']'))
}

func orNull(n int64) sql.NullInt64 { return sql.NullInt64{Int64: n, Valid: n != 0} }
