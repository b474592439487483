package main

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

//go:embed page.html
var pageText string

//go:embed static
var static embed.FS

var page = template.Must(template.New("page").Parse(pageText))

// policy lets the page load nothing but its own files: the names of races are
// players' words.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// server serves at addr until ctx ends, which ends the event streams. A browser
// that reads or sends nothing does not keep its connection.
func (f *feed) server(ctx context.Context, addr string) *http.Server {
	return &http.Server{
		Handler: f.handler(addr), BaseContext: func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second, WriteTimeout: writeTimeout, IdleTimeout: 2 * time.Minute,
	}
}

// writeTimeout is how long a browser may take to receive a page, or an event.
const writeTimeout = 30 * time.Second

// handler serves the page of a server that listens at addr.
func (f *feed) handler(addr string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", f.page)
	mux.HandleFunc("GET /events", f.events)
	mux.Handle("GET /static/", http.FileServerFS(static))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isOwn(r.Host, addr) {
			http.Error(w, "not the name of this server, which -addr sets", http.StatusMisdirectedRequest)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		mux.ServeHTTP(w, r)
	})
}

// isOwn reports whether a Host header names the server that listens at addr. A
// foreign page whose own name was made to resolve to this machine has another.
func isOwn(host, addr string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]") // without a port
	}
	own, _, _ := net.SplitHostPort(addr)
	return name == "localhost" || name == own || net.ParseIP(name) != nil
}

// page serves what is known now; a browser with a script keeps it up to date.
func (f *feed) page(w http.ResponseWriter, _ *http.Request) {
	snapshot := f.last.Load()
	data := struct {
		Tier    string
		Races   []openRace
		Results []result
		State   state
	}{Tier: program.Tier(f.tier), State: f.state(snapshot)}
	for i := range snapshot.Races {
		data.Races = append(data.Races, openRaceOf(&snapshot.Races[i]))
	}
	data.Results, _ = f.results.get()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = page.Execute(w, data) // the browser has left
}

// events streams what changes to one browser, as Server-Sent Events: it is one
// more reader of the polls. What is open now comes first.
func (f *feed) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	stream := &stream{w: w, control: http.NewResponseController(w)}
	stream.send("reset", struct{}{})
	var results sync.WaitGroup
	defer results.Wait()
	results.Go(func() { f.sendResults(r.Context(), stream) })
	shown := map[horseracing.RaceID]openRace{}
	for {
		latest := f.last.Load()
		if !stream.sendRaces(shown, latest.Races) || !stream.send("state", f.state(latest)) {
			return
		}
		select {
		case <-latest.next:
		case <-r.Context().Done():
			return
		}
	}
}

// sendRaces sends how the races differ from those that the browser shows. It may have missed
// some snapshots.
func (s *stream) sendRaces(shown map[horseracing.RaceID]openRace, races []horseracing.Race) bool {
	now := map[horseracing.RaceID]bool{}
	for i := range races {
		race := openRaceOf(&races[i])
		before, isShown := shown[race.ID]
		shown[race.ID], now[race.ID] = race, true
		if !isShown && !s.send("opened", race) || isShown && before != race && !s.send("updated", race) {
			return false
		}
	}
	for id, race := range shown {
		if !now[id] && !s.send("closed", race) {
			return false
		}
	}
	maps.DeleteFunc(shown, func(id horseracing.RaceID, _ openRace) bool { return !now[id] })
	return true
}

// sendResults streams the last results whenever there are others.
func (f *feed) sendResults(ctx context.Context, stream *stream) {
	for {
		latest, changed := f.results.get()
		if !stream.send("results", latest) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// stream writes events, from several goroutines.
type stream struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	control *http.ResponseController
}

// send reports whether the browser is still there.
func (s *stream) send(event string, data any) bool {
	text, err := json.Marshal(data) // on one line, as the format of events wants it
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", event, text); err != nil {
		return false
	}
	return s.control.Flush() == nil
}
