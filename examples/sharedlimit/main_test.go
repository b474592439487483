package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing/examples/internal/programtest"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/redis/go-redis/v9/logging"
)

// TestMain lets the test binary be the worker processes that the tests start.
func TestMain(m *testing.M) {
	if os.Getenv(workerVariable) != "" {
		main()
	}
	logging.Disable()
	programtest.Main(m, main)
}

func TestThreeProcessesKeepOneLimit(t *testing.T) {
	redis, fake, limit := startRedis(t), newFake(t), Limit{Rate: 40, Burst: 8}
	if output, err := startWorkers(t, 6*time.Second, fake, redis.addr, limit); err != nil {
		t.Fatalf("a worker failed: %v\n%s", err, output)
	}
	sent := map[string]int{}
	for _, request := range fake.Requests() {
		sent[request.Header.Get("User-Agent")]++
	}
	if over := overrun(arrivals(fake), limit); over > delivery {
		t.Errorf("requests came up to %v before %v allows", over, limit)
	}
	if n := fake.RequestCount(); n < 120 { // of 240 and a burst
		t.Errorf("%d requests: the limit was not used", n)
	}
	if len(sent) != 3 {
		t.Errorf("requests per process: %v, want three that took part", sent)
	}
}

func TestNothingIsSentWhenRedisGoesAway(t *testing.T) {
	redis := startRedis(t)
	fake := newFake(t)
	limit := Limit{Rate: 40, Burst: 8}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	atStop := make(chan int, 1)
	go func() {
		for fake.RequestCount() < 30 && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		redis.stop()
		atStop <- fake.RequestCount()
	}()
	before := time.Now()
	output, err := startWorkers(t, time.Minute, fake, redis.addr, limit)
	if err == nil {
		t.Fatalf("the workers went on without Redis:\n%s", output)
	}
	if ctx.Err() != nil {
		t.Fatalf("the workers noticed nothing in %v:\n%s", time.Since(before), output)
	}
	if !strings.Contains(err.Error(), "nothing is sent") || !strings.Contains(err.Error(), redis.addr) {
		t.Errorf("the error holds neither the reason nor Redis's address: %v", err)
	}
	// Those that Redis permitted before it went may still arrive: four of each process, if all were on their way.
	if late := fake.RequestCount() - <-atStop; late > 12 {
		t.Errorf("%d requests arrived after Redis was gone", late)
	}
}

func TestItRunsOnTheEmbeddedServices(t *testing.T) {
	r := programtest.Run(t, []string{"REDIS_ADDR="}, "-n", "2", "-for", "1s")
	want := regexp.MustCompile(`^Limit: 20 req/s \(burst 5\) for 2 processes together, in an embedded Redis .*\n` +
		`Process \d read \d+ races\.\nProcess \d read \d+ races\.\nThe limit held: \d+ requests in [\d.]+s\.\n$`)
	services := regexp.MustCompile(`^Service: an embedded fake .*\n$`)
	if r.Status != 0 || !services.MatchString(r.Stderr) || !want.MatchString(r.Stdout) {
		t.Errorf("exit status %d:\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
}

func TestItStartsAndEndsAsEveryExample(t *testing.T) {
	t.Setenv("REDIS_ADDR", "")
	programtest.ExpectUsage(t)
	programtest.ExpectErrors(t, "-for", "1h")
	for _, args := range [][]string{{"-n", "-1"}, {"-rate", "-1"}, {"-burst", "0"}, {"-for", "x"}} {
		programtest.Run(t, nil, args...).ExpectSentence(t, 2, args[0])
	}
}

func startWorkers(t *testing.T, length time.Duration, fake *horseracingtest.Server, redisAddr string, limit Limit) (output string, err error) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	err = workers(t.Context(), 3,
		[]string{"-for", length.String(), "-rate", strconv.Itoa(limit.Rate), "-burst", strconv.Itoa(limit.Burst)},
		[]string{"REDIS_ADDR=" + redisAddr, "HORSERACING_BASE_URL=" + fake.URL, "HORSERACING_API_KEY=" + fake.APIKey}, file)
	text, _ := os.ReadFile(file.Name())
	return string(text), err
}

func newFake(t *testing.T) *horseracingtest.Server {
	t.Helper()
	fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now))
	t.Cleanup(fake.Close)
	return fake
}

// A redisServer is a real one, on a port of its own and without files.
type redisServer struct {
	addr string
	stop func()
}

func startRedis(t *testing.T) redisServer {
	t.Helper()
	if testing.Short() {
		t.Skip("it needs a Redis server")
	}
	program, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("REQUIRE_SERVERS") != "" {
			t.Fatal("redis-server is not installed: the shared limit would go untested")
		}
		t.Skip("redis-server is not installed (Debian: apt-get install redis-server)")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	_ = free.Close()

	var log bytes.Buffer
	cmd := exec.Command(program, "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	server := redisServer{addr: addr, stop: func() {
		_ = cmd.Process.Kill()
		<-ended
	}}
	t.Cleanup(server.stop)
	for wait := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		connection, err := net.Dial("tcp", addr)
		if err == nil {
			_ = connection.Close()
			return server
		}
		if time.Now().After(wait) {
			server.stop()
			t.Fatal(fmt.Errorf("redis-server does not respond: %w\n%s", err, &log))
		}
	}
}
