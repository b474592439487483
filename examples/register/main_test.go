package main

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/programtest"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

const registerPath = "/api/v1/races/register"

// newFake starts a fake with races 1 to 3, which cost a token each and close in an hour.
func newFake(t *testing.T) *horseracingtest.Server {
	fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now), horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0))
	t.Cleanup(fake.Close)
	addRaces(t, fake)
	return fake
}

func addRaces(t *testing.T, fake *horseracingtest.Server, others ...horseracing.RaceParticipant) {
	closes := horseracing.NewTimestamp(fake.Now().Add(time.Hour))
	for id := range horseracing.RaceID(3) {
		fake.AddRaces(horseracing.Race{
			MainRaceID: id + 1, StartTime: closes, RegistrationDeadline: closes, EntryFee: amount(t, "1"), Length: 8, Participants: others,
			Prizes: []horseracing.Number{horseracing.NewNumber(25e17), horseracing.NewNumber(1e18)},
		})
	}
}

// sent returns how many requests came with a method to a path.
func sent(fake *horseracingtest.Server, method, prefix string) int {
	n := 0
	for _, r := range fake.Requests() {
		if r.Method == method && strings.HasPrefix(r.Path, prefix) {
			n++
		}
	}
	return n
}

// runBot runs the program with a ledger.
func runBot(t *testing.T, fake *horseracingtest.Server, path string, args ...string) programtest.Result {
	t.Helper()
	return programtest.Run(t, programtest.Environment(fake), append([]string{"-ledger", path}, args...)...)
}

// entries returns what the ledger holds.
func entries(t *testing.T, fake *horseracingtest.Server, path string) []ledger.Entry {
	t.Helper()
	l, err := ledger.Open(path, fake.Client())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return slices.Collect(l.Entries())
}

// expectHonest fails the test unless what the ledger has as entered is what was paid,
// each pair once, and no outcome is unknown.
func expectHonest(t *testing.T, fake *horseracingtest.Server, path string) {
	t.Helper()
	var paid, entered []string
	for _, r := range fake.Registrations() {
		paid = append(paid, pair(r.Horse, r.Race))
	}
	for _, e := range entries(t, fake, path) {
		if e.State == ledger.Entered {
			entered = append(entered, pair(e.Horse, e.Race))
		} else if e.State == ledger.Unknown {
			t.Errorf("%sstill unknown", pair(e.Horse, e.Race))
		}
	}
	slices.Sort(paid)
	slices.Sort(entered)
	if diff := cmp.Diff(paid, entered); diff != "" {
		t.Errorf("what was paid and what is entered differ (-paid +entered):\n%s", diff)
	}
}

func TestItPaysNothingWithoutYes(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	path := filepath.Join(t.TempDir(), "l")
	for range 2 {
		r := runBot(t, fake, path, "-horse", "1")
		if r.Status != 0 || !strings.Contains(r.Stdout, "Dry run") || strings.Count(r.Stdout, "fits: ") < 2 || strings.Contains(r.Stdout, "other race") {
			t.Errorf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
		}
		if !strings.HasPrefix(r.Stderr, "Service: ") || strings.Contains(r.Stdout, "Service: ") {
			t.Errorf("standard error is %q", r.Stderr)
		}
	}
	if n := sent(fake, http.MethodPost, "/"); n != 0 || len(fake.Registrations()) != 0 {
		t.Errorf("%d registrations were sent", n)
	}
	if found := entries(t, fake, path); len(found) != 0 {
		t.Errorf("the ledger holds %v", found)
	}
}

func TestItEntersEachHorseOnceAndReportsWhy(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	path := filepath.Join(t.TempDir(), "l")
	for range 2 { // run twice by mistake
		r := runBot(t, fake, path, "-horse", "1", "-horse", "2", "-yes")
		if r.Status != 0 {
			t.Fatalf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
		}
		if strings.Contains(r.Stdout+r.Stderr, string(fake.UserKey(0))) {
			t.Errorf("the user's key is printed:\n%s%s", r.Stdout, r.Stderr)
		}
		for line := range strings.Lines(r.Stdout) {
			if _, reason, isSkip := strings.Cut(line, "skip: "); isSkip && strings.TrimSpace(reason) == "" {
				t.Errorf("no reason: %s", line)
			}
		}
	}
	paid := fake.Registrations()
	if len(paid) != 2 || paid[0].Horse != 1 || paid[1].Horse != 2 {
		t.Errorf("registrations: %v", paid)
	}
	expectHonest(t, fake, path)
}

func TestItStaysWithinItsLimits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		flag, amount, reason string
		paid                 int
	}{
		{"-budget", "4.5", "skip: the fee would exceed the budget (1; perhaps paid: 0)", 4},
		{"-max-fee", "0.5", "skip: fee not allowed (1; perhaps paid: 0)", 0},
	} {
		fake := newFake(t)
		path := filepath.Join(t.TempDir(), "l")
		r := runBot(t, fake, path, "-horse", "1", "-horse", "2", "-at-once", "3", test.flag, test.amount, "-yes")
		if r.Status != 0 || !strings.Contains(r.Stdout, test.reason) || len(fake.Registrations()) != test.paid {
			t.Errorf("%s: status %d, %d paid\n%s%s", test.flag, r.Status, len(fake.Registrations()), r.Stdout, r.Stderr)
		}
		expectHonest(t, fake, path)
	}
}

// bubble runs a test of a bot of horse 1 on a fake in memory, under a virtual clock.
func bubble(t *testing.T, test func(t *testing.T, fake *horseracingtest.Server, b *bot, out *strings.Builder), others ...horseracing.RaceParticipant) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now), horseracingtest.WithSchedule(0))
		defer fake.Close()
		addRaces(t, fake, others...)
		l, err := ledger.Open(filepath.Join(t.TempDir(), "l"), fake.Client())
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		out := new(strings.Builder)
		test(t, fake, &bot{
			client: fake.Client(), ledger: l, userKey: fake.UserKey(0), horses: []horseracing.HorseNumber{1},
			atOnce: 3, out: out, refused: map[string]bool{}, printed: map[string]string{},
		}, out)
	})
}

// runFor runs a bot with a round every half minute.
func runFor(t *testing.T, b *bot, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := b.run(ctx, 30*time.Second); err != context.DeadlineExceeded {
		t.Errorf("it ended with %v", err)
	}
}

func expectParts(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("it does not print %q:\n%s", part, text)
		}
	}
}

// A horse that is not in the race yet may be in it a minute later.
func TestItSettlesBeforeItPaysAgainAndPrintsUntilWhen(t *testing.T) {
	bubble(t, func(t *testing.T, fake *horseracingtest.Server, b *bot, out *strings.Builder) {
		fake.Inject(horseracingtest.Fault{Path: registerPath, TakesEffectAfter: 10 * time.Minute, Times: 3})
		runFor(t, b, 30*time.Minute)
		if paid, sent := len(fake.Registrations()), sent(fake, http.MethodPost, "/"); paid != 3 || sent != 3 {
			t.Errorf("paid %d times, sent %d times", paid, sent)
		}
		expectParts(t, out.String(), "race 1: unknown: ", "race 1: perhaps paid: ", "race 1: entered ", "race 3: entered ")
		if strings.Contains(out.String(), "call Settle") {
			t.Errorf("it advises its user to call a method:\n%s", out)
		}
	})
}

// A fee that is perhaps paid holds the budget, but not the bot.
func TestItGoesOnWhileAFeeIsPerhapsPaid(t *testing.T) {
	bubble(t, func(t *testing.T, fake *horseracingtest.Server, b *bot, out *strings.Builder) {
		fake.Inject(horseracingtest.Fault{Path: registerPath, ResetBefore: true}, horseracingtest.Fault{Path: registerPath, ResetAfter: true})
		if err := b.round(t.Context()); err != nil {
			t.Fatal(err)
		}
		expectParts(t, out.String(), "race 1: perhaps paid: ", "race 2: unknown: ", "race 2: entered settled", "race 3: entered: ")
		if paid, held := ledger.Sum(b.ledger.Entries(), time.Time{}); !paid.Equal(amount(t, "2")) || !held.Equal(amount(t, "1")) {
			t.Errorf("paid %s, held %s", paid, held)
		}
	}, horseracing.RaceParticipant{Number: 9999})
}

func TestAnOutageIsSurvivedAndARefusalIsNotRetried(t *testing.T) {
	bubble(t, func(t *testing.T, fake *horseracingtest.Server, b *bot, out *strings.Builder) {
		fake.Inject(
			horseracingtest.Fault{Path: registerPath, Status: http.StatusConflict, Body: `{"error":"too tired"}`},
			horseracingtest.Fault{Path: registerPath, Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"60"}}},
			horseracingtest.Fault{Path: "/api/v1/races/open", Status: http.StatusBadGateway, Times: 4, Skip: 1},
		)
		runFor(t, b, 10*time.Minute)
		if paid, sent := len(fake.Registrations()), sent(fake, http.MethodPost, "/"); paid != 2 || sent != 4 {
			t.Errorf("paid %d times, sent %d times; want the limited one again and the refused one not\n%s", paid, sent, out)
		}
		expectParts(t, out.String(), "race 1: refused: ", "too tired", "502")
	})
}

func TestARoundInWhichNothingChangesIsOneLine(t *testing.T) {
	bubble(t, func(t *testing.T, fake *horseracingtest.Server, b *bot, out *strings.Builder) {
		b.isDryRun, b.atOnce = true, 1
		runFor(t, b, 100*time.Second)
		if all, same := strings.Count(out.String(), "\n"), strings.Count(out.String(), "nothing changed; next round in 30s\n"); all != 3+3 || same != 3 {
			t.Errorf("three races and four rounds:\n%s", out)
		}
	})
}

func TestTheReportHasFeesPlacesAndPrizes(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	path := filepath.Join(t.TempDir(), "l")
	if r := runBot(t, fake, path, "-horse", "1", "-horse", "2", "-at-once", "3", "-yes"); r.Status != 0 {
		t.Fatalf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
	if r := runBot(t, fake, path, "-report"); r.Status != 0 || !strings.Contains(r.Stdout, "6 races entered and not in these results. Tokens paid in all: 6") {
		t.Errorf("before the races, status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
	fake.Advance(3 * time.Hour)
	r := runBot(t, fake, path, "-report")
	if r.Status != 0 || !strings.Contains(r.Stdout, "0 races entered and not in these results. Tokens paid in all: 6") {
		t.Errorf("after the races, status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
	places := map[string]int{}
	for line := range strings.Lines(r.Stdout) {
		if fields := strings.Fields(line); len(fields) == 5 && fields[2] == "1" { // the fee
			places[fields[3]+" "+fields[4]]++
		}
	}
	if diff := cmp.Diff(map[string]int{"1 2.5": 3, "2 1": 3}, places); diff != "" {
		t.Errorf("places and prizes differ (-want +got):\n%s\n%s", diff, r.Stdout)
	}
}

func TestItStartsAndEndsAsEveryExample(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	path := filepath.Join(t.TempDir(), "l")
	programtest.ExpectUsage(t, "HORSERACING_USER_KEY")
	programtest.ExpectErrors(t, "-horse", "1", "-ledger", path, "-yes")
	wrong := append(programtest.Environment(fake), "HORSERACING_API_KEY=wrong")
	programtest.Run(t, wrong, "-horse", "1", "-ledger", path, "-yes", "-interval", "30s").ExpectSentence(t, 1, "HORSERACING_API_KEY")
	for _, args := range [][]string{{"-max-fee", "1,5"}, {"-budget", "x"}, {"-horse", "1,x"}, {"-horse", ""}, {"-interval", "1"}} {
		programtest.Run(t, nil, args...).ExpectSentence(t, 2, "-h")
	}
	runBot(t, fake, path).ExpectSentence(t, 2, "-horse")
	runBot(t, fake, path, "-horse", "999999").ExpectSentence(t, 1, "999999")
	programtest.Run(t, programtest.Environment(fake)[:2], "-ledger", path, "-horse", "1", "-yes").ExpectSentence(t, 1, "HORSERACING_USER_KEY")
	if r := programtest.Run(t, nil, "-max-fee", "2500", "-budget", "2500", "-yes"); r.Status != 0 || !strings.Contains(r.Stdout, ": entered") {
		t.Errorf("on the embedded fake: status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
}
