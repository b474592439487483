package horseracing

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/horseracing-go/horseracing/internal/decode"
	"github.com/horseracing-go/horseracing/internal/registration"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// Registration holds the parameters of [RacesService.Register], all required.
type Registration struct {
	Horse   HorseNumber
	Race    RaceID  // the race's MainRaceID
	UserKey UserKey // the key of the horse's owner
}

// RegistrationReceipt is the response that confirms a registration. Its shape is undocumented.
// Printing or logging it omits the body, which may contain keys.
type RegistrationReceipt struct {
	StatusCode int             // from 200 to 299
	Body       json.RawMessage // nil unless the response is JSON
}

func (r RegistrationReceipt) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "{StatusCode:%d Body:%d bytes}", r.StatusCode, len(r.Body))
}

func (r RegistrationReceipt) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(r)) }

// decode reads a response with a status 2xx. It returns an error if that does not confirm the
// registration. An object that declares an error is an error of every call.
func (r *RegistrationReceipt) decode(resp response) error {
	switch {
	case resp.Status == http.StatusAccepted:
		return &decode.Error{Err: errors.New("status 202 means that the horse is not registered yet")}
	case transport.IsHTML(resp.Body):
		return &decode.Error{Err: transport.ErrHTML}
	case !isText(resp.Body):
		return &decode.Error{Err: errors.New("it is not text, but compressed or of another encoding")}
	}
	body := decode.Trim(resp.Body)
	object := map[string]jsontext.Value{}
	if bytes.HasPrefix(body, []byte("{")) {
		if err := decode.Read(body, &object, decode.Lenient); err != nil { // it may be cut
			return err
		}
	}
	for _, value := range []jsontext.Value{body, object["success"], object["ok"]} {
		if string(value) == "false" {
			return &decode.Error{Err: errors.New("it denies the registration")}
		}
	}
	r.StatusCode = resp.Status
	if jsontext.Value(resp.Body).IsValid(decode.AnySyntax) {
		r.Body = resp.Body
	}
	return nil
}

// isText reports whether a body may be text in UTF-8 or a similar encoding. It has no NUL then, and
// does not begin as gzip or zlib, or with a mark of UTF-16.
func isText(body []byte) bool {
	for _, start := range []string{"\x1f\x8b", "\x78\x01", "\x78\x5e", "\x78\x9c", "\x78\xda", "\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(body, []byte(start)) {
			return false
		}
	}
	return bytes.IndexByte(body, 0) < 0
}

// UndecidedError is returned by [RacesService.Registered] if the response does not show
// whether the horse is registered. It matches ErrOutcomeUnknown.
type UndecidedError struct {
	RetryAt time.Time // when another call can decide, or zero if none can and a person has to look in the game
	Err     error     // why this response does not decide
}

func (e *UndecidedError) Error() string {
	hint := "look for the horse in the game before registering again"
	if !e.RetryAt.IsZero() {
		hint = "read the race again from " + e.RetryAt.UTC().Format(time.RFC3339) + " on"
	}
	return fmt.Sprintf("%v; the outcome is unknown: %s", e.Err, hint)
}

func (e *UndecidedError) Unwrap() []error { return []error{ErrOutcomeUnknown, e.Err} }

// isRegistered reports whether a list of races, which the service made at a time, shows that the horse is
// registered in the race, or that it is not. Otherwise it returns an [*UndecidedError].
func isRegistered(l *list[Race], race RaceID, horse HorseNumber, made time.Time) (bool, error) {
	var unread *UndecidedError   // of the first entry that may hide the horse
	var unlisted *UndecidedError // of the first entry that may list it later
	isFound, isFull := false, true
	for i := range l.entries {
		e := &l.entries[i]
		is, mayBe := e.Value.MainRaceID == race, e.Value.MainRaceID == 0
		isFound = isFound || is
		switch {
		case e.Value.Has(horse) && (is || mayBe && len(l.entries) == 1):
			return true, nil
		case e.Err != nil && (is || mayBe): // what was read of it shows horses, and not that one is absent
			unread = cmp.Or(unread, failedReading(ofResponse(e.Err, l.ID)))
		case is && e.Value.Has(0): // it may be the horse
			unread = cmp.Or(unread, e.Value.mayList(made, l.response))
		case is:
			unlisted = cmp.Or(unlisted, e.Value.mayList(made, l.response))
			isFull = isFull && e.Value.isFull()
		case mayBe:
			unread = cmp.Or(unread, &UndecidedError{Err: l.notRequested("a race without an id")})
		}
	}
	switch undecided := cmp.Or(unread, unlisted); {
	case undecided != nil:
		if unlisted, ok := errors.AsType[*registration.NotListedError](undecided.Err); ok {
			unlisted.IsFull = isFull
		}
		return false, undecided
	case !isFound:
		return false, &UndecidedError{Err: l.notRequested("other races")}
	}
	return false, nil
}

// mayList returns why a horse that the race did not list at a time may still be registered,
// or nil if it is not. Some horses may be listed only an hour after the race has closed.
func (r *Race) mayList(at time.Time, resp response) *UndecidedError {
	undecided := func(until time.Time, why string) *UndecidedError {
		if r.Has(0) {
			return &UndecidedError{until, fmt.Errorf("%s: the race lists a horse without its number, and %s", resp, why)}
		}
		return &UndecidedError{until, notListed(fmt.Errorf("%s: %s", resp, why), resp.Header)}
	}
	finishers, err := r.Finishers()
	listsOthers := len(r.Participants) > 0 && !r.Has(0)
	closed := r.RegistrationDeadline.Time
	if r.StartTime.After(closed) {
		closed = r.StartTime.Time
	}
	hour, twoHours := closed.Add(time.Hour), closed.Add(2*time.Hour)
	switch {
	case listsOthers && err == nil && len(finishers) == len(r.Participants):
		return nil
	case r.RegistrationDeadline.IsZero() || r.StartTime.IsZero():
		return undecided(time.Time{}, "the race lacks its deadline or its start")
	case at.Before(hour):
		return undecided(hour, "the horse is not in the race so far")
	case listsOthers:
		return nil
	case at.Before(twoHours):
		return undecided(twoHours, "the race lists nobody so far")
	}
	return undecided(time.Time{}, "the race lists nobody, two hours after its deadline and its start")
}

// isFull reports whether as many different horses are listed as the race has places.
func (r *Race) isFull() bool {
	horses := map[HorseNumber]bool{}
	for _, p := range r.Participants {
		horses[p.Number] = true
	}
	return r.Places > 0 && len(horses) >= r.Places
}

// notListed returns the cause of an UndecidedError for a response that shows that the race does not
// list the horse. One from a cache may be older than the registration.
func notListed(err error, header http.Header) error {
	if ageOf(header) > 0 {
		return err
	}
	return &registration.NotListedError{Err: err}
}

// failedReading returns the error of a reading that failed. Another one can decide, unless
// the service refuses to show the race.
func failedReading(err error) *UndecidedError {
	api, isAPI := errors.AsType[*APIError](err)
	switch {
	case isAPI && errors.Is(err, ErrNotFound) && !errors.Is(err, ErrHTML):
		return &UndecidedError{Err: notListed(err, api.Header)}
	case isAPI && !transport.IsTransient(api.StatusCode) && !errors.Is(err, ErrRateLimited), errors.Is(err, ErrInvalidArgument):
		return &UndecidedError{Err: err}
	}
	return &UndecidedError{time.Now().Add(cmp.Or(retryAfterOf(err), time.Minute)), err}
}

// responseTime returns when the service made a response: Date minus Age. Without a
// Date it counts from when the request was made.
func responseTime(header http.Header, requested time.Time) time.Time {
	made := requested
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		made = date
	}
	return made.Add(-ageOf(header))
}

// ageOf returns for how long a cache has kept a response, zero if it comes from the service itself.
func ageOf(header http.Header) time.Duration {
	age, _ := strconv.ParseInt(header.Get("Age"), 10, 32) // zero if unreadable, the largest one if too large
	return time.Duration(max(age, 0)) * time.Second
}
