package horseracingtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
)

// Readings are ways in which the API reference can be read, and in which the service may
// therefore behave. They can be combined. The zero value is the literal reading, which is the
// default. To respond with an HTML page or a cut body and status 200, use a [Fault], and for
// anything else a handler; see [Server.Handle].
//
// See docs/unknowns.md, section "How the service may read its document".
type Readings struct {
	// Participants is when a race lists its participants. By default it always does. With
	// "from start" it lists them once it has started, and with "in result" once it has a
	// result. With "until start" it lists them before its start and in the results. With
	// "others first" a race without a result lists all of them except the horses that were
	// registered with a user's key.
	Participants string

	// Confirmation and Refusal are the bodies of the responses, both with status 200, to a
	// registration that was accepted or refused. "empty" means no body.
	Confirmation, Refusal string

	// Heats makes pairs of races share an id, as if they were heats of one race. Each race
	// whose id ends in 1 is listed with the id before its own: race 21 is listed as race 20,
	// and the operation for race 20 returns both. If race 20 does not exist, or starts at the
	// same time as race 21, race 21 keeps its id.
	Heats bool

	EarlyResults bool   // a race is in the results from its start on, at first without a final order
	Inclusive    bool   // start_time_from is inclusive
	TierName     string // the tier that all races are written with
	EmptyList    string // how an empty list is written: "" as [], or as "null", "204" or "404"

	// Members replaces members of responses by JSON values, for example of another type than
	// documented. A key is the path of a member in an entry of a list, or in a response that
	// is an object: "tier", "info.turf" or "participants.total".
	Members map[string]string
}

// WithReadings makes the fake read the API reference in other ways than the literal one.
func WithReadings(r Readings) Option { return func(s *settings) { s.readings = r } }

// check returns what is wrong with the readings.
func (r *Readings) check() error {
	switch {
	case !slices.Contains([]string{"", "from start", "in result", "until start", "others first"}, r.Participants):
		return errors.New("readings: Participants cannot be " + strconv.Quote(r.Participants))
	case !slices.Contains([]string{"", "null", "204", "404"}, r.EmptyList):
		return errors.New("readings: EmptyList cannot be " + strconv.Quote(r.EmptyList))
	}
	for path, value := range r.Members {
		if path == "" || !json.Valid([]byte(value)) {
			return errors.New("readings: the member " + strconv.Quote(path) + " has no JSON value")
		}
	}
	return nil
}

// changesRaces reports whether races are not shown as they are.
func (r *Readings) changesRaces() bool { return r.Participants != "" || r.Heats || r.TierName != "" }

// showRace changes a race that is about to be shown.
func (w *world) showRace(shown *horseracing.Race, isResults bool, now time.Time) {
	isFinished := len(shown.FinalOrder) > 0
	isStarted := !now.Before(shown.StartTime.Time)
	switch w.readings.Participants {
	case "from start":
		if !isStarted {
			shown.Participants = nil
		}
	case "in result":
		if !isFinished {
			shown.Participants = nil
		}
	case "until start":
		if isStarted && !isResults {
			shown.Participants = nil
		}
	case "others first":
		if !isFinished {
			shown.Participants = slices.DeleteFunc(slices.Clone(shown.Participants), func(p horseracing.RaceParticipant) bool {
				return w.isRegistered(p.Number, shown.MainRaceID)
			})
		}
	}
	shown.MainRaceID = w.listedID(shown.MainRaceID)
	if w.readings.TierName != "" {
		shown.Tier = horseracing.TierName(w.readings.TierName)
	}
}

// listedID returns the id that a race is listed with.
func (w *world) listedID(id horseracing.RaceID) horseracing.RaceID {
	first, second := w.races[id-1], w.races[id]
	if w.readings.Heats && id%10 == 1 && first != nil && second != nil && !first.StartTime.Equal(second.StartTime.Time) {
		return id - 1
	}
	return id
}

// response returns the response to a request with this method that led to this body, or
// to this refusal.
func (r *Readings) response(method string, body []byte, no *refusal) response {
	if method == http.MethodPost {
		instead := r.Confirmation
		if no != nil {
			instead = r.Refusal
		}
		if instead == "empty" {
			return response{status: http.StatusOK}
		} else if instead != "" {
			return response{status: http.StatusOK, body: []byte(instead)}
		}
	}
	switch {
	case no != nil:
		return no.response()
	case method == http.MethodPost:
	case string(body) != "[]":
		body = r.replaceMembers(body)
	case r.EmptyList == "null":
		body = []byte("null")
	case r.EmptyList == "204":
		return response{status: http.StatusNoContent}
	case r.EmptyList == "404":
		return refuse(http.StatusNotFound, "nothing", "there are none").response()
	}
	return response{status: http.StatusOK, body: body}
}

// replaceMembers replaces the members of another type in a response.
func (r *Readings) replaceMembers(body []byte) []byte {
	if len(r.Members) == 0 {
		return body
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	must(decoder.Decode(&value))
	for path, text := range r.Members {
		replace(value, strings.Split(path, "."), json.RawMessage(text))
	}
	written, err := json.Marshal(value)
	must(err)
	return written
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
