package horseracingtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
)

// Readings are ways in which the service may read its own document, where that leaves
// something open. The zero value is the literal reading, which the fake has otherwise.
// They can be combined. An HTML page or a cut body with status 200 is a [Fault].
type Readings struct {
	// Participants is when a race lists its participants: always (""), only "from start",
	// only "in result", only "until start" (the results list them nevertheless), or
	// "others first": those that were registered with a user's key only in the result.
	Participants string

	// Confirmation and Refusal are the bodies of the responses, both with status 200, to a
	// registration that was accepted or refused. "empty" means no body.
	Confirmation, Refusal string

	// Heats makes a race whose id ends in 1 a second heat: it has the id of the race before
	// it, unless both start at the same time. That race's operation returns both.
	Heats bool

	EarlyResults bool   // a race is in the results from its start on, at first without a final order
	Inclusive    bool   // start_time_from is inclusive
	TierName     string // the tier that all races are written with
	EmptyList    string // how an empty list is written: "" as [], or as "null", "204" or "404"

	// Members are the JSON values of members that have another type than documented,
	// by their paths, such as "tier" or "info.turf" or "participants.total". The first name
	// is that of a member of an entry or of a response that is an object.
	Members map[string]string
}

// WithReadings makes the fake read its document in other ways than the literal one.
func WithReadings(r Readings) Option {
	return func(s *settings) {
		s.readings = r
		s.world.Readings = world.Readings{EarlyResults: r.EarlyResults}
	}
}

// check returns what is wrong with the readings.
func (r *Readings) check() error {
	switch {
	case !slices.Contains([]string{"", "from start", "in result", "until start", "others first"}, r.Participants):
		return errors.New("readings: there is no Participants " + strconv.Quote(r.Participants))
	case !slices.Contains([]string{"", "null", "204", "404"}, r.EmptyList):
		return errors.New("readings: there is no EmptyList " + strconv.Quote(r.EmptyList))
	}
	for path, value := range r.Members {
		if path == "" || !json.Valid([]byte(value)) {
			return errors.New("readings: the member " + strconv.Quote(path) + " has no JSON value")
		}
	}
	return nil
}

// reading is a service with Readings. It changes the requests to the literal one and its
// responses.
type reading struct {
	Readings
	world *world.World
}

// do is World.Do of a service with these readings.
func (r *reading) do(op world.Operation, argument world.Argument, body world.Body, now int64) response {
	if r.Inclusive {
		body.StartTimeFrom++
	}
	if r.Heats && op == world.GetRace && r.heatOf(argument.Number, now) != argument.Number {
		argument.Number = 0 // it goes by the id of the first heat
	}
	out := response{}
	out.status, out.body = r.world.Do(op, argument, body, now)
	if op == world.Register {
		return r.registered(out)
	}
	if out.status != http.StatusOK || !r.rewrites() {
		return out
	}
	out.body = r.rewrite(op, argument, out.body, now)
	if string(out.body) == "[]" {
		switch r.EmptyList {
		case "null":
			out.body = []byte("null")
		case "204":
			return response{status: http.StatusNoContent}
		case "404":
			return refused(world.Refuse(http.StatusNotFound, "nothing", "there are none"))
		}
	}
	return out
}

// rewrites reports whether any reading changes what is written.
func (r *reading) rewrites() bool {
	return r.Participants+r.TierName+r.EmptyList != "" || r.Heats || len(r.Members) > 0
}

// registered is the response to a registration.
func (r *reading) registered(out response) response {
	text := r.Confirmation
	if out.status != http.StatusOK {
		text = r.Refusal
	}
	if text == "empty" {
		return response{status: http.StatusOK}
	} else if text != "" {
		return response{status: http.StatusOK, body: []byte(text)}
	}
	return out
}

// rewrite writes the literal response to an operation as the readings have it.
func (r *reading) rewrite(op world.Operation, argument world.Argument, body []byte, now int64) []byte {
	entries, isArray := decodeEntries(body)
	switch op {
	case world.GetRace:
		if r.Heats && argument.Number%10 == 0 && len(entries) == 1 && r.heatOf(argument.Number+1, now) == argument.Number {
			_, heat := r.world.Do(op, world.Argument{Number: argument.Number + 1}, world.Body{}, now)
			more, _ := decodeEntries(heat)
			entries = append(entries, more...)
		}
		fallthrough
	case world.OpenRaces, world.RaceResults, world.RaceResultsV1:
		for _, entry := range entries {
			r.race(op, entry, now)
		}
	}
	for _, entry := range entries {
		for path, value := range r.Members {
			replace(entry, strings.Split(path, "."), json.RawMessage(value))
		}
	}
	var value any = entries
	if !isArray {
		value = entries[0]
	}
	written, err := json.Marshal(value)
	if err != nil {
		panic(err) // it was read, and Members are valid
	}
	return written
}

// race changes a race of a response.
func (r *reading) race(op world.Operation, race map[string]any, now int64) {
	id, start := integer(race["main_race_id"]), integer(race["start_time"])
	order, _ := race["final_order"].([]any)
	isResults := op == world.RaceResults || op == world.RaceResultsV1
	participants, _ := race["participants"].([]any)
	switch {
	case r.Participants == "from start" && now < start, r.Participants == "in result" && len(order) == 0, r.Participants == "until start" && now >= start && !isResults:
		race["participants"] = []any{}
	case r.Participants == "others first" && len(order) == 0:
		race["participants"] = slices.DeleteFunc(participants, func(p any) bool {
			horse, _ := p.(map[string]any)
			return r.world.IsRegistered(integer(horse["number"]), id)
		})
	}
	if r.Heats {
		race["main_race_id"] = r.heatOf(id, now)
	}
	if r.TierName != "" {
		race["tier"] = r.TierName
	}
}

// heatOf returns the id that a race is listed with.
func (r *reading) heatOf(id, now int64) int64 {
	if id%10 != 1 {
		return id
	}
	var starts [2]int64
	for i := range starts {
		_, body := r.world.Do(world.GetRace, world.Argument{Number: id - int64(i)}, world.Body{}, now)
		entries, _ := decodeEntries(body)
		if len(entries) == 0 {
			return id
		}
		starts[i] = integer(entries[0]["start_time"])
	}
	if starts[0] == starts[1] {
		return id
	}
	return id - 1
}

// decodeEntries reads an array of objects, or one object.
func decodeEntries(body []byte) (entries []map[string]any, isArray bool) {
	isArray = bytes.HasPrefix(body, []byte("["))
	if !isArray {
		body = slices.Concat([]byte("["), body, []byte("]"))
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&entries); err != nil {
		panic(err) // the world writes objects
	}
	return entries, isArray
}

// replace replaces the members at a path, in all elements of the arrays on it.
func replace(value any, path []string, with json.RawMessage) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			replace(element, path, with)
		}
	case map[string]any:
		member, exists := value[path[0]]
		if exists && len(path) == 1 {
			value[path[0]] = with
		} else if exists {
			replace(member, path[1:], with)
		}
	}
}

func integer(value any) int64 {
	number, _ := value.(json.Number)
	n, _ := number.Int64()
	return n
}
