package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

// operation handles a request whose response is a value.
type operation func(*http.Request) (any, error)

// control is the handler of a fake's control port.
type control struct {
	fake   *horseracingtest.Server
	faults []horseracingtest.Fault // in force from the start

	mu    sync.Mutex // one change of the clock at a time
	clock *Clock
	begin time.Time
}

// attempt returns what f panics with, which is how the fake refuses arguments.
func attempt(f func()) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = errors.New(wireNames.Replace(strings.TrimPrefix(fmt.Sprint(reason), "horseracingtest: ")))
		}
	}()
	f()
	return nil
}

// wireNames are the names of members in place of those of Go's fields.
var wireNames = strings.NewReplacer("MainRaceID", "main_race_id", "StartTime", "start_time", "the Number", "the number",
	"no ID", "no _id", "Path", "path", "Skip", "skip", "CutBody", "cut_body", "Delay", "delay", "Drip", "drip", "TakesEffectAfter", "takes_effect_after",
	"Probability", "probability", "Status", "status", "Body", "body", "ResetBefore", "reset_before", "ResetAfter", "reset_after")

// read reads the JSON body of a request; want says what it must be.
func read(r *http.Request, value any, want string) error {
	decoder := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 16<<20))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(value)
	if err == nil {
		if _, end := decoder.Token(); end != io.EOF {
			err = errors.New("more follows its JSON value")
		}
	}
	if err == nil {
		return nil
	}
	mistyped, isMistyped := errors.AsType[*json.UnmarshalTypeError](err)
	switch text := err.Error(); {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the request body is empty: it must be %s", want)
	case isMistyped && mistyped.Field != "":
		return fmt.Errorf("the request body must be %s: %s cannot be of type %s", want, mistyped.Field, mistyped.Value)
	case isMistyped:
		return fmt.Errorf("the request body must be %s, not of type %s", want, mistyped.Value)
	case strings.HasPrefix(text, "json: unknown field "):
		return fmt.Errorf("the request body must be %s: there is no member %s", want, strings.TrimPrefix(text, "json: unknown field "))
	default:
		return fmt.Errorf("the request body must be %s: %s", want, text)
	}
}
