package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/redis/go-redis/v9/logging"
)

// TestMain lets the test binary be the worker processes that the tests start.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-worker") {
		main()
	}
	logging.Disable()
	os.Exit(m.Run())
}

// delivery is how much later than another a permitted request may reach the fake on a busy machine.
const delivery = 250 * time.Millisecond

func TestThreeProcessesKeepOneLimit(t *testing.T) {
	redis := startRedis(t)
	fake := newFake(t)
	limit := redis_rate.Limit{Rate: 40, Period: time.Second, Burst: 8}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()

	output, err := startWorkers(ctx, t, fake, redis.addr, limit)
	if err != nil {
		t.Fatalf("a worker failed: %v\n%s", err, output)
	}
	seen := arrivals(fake)
	t.Logf("%d requests, at most %d in a second, up to %v too early", len(seen), busiest(seen, time.Second), overrun(seen, limit))
	if over := overrun(seen, limit); over > delivery {
		t.Errorf("requests came up to %v before %v allows", over, limit)
	}
	if len(seen) < limit.Rate { // in at least three seconds
		t.Errorf("the service saw only %d requests: the limit was not used", len(seen))
	}
	perProcess := map[string]int{}
	for _, request := range fake.Requests() {
		perProcess[request.Header.Get("User-Agent")]++
	}
	if len(perProcess) != 3 {
		t.Errorf("requests per process: %v, want three that took part", perProcess)
	}
}

func TestNothingIsSentWhenRedisGoesAway(t *testing.T) {
	redis := startRedis(t)
	fake := newFake(t)
	limit := redis_rate.Limit{Rate: 40, Period: time.Second, Burst: 8}
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
	output, err := startWorkers(ctx, t, fake, redis.addr, limit)
	if err == nil {
		t.Fatalf("the workers went on without Redis:\n%s", output)
	}
	if ctx.Err() != nil {
		t.Fatalf("the workers noticed nothing in %v:\n%s", time.Since(before), output)
	}
	if !strings.Contains(output, "nothing is sent") || !strings.Contains(output, redis.addr) {
		t.Errorf("a worker's last words name neither the reason nor Redis's address:\n%s", output)
	}
	// Those that Redis permitted before it went may still arrive: four of each process, if all were on their way.
	if late := fake.RequestCount() - <-atStop; late > 12 {
		t.Errorf("%d requests arrived after Redis was gone", late)
	}

	// A program that keeps calling all the same sends nothing either, and hears why within its context.
	limiter := newLimiter(t, redis.addr, limit)
	client := fake.Client(horseracing.WithLimiter(limiter))
	count := fake.RequestCount()
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, err := client.Races.Open(ctx)
		if err == nil || !strings.Contains(err.Error(), "nothing is sent") {
			t.Errorf("Open without Redis = %v", err)
		}
		if ctx.Err() != nil {
			t.Error("Open outlived its context")
		}
		cancel()
	}
	if sent := fake.RequestCount() - count; sent != 0 {
		t.Errorf("%d requests went out without permission", sent)
	}
}

func TestProgram(t *testing.T) {
	t.Setenv("REDIS_ADDR", "")
	t.Setenv("HORSERACING_BASE_URL", "")
	for _, test := range []struct {
		name string
		args []string
		code int
		want string // in what it prints
	}{
		{name: "help", args: []string{"-h"}, code: 0, want: "-burst"},
		{name: "unknown flag", args: []string{"-nonsense"}, code: 2, want: "nonsense"},
		{name: "no process", args: []string{"-n", "0"}, code: 2, want: "at least 1"},
		{name: "embedded Redis", args: []string{"-n", "2", "-for", "1s"}, code: 0, want: "the service saw"},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, output := runProgram(t.Context(), t, test.args...)
			if code != test.code || !strings.Contains(output, test.want) {
				t.Errorf("exit code %d and\n%s\nwant %d and %q", code, output, test.code, test.want)
			}
		})
	}
}

func TestInterruptedProgramExitsWith130(t *testing.T) {
	t.Setenv("REDIS_ADDR", "")
	t.Setenv("HORSERACING_BASE_URL", "")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if code, output := runProgram(ctx, t, "-for", "1h"); code != 130 {
		t.Errorf("exit code %d, want 130\n%s", code, output)
	}
}

// runProgram gives the program files for its output, which its workers inherit.
func runProgram(ctx context.Context, t *testing.T, args ...string) (code int, output string) {
	t.Helper()
	output = collect(t, func(out *os.File) { code = run(ctx, args, strings.NewReader(""), out, out) })
	return code, output
}

func startWorkers(ctx context.Context, t *testing.T, fake *horseracingtest.Server, redisAddr string, limit redis_rate.Limit) (output string, err error) {
	t.Helper()
	env := []string{"REDIS_ADDR=" + redisAddr, "HORSERACING_BASE_URL=" + fake.URL, "HORSERACING_API_KEY=" + fake.APIKey}
	output = collect(t, func(out *os.File) { err = workers(ctx, 3, env, limit, out) })
	return output, err
}

func collect(t *testing.T, do func(out *os.File)) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	do(file)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	output, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(output)
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
	program, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") == "true" {
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
			t.Fatal(fmt.Errorf("redis-server does not answer: %w\n%s", err, &log))
		}
	}
}
