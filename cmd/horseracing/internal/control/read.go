package control

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// decoding reads members by the names of fields in snake_case, instants, durations such as
// "1h30m", and limits in the notation of ParseLimit.
var decoding = json.JoinOptions(json.MatchCaseInsensitiveNames(true), json.RejectUnknownMembers(true),
	json.WithUnmarshalers(json.JoinUnmarshalers(text(ParseLimit), text(parseDuration), text(parseTime))))

// text decodes a T that is written as a text.
func text[T any](parse func(string) (T, error)) *json.Unmarshalers {
	return json.UnmarshalFunc(func(data []byte, value *T) (err error) {
		var written string
		if err = json.Unmarshal(data, &written); err == nil {
			*value, err = parse(written)
		}
		return err
	})
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		err = fmt.Errorf("%q is not a duration like 250ms or 1h30m", text)
	}
	return d, err
}

func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		err = fmt.Errorf("%q is not a time like 2025-06-01T12:00:00Z", text)
	}
	return t, err
}

// kinds are the types of JSON by the first byte of a value.
var kinds = map[byte]string{'[': "array", '{': "object", '"': "string", '0': "number", 'n': "null", 't': "bool", 'f': "bool"}

// read reads the JSON body of a request; want says what it must be.
func read(r *http.Request, value any, want string) error {
	data, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, 16<<20))
	if err == nil && len(bytes.TrimSpace(data)) == 0 {
		return fmt.Errorf("the request body is empty: it must be %s", want)
	}
	if err == nil {
		err = json.Unmarshal(data, value, decoding)
	}
	if err == nil {
		return nil
	}
	problem := err.Error()
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		member := semantic.JSONPointer.LastToken()
		switch kind := kinds[byte(semantic.JSONKind)]; {
		case errors.Is(semantic, json.ErrUnknownName):
			problem = fmt.Sprintf("there is no member %q", member)
		case semantic.Err != nil:
			problem = semantic.Err.Error()
		case member == "":
			problem = "it cannot be of type " + kind
		default:
			problem = member + " cannot be of type " + kind
		}
	}
	return fmt.Errorf("the request body must be %s: %s", want, problem)
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
