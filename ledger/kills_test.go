package ledger_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
	"github.com/horseracing-go/horseracing/ledger"
)

// TestManyKills kills bots that share a ledger: "10 500" are ten processes and 500 kills. The shell command of
// HORSERACING_LEDGER_DISASTER is run every 40 kills.
func TestManyKills(t *testing.T) {
	var processes, kills, killed int
	if _, err := fmt.Sscan(os.Getenv("HORSERACING_LEDGER_KILLS"), &processes, &kills); err != nil {
		t.Skip("HORSERACING_LEDGER_KILLS is not set")
	}
	printed := map[string]int{}
	paid, twice, over, sending := 0, 0, 0, 0
	for world := 0; killed < kills; world++ {
		random := rand.New(rand.NewPCG(11, uint64(world)))
		fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0), horseracingtest.WithSeed(random.Uint64()))
		address := double.Must(url.Parse(fake.URL))
		gateway := httptest.NewServer(&httputil.ReverseProxy{
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(address) },
			Transport: &double.Gateway{Next: http.DefaultTransport}, ErrorLog: log.New(io.Discard, "", 0),
		})
		addRaces(fake, 1, botRaces)
		injectLosses(fake)
		fake.Inject(horseracingtest.Fault{Path: registerPath, Probability: 0.7, Delay: 50 * time.Millisecond})
		database := newAddress(t)
		db := connect(t, database)
		client := double.Must(horseracing.NewClient(gateway.URL, fake.APIKey))
		must(t, ledger.Create(t.Context(), db, client))
		args := fmt.Sprintln(database, gateway.URL, fake.APIKey, string(fake.UserKey(0)), fake.Horses(0)[0], fake.Horses(0)[1])
		var bots sync.WaitGroup
		var mu sync.Mutex
		start := func() *os.Process {
			var stderr bytes.Buffer
			command := exec.Command(os.Args[0])
			command.Env, command.Stderr = append(os.Environ(), asBot+"="+args), &stderr
			must(t, command.Start())
			bots.Go(func() {
				_ = command.Wait()
				mu.Lock()
				defer mu.Unlock()
				if text := stderr.String(); text != "" {
					printed[text[:min(len(text), 300)]]++
				}
				if command.ProcessState.ExitCode() == -1 {
					killed++
				}
			})
			return command.Process
		}
		running := make([]*os.Process, processes)
		for i := range running {
			running[i] = start()
		}
		for n := range 40 {
			time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
			i := random.IntN(len(running))
			_ = running[i].Signal(os.Kill)
			running[i] = start()
			if disaster := os.Getenv("HORSERACING_LEDGER_DISASTER"); disaster != "" && n == 20 {
				if out, err := exec.Command("bash", "-c", disaster).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
		}
		bots.Wait()
		fake.ClearFaults()
		l := open(db, client)
		fake.Advance(3 * time.Hour)
		expectError(t, nil, l.Settle(t.Context()))
		expectHonest(t, fake, l, feesAllowed)
		pairs := map[string]int{}
		for _, r := range fake.Registrations() {
			if pairs[fmt.Sprint(r.Horse, r.Race)]++; pairs[fmt.Sprint(r.Horse, r.Race)] > 1 {
				twice++
			}
			paid++
		}
		if len(fake.Registrations()) > feesAllowed {
			over++
		}
		for _, e := range read(t, db) {
			if e.Note == "settled" {
				sending++
			}
		}
		gateway.Close()
		fake.Close()
		t.Logf("world %d: %d kills of running processes so far, %d fees paid, %d twice, %d budgets exceeded, %d settled", world, killed, paid, twice, over, sending)
	}
	for text, n := range printed {
		t.Logf("printed %d times: %s", n, strings.TrimSpace(text))
	}
}
