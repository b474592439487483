package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/route"
	"github.com/horseracing-go/horseracing/ledger"
)

// ending is how the program ends: an exit status, and the code of a JSON error.
type ending struct {
	status int
	code   string
}

var (
	done          = ending{0, ""}
	failed        = ending{1, "failed"}
	misused       = ending{2, "usage"}
	notFound      = ending{3, "not_found"}
	unauthorized  = ending{4, "unauthorized"}
	unavailable   = ending{5, "unavailable"}
	notRegistered = ending{6, "not_registered"}
	outcomeOpen   = ending{7, "unknown"}
	interrupted   = ending{130, "interrupted"}
)

const exitStatuses = `Exit status: 0 done, 1 failed, 2 a mistake on the command line, 3 no such race,
horse or tournament, 4 the key is not accepted, 5 the service does not respond or
refuses requests, 6 not registered and nothing paid, 7 the outcome is unknown and
the fee may be paid, 130 interrupted.
`

// usageError is a mistake on the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

// notRegisteredError is why a horse was certainly not registered.
type notRegisteredError struct{ err error }

func (e *notRegisteredError) Error() string { return e.err.Error() }
func (e *notRegisteredError) Unwrap() error { return e.err }

// endingOf classifies what ended the program. That a fee may be paid must not be
// lost, whatever else happened.
func endingOf(ctx context.Context, err error) ending {
	_, isMistake := errors.AsType[usageError](err)
	_, isNotRegistered := errors.AsType[*notRegisteredError](err)
	switch {
	case errors.Is(err, horseracing.ErrOutcomeUnknown), errors.Is(err, ledger.ErrUnsettled):
		return outcomeOpen
	case errors.Is(err, errOutputClosed): // head has seen enough
		return done
	case isMistake:
		return misused
	case ctx.Err() != nil:
		return interrupted
	case err == nil:
		return done
	case errors.Is(err, horseracing.ErrUnauthorized), errors.Is(err, horseracing.ErrForbidden):
		return unauthorized
	case isNotRegistered:
		return notRegistered
	case isUnavailable(err):
		return unavailable
	case isAbsent(err):
		return notFound
	}
	return failed
}

// isUnavailable reports whether the same command may succeed later.
func isUnavailable(err error) bool {
	_, isTransport := errors.AsType[*horseracing.TransportError](err)
	_, isFile := errors.AsType[*fs.PathError](err) // of doctor -record, say
	return isTransport && !isFile && !errors.Is(err, horseracing.ErrResponseTooLarge) ||
		errors.Is(err, horseracing.ErrRateLimited) || errors.Is(err, horseracing.ErrServer)
}

// isAbsent reports whether the race, horse or tournament that was named does not
// exist. A listing that is not found has another cause.
func isAbsent(err error) bool {
	api, isAPI := errors.AsType[*horseracing.APIError](err)
	return errors.Is(err, horseracing.ErrNotFound) && (!isAPI || api.ID != "")
}

// exit prints what ended the program, and returns the exit status.
func (p *program) exit(ctx context.Context, err error) int {
	end := endingOf(ctx, err)
	switch {
	case end == done:
	case p.asJSON && err != nil:
		p.printError(end, err)
	case end == misused:
		p.say(fmt.Sprintf("%v (see %s -h)", err, p.name))
	case end != interrupted:
		p.say(explain(err))
	}
	return end.status
}

// complain reports an error that does not end the program.
func (p *program) complain(err error) {
	switch {
	case !p.asJSON:
		p.say(err.Error())
	case errors.Is(err, horseracing.ErrSkipped): // a later request does not fill it, whatever caused it
		p.printError(failed, err)
	default:
		p.printError(endingOf(context.Background(), err), err)
	}
}

// printError prints an error as a line of JSON.
func (p *program) printError(end ending, err error) {
	var line struct {
		Error struct {
			Code      string `json:"code"`
			Message   string `json:"message"`
			Operation string `json:"operation,omitzero"`
			Status    int    `json:"status,omitzero"`
		} `json:"error"`
	}
	line.Error.Code, line.Error.Message = end.code, explain(err)
	if api, ok := errors.AsType[*horseracing.APIError](err); ok {
		line.Error.Operation = operation(api.Method, api.Route, api.ID)
		if api.Attempts > 0 {
			line.Error.Status = api.StatusCode
		}
	} else if broken, ok := errors.AsType[*horseracing.TransportError](err); ok {
		line.Error.Operation = operation(broken.Method, broken.Route, broken.ID)
	} else if damaged, ok := errors.AsType[*horseracing.DecodeError](err); ok {
		line.Error.Operation = operation(damaged.Method, damaged.Route, damaged.ID)
	}
	_ = writeJSON(p.stderr, line) // there is nowhere to report it
}

// operation names an operation, with the id in place of its placeholder.
func operation(method, path, id string) string {
	return method + " " + route.Fill(path, id)
}

// explain returns the error's own text, except for the two things that go wrong
// on a first run.
func explain(err error) string {
	if errors.Is(err, horseracing.ErrUnauthorized) {
		return "the service does not accept the API key: check HORSERACING_API_KEY"
	}
	_, isFile := errors.AsType[*fs.PathError](err)
	broken, isTransport := errors.AsType[*horseracing.TransportError](err)
	if isTransport && !isFile && !errors.Is(err, horseracing.ErrOutcomeUnknown) && !errors.Is(err, horseracing.ErrResponseTooLarge) {
		return fmt.Sprintf("the service does not respond: check HORSERACING_BASE_URL (%v)", broken.Err)
	}
	return err.Error()
}
