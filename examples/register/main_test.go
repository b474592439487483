package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
	"github.com/horseracing-go/horseracing/examples/internal/programtest"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

const registerPath = "/api/v1/races/register"

// sentTo returns how many requests went to a path.
func sentTo(fake *horseracingtest.Server, method, prefix string) int {
	n := 0
	for _, r := range fake.Requests() {
		if r.Method == method && strings.HasPrefix(r.Path, prefix) {
			n++
		}
	}
	return n
}

func TestItPaysNothingWithoutYes(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now))
	defer fake.Close()
	r := programtest.Run(t, programtest.Environment(fake), "-horse", "1")
	if r.Status != 0 || !strings.Contains(r.Stdout, "Dry run") || !strings.Contains(r.Stdout, "entry fee ") {
		t.Errorf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
	if n := sentTo(fake, http.MethodPost, "/"); n != 0 || len(fake.Registrations()) != 0 {
		t.Errorf("%d registrations were sent", n)
	}
}

func TestItRegistersOnceWithYes(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now))
	defer fake.Close()
	r := programtest.Run(t, programtest.Environment(fake), "-horse", "1", "-yes")
	if r.Status != 0 || r.Stderr != "" || !strings.Contains(r.Stdout, "Registered: horse #1 runs in race ") {
		t.Fatalf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
	paid := fake.Registrations()
	if len(paid) != 1 || paid[0].Horse != 1 || paid[0].User != 0 {
		t.Fatalf("registrations: %v", paid)
	}
	if !strings.Contains(r.Stdout, "Paid: "+program.Price(paid[0].Fee)+".") {
		t.Errorf("does not say what was paid, %s:\n%s", paid[0].Fee, r.Stdout)
	}
	if strings.Contains(r.Stdout, string(fake.UserKey(0))) {
		t.Errorf("the user's key is printed:\n%s", r.Stdout)
	}
}

func TestTheFeeIsPaidOnceWhenTheAnswerIsLost(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now))
	defer fake.Close()
	fake.Inject(horseracingtest.Fault{Path: registerPath, ResetAfter: true})
	r := programtest.Run(t, programtest.Environment(fake), "-horse", "1", "-yes")
	if r.Status != 0 || r.Stderr != "" {
		t.Fatalf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
	for _, part := range []string{"The answer was lost.", "Registered: horse #1 runs in race "} {
		if !strings.Contains(r.Stdout, part) {
			t.Errorf("does not say %q:\n%s", part, r.Stdout)
		}
	}
	if paid := fake.Registrations(); len(paid) != 1 {
		t.Errorf("paid %d times: %v", len(paid), paid)
	}
	if n := sentTo(fake, http.MethodPost, registerPath); n != 1 {
		t.Errorf("sent %d times", n)
	}
}

// bubble runs the program's heart with -yes inside a bubble of fake time, on a
// service with one race, which closes after an hour.
func bubble(t *testing.T, test func(t *testing.T, fake *horseracingtest.Server, register func(context.Context) (string, error))) {
	synctest.Test(t, func(t *testing.T) {
		fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now), horseracingtest.WithSchedule(0))
		defer fake.Close()
		closes := horseracing.NewTimestamp(time.Now().Add(time.Hour))
		fee, _ := program.ParseTokens("1")
		fake.AddRaces(horseracing.Race{MainRaceID: 9000, StartTime: closes, RegistrationDeadline: closes, EntryFee: fee})
		service := &program.Service{Client: fake.Client(), UserKey: fake.UserKey(0), Horse: 1}
		test(t, fake, func(ctx context.Context) (string, error) {
			o := options{pay: true}
			o.rules.maxFee = fee
			var out bytes.Buffer
			err := register(ctx, service, o, &out)
			return out.String(), err
		})
	})
}

func TestItGoesOnAskingWhileTheServiceIsDown(t *testing.T) {
	bubble(t, func(t *testing.T, fake *horseracingtest.Server, register func(context.Context) (string, error)) {
		fake.Inject(
			horseracingtest.Fault{Path: registerPath, ResetAfter: true},
			horseracingtest.Fault{Method: http.MethodGet, Path: "/api/v1/races/9000", Status: http.StatusServiceUnavailable, Times: 50})
		text, err := register(t.Context())
		if err != nil || !strings.Contains(text, "Cannot ask (") || !strings.Contains(text, "Registered: horse #1 runs in race 9000. Paid: 1 token.") {
			t.Errorf("%v\n%s", err, text)
		}
		if paid, sent := len(fake.Registrations()), sentTo(fake, http.MethodPost, "/"); paid != 1 || sent != 1 {
			t.Errorf("paid %d times, sent %d times", paid, sent)
		}
	})
}

func TestItFindsOutThatTheRegistrationDidNotArrive(t *testing.T) {
	bubble(t, func(t *testing.T, fake *horseracingtest.Server, register func(context.Context) (string, error)) {
		fake.Inject(horseracingtest.Fault{Path: registerPath, Status: http.StatusBadGateway})
		begun := time.Now()
		text, err := register(t.Context())
		if err == nil || errors.Is(err, horseracing.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "did not arrive") {
			t.Errorf("%v\n%s", err, text)
		}
		if took := time.Since(begun); took < time.Hour || took > time.Hour+2*time.Minute {
			t.Errorf("was certain after %v: the race takes registrations for an hour", took)
		}
		if n := sentTo(fake, http.MethodPost, "/"); n != 1 {
			t.Errorf("sent %d times", n)
		}
		if n := sentTo(fake, http.MethodGet, "/api/v1/races/9000"); n < 20 || n > 150 {
			t.Errorf("asked %d times in an hour: the waits should grow to half a minute", n)
		}
	})
}

func TestTheOutcomeStaysUnknownWhenItIsInterrupted(t *testing.T) {
	bubble(t, func(t *testing.T, fake *horseracingtest.Server, register func(context.Context) (string, error)) {
		fake.Inject(horseracingtest.Fault{Path: registerPath, Status: http.StatusBadGateway})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begun := time.Now()
		_, err := register(ctx)
		if !errors.Is(err, horseracing.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "horse #1 is in race 9000 is not known") {
			t.Errorf("%v", err)
		}
		if took := time.Since(begun); took != 10*time.Second {
			t.Errorf("ended after %v", took)
		}
	})
}

func TestARefusalIsOneSentence(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now))
	defer fake.Close()
	foreign := fake.Horses(1)[0]
	r := programtest.Run(t, programtest.Environment(fake), "-yes", "-horse", "7")
	if foreign != 7 {
		t.Fatalf("the fake's second user begins with horse %d", foreign)
	}
	r.ExpectSentence(t, 1, "403", "does not belong to the user")
	if len(fake.Registrations()) != 0 {
		t.Error("it was registered all the same")
	}
}

func TestWhatIsMissingIsOneSentence(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now))
	defer fake.Close()
	environment := programtest.Environment(fake)
	programtest.Run(t, environment).ExpectSentence(t, 1, "-horse")
	programtest.Run(t, environment[:2], "-horse", "1", "-yes").ExpectSentence(t, 1, "HORSERACING_USER_KEY")
	programtest.Run(t, environment, "-horse", "1", "-hippodrome", "Nowhere").ExpectSentence(t, 1, "open races fit")
	if n := sentTo(fake, http.MethodPost, "/"); n != 0 {
		t.Errorf("%d registrations were sent", n)
	}
}

func TestItRunsOnTheEmbeddedFake(t *testing.T) {
	if r := programtest.Run(t, nil, "-max-fee", "2500", "-yes"); r.Status != 0 || !strings.Contains(r.Stdout, "Registered: ") {
		t.Errorf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
}

func TestCtrlCEndsIt(t *testing.T) { programtest.ExpectInterruptible(t, "-horse", "1") }

func TestItExplainsItself(t *testing.T) {
	programtest.ExpectUsage(t, "-horse", "-yes", "-level", "-length", "-max-fee", "-hippodrome", "HORSERACING_USER_KEY")
	for _, args := range [][]string{{"-max-fee", "1e3"}, {"-length", "9-3"}, {"-length", "x"}, {"-length", "0"}} {
		if r := programtest.Run(t, nil, args...); r.Status != 2 {
			t.Errorf("%q: status %d", args, r.Status)
		}
	}
}
