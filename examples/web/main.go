// Web serves a page with the open races, live, to any number of browsers.
//
//	go -C examples/web run . -addr 127.0.0.1:8090
//
// One goroutine watches the open races and stores each snapshot in an atomic.Pointer, from which
// every request is served: visitors cost the service nothing.
//
// If the connection to the service is lost, the page keeps the last races and says that the
// service does not respond, and since when. Watch polls on, with a backoff of up to five
// minutes. The page also says if every race of the list has closed, as in the list of a replica
// that lags behind, and if the browser has lost its connection to this server.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"log"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/service"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"closesIn": closesIn, "state": state}).Parse(pageText))

var columns = []string{"Closes in", "Race", "Fee (tokens)", "Free places", "Levels", "Furlongs", "Hippodrome", "Tier", "Id"}

// poll is the result of a poll of the open races.
type poll struct {
	horseracing.Snapshot
	err error
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8090", "`ADDRESS` to listen at")
	interval := flag.Duration("interval", 5*time.Second, "how often to poll the service")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	client, _, err := service.Connect(horseracing.WithSkipHandler(func(_ context.Context, err error) { log.Print("left out: ", err) }))
	if err != nil {
		log.Fatal(err)
	}
	last := new(atomic.Pointer[poll])
	last.Store(&poll{})
	go watch(ctx, client, *interval, last)

	server := &http.Server{Addr: *addr, Handler: handler(last), ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	log.Printf("the page is at http://%s/", *addr)
	if err := server.ListenAndServe(); ctx.Err() == nil {
		log.Fatal(err)
	}
}

// watch stores each poll until ctx ends.
func watch(ctx context.Context, client *horseracing.Client, interval time.Duration, last *atomic.Pointer[poll]) {
	for snapshot, err := range client.Races.Watch(ctx, horseracing.WatchQuery{Interval: interval}) {
		if err != nil {
			log.Print(err) // for the operator; visitors see that there is trouble
		}
		last.Store(&poll{snapshot, err})
	}
}

// handler serves the page as it is now.
func handler(last *atomic.Pointer[poll]) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		now, nonce := last.Load(), rand.Text()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Security-Policy", fmt.Sprintf( // names are chosen by players
			"default-src 'none'; connect-src 'self'; script-src 'nonce-%[1]s'; style-src 'nonce-%[1]s'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", nonce))
		data := struct {
			Nonce, Trouble, At string
			Races              []horseracing.Race
			Count              map[string]int // by state
			Columns            []string
		}{nonce, trouble(now), "no data yet", byDeadline(now.Races), map[string]int{"open": 0, "full": 0, "closed": 0}, columns}
		for _, race := range now.Races {
			data.Count[state(race)]++
		}
		if !now.At.IsZero() {
			data.At = "as of " + now.At.UTC().Format(time.TimeOnly) + " UTC"
		}
		if err := page.Execute(w, data); err != nil {
			log.Print(err) // the browser has left
		}
	})
	return mux
}

// trouble says what a visitor should know about the races of a poll, or nothing.
func trouble(p *poll) string {
	isOpen := func(r horseracing.Race) bool { return r.RegistrationOpenAt(time.Now()) }
	switch {
	case errors.Is(p.err, horseracing.ErrUnauthorized), errors.Is(p.err, horseracing.ErrForbidden):
		return "The service does not accept the API key"
	case p.err != nil:
		return "The service does not respond"
	case len(p.Races) > 0 && !slices.ContainsFunc(p.Races, isOpen):
		return "The service shows an old list: every race in it has closed"
	}
	return ""
}

// closesIn returns how long a race takes registrations.
func closesIn(race horseracing.Race) string {
	left := time.Until(race.RegistrationDeadline.Time).Truncate(time.Second)
	switch {
	case !race.RegistrationOpenAt(time.Now()):
		return "closed"
	case left < time.Minute:
		return fmt.Sprintf("%d s", left/time.Second)
	case left < time.Hour:
		return fmt.Sprintf("%d min", left/time.Minute)
	}
	return fmt.Sprintf("%d h %02d min", left/time.Hour, left%time.Hour/time.Minute)
}

// state returns "open", or why a race cannot be entered: it is "full" or "closed".
func state(race horseracing.Race) string {
	switch {
	case !race.RegistrationOpenAt(time.Now()):
		return "closed"
	case race.FreePlaces() == 0:
		return "full"
	}
	return "open"
}

// byDeadline returns the races in the order in which they close; full ones come after those that can
// be entered, and those that have closed come last.
func byDeadline(races []horseracing.Race) []horseracing.Race {
	rank := map[string]int{"open": 0, "full": 1, "closed": 2}
	return slices.SortedFunc(slices.Values(races), func(a, b horseracing.Race) int { // the snapshot's own order stays
		return cmp.Or(rank[state(a)]-rank[state(b)], a.RegistrationDeadline.Compare(b.RegistrationDeadline.Time), cmp.Compare(a.MainRaceID, b.MainRaceID))
	})
}
