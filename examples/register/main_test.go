package main

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
	"github.com/horseracing-go/horseracing/examples/internal/programtest"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// TestMain runs the tests, or the program, which with KILLED_AT ends itself at
// a step as kill -9 ends it.
func TestMain(m *testing.M) {
	programtest.Main(m, func() {
		program.Main(func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
			return run(ctx, args, stdout, stderr, func(step string) {
				if step == os.Getenv("KILLED_AT") {
					if self, err := os.FindProcess(os.Getpid()); err == nil {
						_ = self.Kill()
					}
					select {}
				}
			})
		})
	})
}

const registerPath = "/api/v1/races/register"

func newFake(t *testing.T) *horseracingtest.Server {
	fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now))
	t.Cleanup(fake.Close)
	return fake
}

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

// runBot runs the program with a journal.
func runBot(t *testing.T, fake *horseracingtest.Server, journal string, environment []string, args ...string) programtest.Result {
	t.Helper()
	return programtest.Run(t, append(programtest.Environment(fake), environment...), append([]string{"-journal", journal, "-max-fee", "100000", "-budget", "1000000", "-budget-total", "1000000"}, args...)...)
}

// states returns what the journal holds.
func states(t *testing.T, path string) map[pair]state {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT race, horse, state FROM entries`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	found := map[pair]state{}
	for rows.Next() {
		var p pair
		var s state
		if err := rows.Scan(&p.race, &p.horse, &s); err != nil {
			t.Fatal(err)
		}
		found[p] = s
	}
	return found
}

// expectHonest fails the test unless the journal holds exactly what was
// paid, and nothing was paid twice.
func expectHonest(t *testing.T, fake *horseracingtest.Server, journal string) {
	t.Helper()
	paid := map[pair]int{}
	for _, r := range fake.Registrations() {
		paid[pair{r.Race, r.Horse}]++
	}
	entries := states(t, journal)
	for p, n := range paid {
		if n != 1 {
			t.Errorf("horse #%d in race %d was paid %d times", p.horse, p.race, n)
		}
		if entries[p] != entered {
			t.Errorf("horse #%d in race %d was paid, and the journal has it as %q", p.horse, p.race, entries[p])
		}
	}
	for p, s := range entries {
		if s == entered && paid[p] == 0 {
			t.Errorf("the journal has horse #%d in race %d as entered, and nothing was paid", p.horse, p.race)
		}
		if s == sending || s == unknown {
			t.Errorf("horse #%d in race %d is still %q", p.horse, p.race, s)
		}
	}
}

func TestItPaysNothingWithoutYes(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	r := runBot(t, fake, filepath.Join(t.TempDir(), "j"), nil, "-horse", "1")
	if r.Status != 0 || !strings.Contains(r.Stdout, "Dry run") || !strings.Contains(r.Stdout, "would enter horse #1, race ") {
		t.Errorf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
	if n := strings.Count(r.Stdout, "would enter horse #1"); n != 1 {
		t.Errorf("it would enter %d races at once:\n%s", n, r.Stdout)
	}
	if n := sentTo(fake, http.MethodPost, "/"); n != 0 || len(fake.Registrations()) != 0 {
		t.Errorf("%d registrations were sent", n)
	}
}

func TestItEntersEachHorseOnceAndReportsWhy(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	journal := filepath.Join(t.TempDir(), "j")
	horses := fake.Horses(0)[:2]
	for range 2 { // run twice by mistake
		r := runBot(t, fake, journal, nil, "-horse", "1,2", "-yes")
		if r.Status != 0 || r.Stderr != "" {
			t.Fatalf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
		}
		if strings.Contains(r.Stdout, string(fake.UserKey(0))) {
			t.Errorf("the user's key is printed:\n%s", r.Stdout)
		}
		for line := range strings.Lines(r.Stdout) {
			if strings.Contains(line, "skip ") && !strings.Contains(line, ": ") {
				t.Errorf("no reason: %s", line)
			}
		}
	}
	paid := fake.Registrations()
	if len(paid) != 2 || paid[0].Horse != horses[0] || paid[1].Horse != horses[1] {
		t.Errorf("registrations: %v", paid)
	}
	expectHonest(t, fake, journal)
}

func TestTwoRunsAtOncePayOnce(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	journal := filepath.Join(t.TempDir(), "j")
	var runs sync.WaitGroup
	results := make([]programtest.Result, 2)
	for i := range results {
		runs.Go(func() { results[i] = runBot(t, fake, journal, nil, "-horse", "1", "-yes") })
	}
	runs.Wait()
	for _, r := range results {
		if r.Status != 0 && !strings.Contains(r.Stderr, "another run") {
			t.Errorf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
		}
	}
	if paid := fake.Registrations(); len(paid) != 1 {
		t.Errorf("registrations: %v", paid)
	}
}

// TestWhereverItIsKilledNothingIsPaidTwiceOrForgotten kills the bot at every
// step, in every way that a registration can go, and runs it again when the
// race is over.
func TestWhereverItIsKilledNothingIsPaidTwiceOrForgotten(t *testing.T) {
	t.Parallel()
	for fate, fault := range map[string]*horseracingtest.Fault{
		"it arrives":               nil,
		"the response is lost":     {Path: registerPath, ResetAfter: true},
		"it does not arrive":       {Path: registerPath, ResetBefore: true},
		"it arrives much later":    {Path: registerPath, TakesEffectAfter: 20 * time.Second},
		"the service is overtaxed": {Path: registerPath, Status: http.StatusServiceUnavailable},
	} {
		for _, step := range []string{"written down", "sent", "concluded", "settled", "settlement written down", "the end"} {
			t.Run(fate+", killed when "+step, func(t *testing.T) {
				t.Parallel()
				fake := newFake(t)
				journal := filepath.Join(t.TempDir(), "j")
				if fault != nil {
					fake.Inject(*fault)
				}
				// What is not settled when the race closes is settled then: let it close
				// while the first run waits.
				closing := time.AfterFunc(300*time.Millisecond, func() { fake.Advance(3 * time.Hour) })
				defer closing.Stop()
				first := runBot(t, fake, journal, []string{"KILLED_AT=" + step}, "-horse", "1", "-yes")
				if first.Status != -1 && first.Status != 0 {
					t.Fatalf("the first run: status %d\n%s%s", first.Status, first.Stdout, first.Stderr)
				}
				fake.Advance(3 * time.Hour)
				second := runBot(t, fake, journal, nil, "-horse", "1", "-yes")
				if second.Status != 0 {
					t.Fatalf("the second run: status %d\n%s%s", second.Status, second.Stdout, second.Stderr)
				}
				expectHonest(t, fake, journal)
				attempts := map[string]int{}
				for _, r := range fake.Requests() {
					if r.Method == http.MethodPost {
						attempts[string(r.Body)]++
					}
				}
				for body, n := range attempts {
					if n > 1 {
						t.Errorf("sent %d times: %s", n, body)
					}
				}
			})
		}
	}
}

// TestItSettlesBeforeItPaysAgain keeps a bot from believing that a horse which
// is not in the race yet never will be.
func TestItSettlesBeforeItPaysAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now), horseracingtest.WithSchedule(0))
		defer fake.Close()
		closes := horseracing.NewTimestamp(time.Now().Add(time.Hour))
		fake.AddRaces(horseracing.Race{MainRaceID: 9000, StartTime: closes, RegistrationDeadline: closes, EntryFee: amount(t, "1")})
		fake.Inject(horseracingtest.Fault{Path: registerPath, TakesEffectAfter: 10 * time.Minute})
		var out bytes.Buffer
		j := open(t, filepath.Join(t.TempDir(), "j"))
		defer j.close()
		b := &bot{
			client: fake.Client(), userKey: fake.UserKey(0), journal: j, horses: []horseracing.HorseNumber{1}, rules: defaultRules(), pay: true,
			out: &out, reached: func(string) {}, reported: map[pair]string{}, settling: map[pair]bool{},
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
		defer cancel()
		if err := b.forever(ctx, 15*time.Second); err != context.DeadlineExceeded {
			t.Errorf("it ended with %v", err)
		}
		if paid, sent := len(fake.Registrations()), sentTo(fake, http.MethodPost, "/"); paid != 1 || sent != 1 {
			t.Errorf("paid %d times, sent %d times", paid, sent)
		}
		if text := out.String(); !strings.Contains(text, "unknown horse #1, race 9000") || !strings.Contains(text, "entered horse #1, race 9000") {
			t.Errorf("it prints:\n%s", text)
		}
	})
}

func TestARefusalIsWrittenDownAndNotRetried(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	journal := filepath.Join(t.TempDir(), "j")
	if foreign := fake.Horses(1)[0]; foreign != 7 {
		t.Fatalf("the fake's second user begins with horse %d", foreign)
	}
	for range 2 {
		r := runBot(t, fake, journal, nil, "-yes", "-horse", "7")
		if r.Status != 0 || !strings.Contains(r.Stdout, "refused") {
			t.Errorf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
		}
	}
	refusals := sentTo(fake, http.MethodPost, registerPath)
	if entries := states(t, journal); len(entries) != refusals || refusals == 0 {
		t.Errorf("%d were sent, the journal has %v", refusals, entries)
	}
}

func TestAKeyThatIsRefusedEndsIt(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	environment := programtest.Environment(fake)
	environment[1] = "HORSERACING_API_KEY=wrong"
	for _, args := range [][]string{{"-once"}, {"-forever"}} {
		r := programtest.Run(t, environment, append(args, "-journal", filepath.Join(t.TempDir(), "j"), "-horse", "1", "-yes")...)
		r.ExpectSentence(t, 1, "HORSERACING_API_KEY")
	}
}

func TestWhatIsMissingIsOneSentence(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	environment := programtest.Environment(fake)
	journal := filepath.Join(t.TempDir(), "j")
	programtest.Run(t, environment, "-journal", journal).ExpectSentence(t, 2, "-horse")
	programtest.Run(t, environment[:2], "-journal", journal, "-horse", "1", "-yes").ExpectSentence(t, 1, "HORSERACING_USER_KEY")
	programtest.Run(t, environment, "-journal", journal, "-horse", "999999").ExpectSentence(t, 1, "no horse #999999")
	if n := sentTo(fake, http.MethodPost, "/"); n != 0 {
		t.Errorf("%d registrations were sent", n)
	}
}

func TestItRunsOnTheEmbeddedFake(t *testing.T) {
	t.Parallel()
	if r := programtest.Run(t, nil, "-max-fee", "2500", "-budget", "2500", "-budget-total", "2500", "-yes"); r.Status != 0 || !strings.Contains(r.Stdout, "entered horse #") {
		t.Errorf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
}

func TestCtrlCEndsIt(t *testing.T) {
	t.Parallel()
	programtest.ExpectInterruptible(t, "-horse", "1", "-journal", filepath.Join(t.TempDir(), "j"))
}

func TestItExplainsItself(t *testing.T) {
	t.Parallel()
	programtest.ExpectUsage(t, "-horse", "-yes", "-once", "-forever", "-budget", "-budget-total", "-free", "-at-once", "-levels", "-length", "-max-fee", "-hippodrome", "-journal", "HORSERACING_USER_KEY")
	for _, args := range [][]string{
		{"-max-fee", "1e3"}, {"-budget", "-1"}, {"-length", "9-3"}, {"-length", "x"}, {"-length", "0"}, {"-levels", "0"}, {"-levels", "5-2000"},
		{"-horse", "0"}, {"-horse", "-3"}, {"-horse", "1,x"}, {"-horse", ""}, {"-free", "0"}, {"-at-once", "0"}, {"-every", "1ms"}, {"-once", "-forever"},
	} {
		programtest.Run(t, nil, args...).ExpectSentence(t, 2, "-h")
	}
}
