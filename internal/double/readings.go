package double

import (
	"fmt"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

// A Reading is one way in which the service may read its own document.
type Reading struct {
	Name string
	horseracingtest.Readings
}

// Readings returns the readings under which every guarantee about money, completeness
// and ending holds.
func Readings() []Reading {
	type r = horseracingtest.Readings
	list := []Reading{
		{"inclusive start_time_from", r{Inclusive: true}},
		{"heats", r{Heats: true}},
		{"results without a final order", r{EarlyResults: true}},
		{"every third list of open races is empty", r{EmptyOpen: 3}},
		{"another tier's name", r{TierName: "Second"}},
		{"Omega in every tier", r{TierName: "Omega"}},
		{"a Date an hour ahead", r{DateOff: time.Hour}},
		{"a Date an hour behind", r{DateOff: -time.Hour}},
	}
	for _, when := range []string{"from start", "in result", "until start", "others first"} {
		list = append(list, Reading{"participants " + when, r{Participants: when}})
	}
	for _, status := range []int{400, 409, 422} {
		list = append(list, Reading{fmt.Sprintf("already registered is a %d", status), r{RepeatedAs: status}})
	}
	for _, body := range Refusals() {
		list = append(list, Reading{"a refusal is a 200 with " + body, r{Refusal: body}})
	}
	for _, body := range Confirmations() {
		list = append(list, Reading{"a confirmation is " + body, r{Confirmation: body}})
	}
	for _, form := range []string{"null", "204"} {
		list = append(list, Reading{"an empty list is " + form, r{EmptyList: form}})
	}
	for path, value := range WrongTypes() {
		list = append(list, Reading{path + " is " + value, r{Members: map[string]string{path: value}}})
	}
	return list
}

// Refusals are bodies of status 200 that do not confirm a registration.
func Refusals() []string {
	return []string{
		`{"success":false}`, `{"ok":false}`, `{"registered":false}`, `{"success":false,"message":"too late"}`,
		`{"error":"full"}`, `{"errors":["full"]}`, `{"err":"full"}`, `{"error":{"code":"full"}}`,
		`{"status":"error"}`, `{"status":"failed"}`, `{"code":400}`, `{"statusCode":422}`,
		`{"message":"race is full"}`, `{"reason":"full"}`, `{"result":"full"}`,
		`false`, `null`, `[]`, `"full"`, `full`, `0`,
	}
}

// Confirmations are bodies of status 200 that confirm a registration, or may: with the
// texts the outcome is unknown.
func Confirmations() []string {
	return []string{
		"empty", `true`, `{}`, `{"success":true}`, `{"success":true,"error":null}`, `{"ok":true,"errors":[]}`,
		`{"status":"ok","code":200}`, `{"_id":"684f"}`, `{"success":true,"message":"registered"}`,
		`{"message":"registered"}`, `"OK"`, `OK`, `[{"main_race_id":1}]`,
	}
}

// WrongTypes are members that nobody decides by, with a value of another type.
func WrongTypes() map[string]string {
	return map[string]string{
		"info": `"Oval"`, "info.hippodrome_type": "1", "info.turf": "null", "status": "2", "v2": "1", "no_equipment": "0", "tier": "5", "type": "[]",
		"length": `"14"`, "prizes": `"none"`, "participants.total": `"61.5"`, "participants.lane": `{}`,
		"name": "7", "gender": "0", "height": `"1.6 m"`, "appearance": `{}`, "description": "{}",
	}
}
