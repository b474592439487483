package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/horseracing/internal/doctor"
	"github.com/horseracing-go/horseracing/cmd/internal/connection"
	"github.com/horseracing-go/horseracing/cmd/internal/signals"
	"github.com/horseracing-go/horseracing/internal/route"
	"github.com/horseracing-go/horseracing/ledger"
)

// exitCode is how the program ends: an exit status, and the code of a JSON error.
type exitCode struct {
	status int
	code   string
}

var (
	done          = exitCode{status: 0}
	failed        = exitCode{status: 1, code: "failed"}
	misused       = exitCode{status: 2, code: "usage"}
	notFound      = exitCode{status: 3, code: "not_found"}
	unauthorized  = exitCode{status: 4, code: "unauthorized"}
	unavailable   = exitCode{status: 5, code: "unavailable"}
	notRegistered = exitCode{status: 6, code: "not_registered"}
	outcomeOpen   = exitCode{status: 7, code: "unknown"}
	interrupted   = exitCode{status: 130, code: "interrupted"}
)

// errInUse is the error of a file that another process has locked.
var errInUse = errors.New("is in use by another process")

// usageError is a mistake on the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

// notRegisteredError is why a horse was certainly not registered.
type notRegisteredError struct{ err error }

func (e *notRegisteredError) Error() string { return e.err.Error() }
func (e *notRegisteredError) Unwrap() error { return e.err }

// exitCodeOf classifies what ended the program. That a fee may be paid must not be
// lost, whatever else happened.
func exitCodeOf(ctx context.Context, err error) exitCode {
	_, isMistake := errors.AsType[usageError](err)
	_, isNotRegistered := errors.AsType[*notRegisteredError](err)
	switch {
	case errors.Is(err, horseracing.ErrOutcomeUnknown), errors.Is(err, ledger.ErrUnsettled):
		return outcomeOpen
	case errors.Is(err, errPaid), isOutputClosed(err) && !isNotRegistered: // head has seen enough
		return done
	case isMistake:
		return misused
	case ctx.Err() != nil && !isDecided(err):
		return exitCodeOfSignal(ctx)
	case err == nil:
		return done
	case errors.Is(err, errExpired):
		return unavailable
	case refusesKey(err) && (!isNotRegistered || !errors.Is(err, horseracing.ErrForbidden)): // 403 may be about a registration
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

// exitCodeOfSignal returns how the program ends after a signal.
func exitCodeOfSignal(ctx context.Context) exitCode {
	received, _ := errors.AsType[signals.Received](context.Cause(ctx))
	if received.Signal == syscall.SIGINT || received.Signal == 0 {
		return interrupted
	}
	return exitCode{received.Status(), "terminated"}
}

// isDecided reports whether a registration was refused, so that it does not matter what
// has ended the command since.
func isDecided(err error) bool {
	_, isNotRegistered := errors.AsType[*notRegisteredError](err)
	return isNotRegistered && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// abandon returns the exit status of a program that a second signal ends at once.
func (p *program) abandon(r signals.Received) int {
	if !p.isPaying.Load() {
		return r.Status()
	}
	return p.exit(context.Background(), fmt.Errorf("%w, so the fee may be paid: run the same command again to find out", horseracing.ErrOutcomeUnknown))
}

// sayWhatIsAwaited says, if ctx ends long before the returned function is called, that a
// registration is waited for.
func (p *program) sayWhatIsAwaited(ctx context.Context) (stop func()) {
	over := make(chan struct{})
	context.AfterFunc(ctx, func() {
		select {
		case <-over:
		case <-time.After(time.Second):
			p.say("waiting for the response to the registration that was sent, whose fee may be paid; another Ctrl-C ends this at once")
		}
	})
	return func() { close(over) }
}

// refusesKey reports whether the service refuses the key, rather than so many requests.
func refusesKey(err error) bool {
	return (errors.Is(err, horseracing.ErrUnauthorized) || errors.Is(err, horseracing.ErrForbidden)) && !errors.Is(err, horseracing.ErrRateLimited) && !isBlocked(err)
}

// isBlocked reports whether a proxy or firewall, rather than the service, refuses the request.
func isBlocked(err error) bool {
	api, isAPI := errors.AsType[*horseracing.APIError](err)
	return isAPI && errors.Is(err, horseracing.ErrHTML) && (api.StatusCode == http.StatusUnauthorized || api.StatusCode == http.StatusForbidden)
}

// isUnavailable reports whether the same command may succeed later.
func isUnavailable(err error) bool {
	_, isTransport := errors.AsType[*horseracing.TransportError](err)
	return isTransport && !errors.Is(err, horseracing.ErrResponseTooLarge) || isBlocked(err) || errors.Is(err, doctor.ErrDown) ||
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
	end := exitCodeOf(ctx, err)
	switch {
	case end == done:
	case p.asJSON && err != nil:
		p.printError(end, err)
	case end == misused:
		about := p.name
		if strings.Contains(err.Error(), "HORSERACING_") { // a variable, which the program's help describes
			about = "horseracing"
		}
		p.say(fmt.Sprintf("%v (see %s -h)", err, about))
	case end.status <= 128: // or else a signal's
		p.say(p.explain(err))
	}
	return end.status
}

// complain reports an error that does not end the program.
func (p *program) complain(err error) {
	p.complained = err
	if p.asJSON {
		p.printError(exitCodeOf(context.Background(), err), err)
	} else {
		p.say(p.withFlags(err.Error()))
	}
}

// printError prints an error as a line of JSON.
func (p *program) printError(end exitCode, err error) {
	line := struct {
		Code      string `json:"code"`
		Message   string `json:"message"`
		Operation string `json:"operation,omitzero"`
		Status    int    `json:"status,omitzero"`
	}{Code: end.code, Message: p.explain(err)}
	if end == interrupted || end.code == "terminated" { // whatever was under way
		line.Message = "it was " + end.code
	}
	if errors.Is(err, errInUse) || errors.Is(err, ledger.ErrInUse) {
		line.Code = "in_use"
	}
	if api, ok := errors.AsType[*horseracing.APIError](err); ok {
		line.Operation = operation(api.Method, api.Route, api.ID)
		if api.Attempts > 0 {
			line.Status = api.StatusCode
		}
	} else if broken, ok := errors.AsType[*horseracing.TransportError](err); ok {
		line.Operation = operation(broken.Method, broken.Route, broken.ID)
	} else if damaged, ok := errors.AsType[*horseracing.DecodeError](err); ok {
		line.Operation = operation(damaged.Method, damaged.Route, damaged.ID)
	}
	text, _ := lineOf(map[string]any{"error": line}) // it is made of text and numbers
	_, _ = p.stderr.Write(escapeControls(text))      // there is nowhere to report it
}

// operation names an operation, with the id in place of its placeholder.
func operation(method, path, id string) string { return method + " " + route.Fill(path, id) }

// advice rewrites that of the library's errors for those who type flags.
var advice = strings.NewReplacer(
	": call Races.Registered before registering again, or call Ledger.Settle", "", "; call Ledger.Settle before registering again", "",
	"call Races.Registered before registering again", "horseracing ledger FILE --settle finds it out",
	"WithRateLimit sets a limit", "--rate sets a limit",
	" of WithAttemptTimeout", "",
	" (WithMaxResponseBytes)", "",
	"; WithFreeRaces allows it", "",
	"call Settle, or Decide if you know the outcome", "horseracing ledger FILE --settle finds it out",
	"status 200 OK, but the response does not contain it", "there is none with this id",
)

// withFlags returns a text of the library for those who type flags, and set keys.
func (p *program) withFlags(text string) string {
	return advice.Replace(strings.ReplaceAll(text, "the user key", p.sources().UserKey))
}

// sources returns where the settings come from.
func (p *program) sources() connection.Sources {
	if p.service == nil {
		return connection.Variables
	}
	return p.service.From
}

// explainTimeout returns the text of an end by --timeout, with the last cause that is known.
func (p *program) explainTimeout(err error) string {
	text, rest, _ := strings.Cut(err.Error(), "\n")
	_, cause, isKnown := strings.Cut(rest, context.DeadlineExceeded.Error()+" after") // as the library writes it
	if !isKnown && p.complained != nil {
		cause = p.complained.Error()
	}
	if cause != "" {
		text += ": " + p.withFlags(strings.TrimLeft(strings.TrimPrefix(cause, "horseracing: "), ": "))
	}
	return text
}

// explain returns the error's own text, except for the things that go wrong
// on a first run.
func (p *program) explain(err error) string {
	if errors.Is(err, errExpired) && !errors.Is(err, horseracing.ErrOutcomeUnknown) {
		return p.explainTimeout(err)
	}
	if errors.Is(err, horseracing.ErrUnauthorized) && !isBlocked(err) {
		return "the service does not accept the API key: check " + p.sources().APIKey
	}
	if fault := p.service.Fault(err); fault != "" && !errors.Is(err, horseracing.ErrOutcomeUnknown) && !errors.Is(err, horseracing.ErrResponseTooLarge) {
		broken, _ := errors.AsType[*horseracing.TransportError](err)
		return fmt.Sprintf("%s (%v)", fault, broken.Err)
	}
	text := p.withFlags(err.Error())
	if errors.Is(err, horseracing.ErrForbidden) && strings.Contains(text, "user_key") { // as the service calls it
		text = "check " + p.sources().UserKey + ": " + text
	}
	return text
}
