package peers

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// What the limiter lets through, for how long it is tried, and with how many requests
// in flight.
const (
	realRate    = 50
	realBurst   = 10
	realTime    = 10 * time.Second
	realWorkers = 16
)

// TestNginxLimitReq crawls through nginx, which limits by limit_req:
//
//	go test -run TestNginx -v .
//
// Its clock is the real one.
func TestNginxLimitReq(t *testing.T) {
	binary := installed(t, "nginx")
	fake := upstream(t)
	address, home := freeAddress(t), t.TempDir()
	config := filepath.Join(home, "nginx.conf")
	text := fmt.Sprintf(`daemon off;
worker_processes 1;
pid %[1]s/pid;
error_log %[1]s/error.log;
events { worker_connections 256; }
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	limit_req_zone $http_x_api_key zone=keys:1m rate=%[2]dr/s;
	limit_req_status 429;
	server {
		listen %[3]s;
		location / {
			limit_req zone=keys burst=%[4]d nodelay;
			proxy_pass %[5]s;
		}
	}
}
`, home, realRate, address, realBurst, fake.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, address, binary, "-p", home, "-e", filepath.Join(home, "error.log"), "-c", config)
	crawlThrough(t, "http://"+address, fake.APIKey)
}

// installed skips the test where a program is missing.
func installed(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes ten seconds")
	}
	for _, path := range []string{name, "/usr/sbin/" + name} {
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	if os.Getenv("REQUIRE_SERVERS") != "" {
		t.Fatalf("%s is not installed, and REQUIRE_SERVERS is set", name)
	}
	t.Skipf("%s is not installed (apt-get install %s)", name, name)
	return ""
}

func upstream(t *testing.T) *horseracingtest.Server {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0),
		horseracingtest.WithLatency(20*time.Millisecond), horseracingtest.WithRequestLog(1))
	t.Cleanup(fake.Close)
	return fake
}

func freeAddress(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// start runs a server until the test ends, and waits until it listens.
func start(t *testing.T, address, binary string, args ...string) {
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, binary, args...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 5 * time.Second
	if err := command.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = command.Wait()
	})
	for range 100 {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%s does not listen after ten seconds", binary)
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// crawlThrough keeps realWorkers walks going, and logs what they get. None may
// end in an error, at most 8 % of the requests may be refused, and the walks get 80 %
// of the limit, unless the machine is too busy to keep time.
func crawlThrough(t *testing.T, address, key string) {
	var accepted, refused, failed atomic.Int64
	client := must(horseracing.NewClient(address, key, horseracing.WithHTTPClient(&http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err == nil && resp.StatusCode == http.StatusTooManyRequests {
			refused.Add(1)
		} else if err == nil && resp.StatusCode == http.StatusOK {
			accepted.Add(1)
		}
		return resp, err
	})})))
	ctx, cancel := context.WithTimeout(t.Context(), realTime)
	defer cancel()
	punctual := 0 // ticks that were not missed
	var workers sync.WaitGroup
	workers.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			punctual++
		}
	})
	for range realWorkers {
		workers.Go(func() {
			for ctx.Err() == nil {
				if _, err := client.Races.Results(horseracing.ResultsQuery{}).Take(ctx, 1); err != nil && ctx.Err() == nil {
					failed.Add(1)
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
	share := float64(accepted.Load()) / (realRate*realTime.Seconds() + realBurst)
	refusals := float64(refused.Load()) / float64(accepted.Load()+refused.Load())
	t.Logf("%.0f %% of the limit, %.1f %% refused, %d errors", 100*share, 100*refusals, failed.Load())
	if (share < 0.8 || refusals > 0.08) && punctual < int(realTime/(10*time.Millisecond))*9/10 {
		t.Skip("the machine is too busy for this measurement")
	}
	if share < 0.8 || refusals > 0.08 {
		t.Errorf("%.0f %% of the limit, %.1f %% refused", 100*share, 100*refusals)
	}
}
