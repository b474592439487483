package double

import (
	"maps"
	"slices"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

// A Reading is one way in which the service may read its own document.
type Reading struct {
	Kind, Name string // those of one kind are alternatives
	horseracingtest.Readings
}

// Readings returns the readings under which every guarantee about money, completeness
// and ending holds.
func Readings() []Reading {
	type r = horseracingtest.Readings
	list := []Reading{
		{"literal", "it is as it is written", r{}},
		{"inclusive", "start_time_from is inclusive", r{Inclusive: true}},
		{"heats", "two heats with one id", r{Heats: true}},
		{"early", "results without a final order", r{EarlyResults: true}},
		{"tier name", "another name of the tier", r{TierName: "Second"}},
		{"empty list", "an empty list is null", r{EmptyList: "null"}},
		{"empty list", "an empty list is a 204", r{EmptyList: "204"}},
	}
	for _, when := range []string{"from start", "in result", "until start", "others first"} {
		list = append(list, Reading{"participants", "participants " + when, r{Participants: when}})
	}
	for _, body := range refusals {
		list = append(list, Reading{"refusal", "a refusal is a 200 with " + body, r{Refusal: body}})
	}
	for _, body := range confirmations {
		list = append(list, Reading{"confirmation", "a confirmation is " + body, r{Confirmation: body}})
	}
	for _, path := range slices.Sorted(maps.Keys(wrongTypes)) {
		list = append(list, Reading{"type", path + " is " + wrongTypes[path], r{Members: map[string]string{path: wrongTypes[path]}}})
	}
	return list
}

// refusals are bodies of status 200 that do not confirm a registration.
var refusals = []string{
	`{"success":false}`, `{"ok":false,"message":"too late"}`, `{"error":"full"}`, `{"errors":["full"]}`, `{"error":{"code":"full"}}`, `false`, `<html>full</html>`,
}

// confirmations are bodies of status 200 that confirm a registration: all others.
var confirmations = []string{
	"empty", `true`, `null`, `{}`, `{"success":true,"error":null}`, `{"ok":true,"errors":[]}`, `{"status":"declined"}`, `{"_id":"684f"}`, `OK`, `[{"main_race_id":1}]`,
}

// wrongTypes are members that nobody decides by, with a value of another type.
var wrongTypes = map[string]string{
	"info": `"Oval"`, "info.hippodrome_type": "1", "info.turf": "null", "status": "2", "v2": "1", "no_equipment": "0", "tier": "5", "type": "[]",
	"length": `"14"`, "prizes": `"none"`, "participants.total": `"61.5"`, "participants.lane": `{}`,
	"name": "7", "gender": "0", "height": `"1.6 m"`, "appearance": `{}`, "description": "{}",
}
