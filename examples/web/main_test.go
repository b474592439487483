package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/programtest"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

// site serves the page of a fake until the test ends.
func site(t *testing.T, fake *horseracingtest.Server) *httptest.Server {
	t.Helper()
	client := fake.Client(horseracing.WithRetry(horseracing.Retry{Max: -1}))
	f := newFeed(client, 50*time.Millisecond, horseracing.TierOmega)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { f.run(ctx, io.Discard) })
	server := httptest.NewServer(f.handler(""))
	t.Cleanup(func() {
		stop()
		server.CloseClientConnections()
		server.Close()
		running.Wait()
	})
	return server
}

// race is an open race that closes in an hour.
func race(fake *horseracingtest.Server, id horseracing.RaceID, name string) horseracing.Race {
	return horseracing.Race{
		MainRaceID: id, StartTime: horseracing.NewTimestamp(fake.Now().Add(65 * time.Minute)), RegistrationDeadline: horseracing.NewTimestamp(fake.Now().Add(time.Hour)),
		Tier: horseracing.TierNameOmega, Type: horseracing.RaceTypeBestTime, Length: 8, Places: 4, MinLevel: 5, MaxLevel: 9,
		Info: horseracing.RaceInfo{Name: name, HippodromeName: "Larkspur Downs"}, EntryFee: tokens("2.5"), Status: horseracing.RaceStatusInProgress,
	}
}

func tokens(text string) horseracing.BigInt {
	amount, err := horseracing.ParseUnits(text, 18)
	if err != nil {
		panic(err)
	}
	return amount
}

const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`

func TestThePageIsCompleteWithoutAScriptAndSafe(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0))
	defer fake.Close()
	fake.AddRaces(race(fake, 900_001, hostile))
	server := site(t, fake)
	var page string
	eventually(t, func() bool {
		resp, err := http.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		policy := resp.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
			t.Fatalf("the policy is %q", policy)
		}
		page = string(text)
		return strings.Contains(page, `data-id="900001"`)
	})
	if strings.Contains(page, "<img") || !strings.Contains(page, "&lt;img src=x") || !strings.Contains(page, "4 of 4 free") || !strings.Contains(page, "results of tier Omega") || !strings.Contains(page, ">2.5<") {
		t.Errorf("the page:\n%s", page)
	}
	for _, path := range []string{"/static/page.js", "/static/style.css", "/static/icon.svg"} {
		resp, err := http.Get(server.URL + path)
		if err != nil || resp.StatusCode != 200 {
			t.Errorf("%s: %v, %v", path, resp, err)
			continue
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if strings.Contains(string(text), "innerHTML") {
			t.Errorf("%s sets HTML", path)
		}
	}
}

// event reads the next event of a stream with one of these names.
func event(t *testing.T, stream *bufio.Scanner, names ...string) (name string, data map[string]any) {
	t.Helper()
	for stream.Scan() {
		if after, ok := strings.CutPrefix(stream.Text(), "event: "); ok {
			name = after
		}
		if text, ok := strings.CutPrefix(stream.Text(), "data: "); ok && strings.Contains(strings.Join(names, " "), name) {
			if err := json.Unmarshal([]byte(text), &data); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			return name, data
		}
	}
	t.Fatalf("the stream ended before %v: %v", names, stream.Err())
	return "", nil
}

func TestEveryBrowserGetsTheChangesFromOnePoll(t *testing.T) {
	before := runtime.NumGoroutine()
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0))
	defer fake.Close()
	one := race(fake, 900_001, "Dawn")
	fake.AddRaces(one)
	server := site(t, fake)
	const browsers = 20
	var streams []*bufio.Scanner
	var leave []context.CancelFunc
	for range browsers {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/events", nil)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
			t.Fatalf("content type %q", got)
		}
		streams, leave = append(streams, bufio.NewScanner(resp.Body)), append(leave, cancel)
	}
	expect := func(change string, free any) {
		t.Helper()
		for _, stream := range streams {
			name, data := event(t, stream, "opened", "updated", "closed")
			if name != change || data["name"] != "Dawn" || data["fee"] != "2.5" || data["free"] != free {
				t.Fatalf("%s %v, want %s with %v places", name, data, change, free)
			}
		}
	}
	expect("opened", 4.0)
	one.Participants = []horseracing.RaceParticipant{{Number: 7}}
	fake.AddRaces(one)
	expect("updated", 3.0)
	fake.RemoveRaces(one.MainRaceID)
	expect("closed", 3.0)
	if n := fake.MaxInFlight(); n > 2 { // the watcher's poll and the follower's
		t.Errorf("%d requests at once for %d browsers", n, browsers)
	}
	for _, cancel := range leave {
		cancel()
	}
	http.DefaultClient.CloseIdleConnections()
	eventually(t, func() bool { return runtime.NumGoroutine() < before+25 })
}

func TestTheTerminalShowsWhatFailsAndVisitorsDoNot(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(0))
	defer fake.Close()
	fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/open", Status: http.StatusUnauthorized, Times: 3})
	f := newFeed(fake.Client(horseracing.WithRetry(horseracing.Retry{Max: -1})), 10*time.Millisecond, horseracing.TierOmega)
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var running sync.WaitGroup
	running.Go(func() { f.run(ctx, in) })
	terminal := bufio.NewScanner(out)
	expect := func(line string) {
		t.Helper()
		if !terminal.Scan() || !strings.HasPrefix(terminal.Text(), line) {
			t.Errorf("%q, want %q", terminal.Text(), line)
		}
	}
	expect("web: the service does not accept the API key")
	expect("web: the service responds again")
	fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/open", ResetBefore: true, Times: -1})
	expect("web: the service does not respond")
	page := httptest.NewRecorder()
	f.handler("").ServeHTTP(page, httptest.NewRequest("GET", "http://localhost/", nil))
	if text := page.Body.String(); !strings.Contains(text, "The service does not respond") || strings.Contains(text, strings.TrimPrefix(fake.URL, "http://")) {
		t.Errorf("the page:\n%s", text)
	}
	fake.ClearFaults()
	expect("web: the service responds again")
	stop()
	running.Wait()
}

func TestOnlyRequestsThatNameTheServerAreServed(t *testing.T) {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	f := newFeed(fake.Client(), time.Hour, horseracing.TierOmega)
	for _, test := range []struct {
		addr, host string
		status     int
	}{
		{"127.0.0.1:8090", "localhost:8090", 200},
		{":8090", "[2001:db8::1]:8090", 200},
		{"races.example:80", "races.example", 200},
		{"127.0.0.1:8090", "rebound.example:8090", 421},
		{"races.example:80", "127.0.0.1.rebound.example", 421},
	} {
		request := httptest.NewRequest("GET", "/", nil)
		request.Host = test.host
		response := httptest.NewRecorder()
		f.handler(test.addr).ServeHTTP(response, request)
		if response.Code != test.status {
			t.Errorf("at %s, Host %s: status %d, want %d", test.addr, test.host, response.Code, test.status)
		}
	}
}

// pipe is a listener for one connection, whose clock is the test's.
type pipe struct {
	net.Listener
	connections chan net.Conn
}

func (p pipe) Accept() (net.Conn, error) {
	if connection, ok := <-p.connections; ok {
		return connection, nil
	}
	return nil, net.ErrClosed
}

func (p pipe) Addr() net.Addr { return &net.TCPAddr{} }
func (p pipe) Close() error   { return nil }

func TestABrowserThatDoesNothingLosesItsConnection(t *testing.T) {
	for what, request := range map[string]string{"reads nothing": "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "sends nothing more": ""} {
		synctest.Test(t, func(t *testing.T) {
			fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now))
			defer fake.Close()
			server := newFeed(fake.Client(), time.Hour, horseracing.TierOmega).server(t.Context(), "")
			browser, connection := net.Pipe()
			listener := pipe{connections: make(chan net.Conn, 1)}
			listener.connections <- connection
			go server.Serve(listener)
			defer close(listener.connections)
			if request == "" { // a page first, from a connection that is kept
				fmt.Fprint(browser, "HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n")
				if _, err := http.ReadResponse(bufio.NewReader(browser), &http.Request{Method: "HEAD"}); err != nil {
					t.Fatal(err)
				}
			}
			fmt.Fprint(browser, request)
			time.Sleep(3 * time.Minute)
			if n, err := browser.Read(make([]byte, 1)); n > 0 || err != io.EOF {
				t.Errorf("a browser that %s is still connected: %d bytes, %v", what, n, err)
			}
			browser.Close()
		})
	}
}

func TestItStartsAndServesUntilItIsStopped(t *testing.T) {
	programtest.ExpectUsage(t)
	for _, args := range [][]string{{"-interval", "5"}, {"-tier", "5,x"}} {
		programtest.Run(t, nil, args...).ExpectSentence(t, 2, args[0])
	}
	t.Setenv("HORSERACING_BASE_URL", "")
	t.Setenv("HORSERACING_API_KEY", "")
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error)
	go func() { ended <- run(ctx, []string{"-addr", "127.0.0.1:0", "-interval", "50ms"}, in, io.Discard) }()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	programtest.Run(t, nil, "-addr", strings.Trim(url, "htp:/\n")).ExpectSentence(t, 1, "-addr sets another address")
	resp, err := http.Get(strings.TrimSpace(url) + "events") // a browser that stays
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	event(t, bufio.NewScanner(resp.Body), "opened")
	stop()
	if err := <-ended; err != context.Canceled {
		t.Error(err)
	}
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never happened")
		}
	}
}
