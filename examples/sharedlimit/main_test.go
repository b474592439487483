package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// startRedis starts a redis-server on a port of its own, and returns its address and how to end
// it. With -short, or if no redis-server is installed, it starts miniredis instead, which also
// runs the script. With REQUIRE_SERVERS it has to be a redis-server.
func startRedis(t *testing.T) (addr string, stop func()) {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil && os.Getenv("REQUIRE_SERVERS") != "" {
		t.Fatal("redis-server is not installed, and REQUIRE_SERVERS is set")
	}
	if err != nil || testing.Short() {
		server := miniredis.RunT(t)
		return server.Addr(), server.Close
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = free.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	free.Close()
	server := exec.Command(program, "--bind", "127.0.0.1", "--port", port, "--save", "", "--dir", t.TempDir())
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		_ = server.Process.Kill()
		_ = server.Wait() // it was killed, perhaps before
	}
	t.Cleanup(stop)
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	for wait := time.Now().Add(time.Minute); client.Ping(t.Context()).Err() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(wait) {
			t.Fatal("redis-server does not respond")
		}
	}
	return addr, stop
}

func TestThreeClientsShareOneLimitAndSendNothingWithoutRedis(t *testing.T) {
	addr, stop := startRedis(t)
	fake := horseracingtest.NewServer()
	t.Cleanup(fake.Close)
	t.Setenv("HORSERACING_BASE_URL", fake.URL)
	t.Setenv("HORSERACING_API_KEY", fake.APIKey)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began, sent := time.Now(), make(chan int, 1)
	go func() {
		for fake.RequestCount() < 45 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(began); took < 990*time.Millisecond {
			t.Errorf("45 requests took %v: five at once and 40 a second take a second", took)
		}
		stop()
		sent <- fake.RequestCount()
	}()
	_, err := read(ctx, 3, func() horseracing.Limiter { return NewLimiter(addr, 40, 5) })
	if err == nil || !strings.Contains(err.Error(), "nothing is sent") {
		t.Errorf("without Redis: %v", err)
	}
	if late := fake.RequestCount() - <-sent; late > 3 { // which were permitted before
		t.Errorf("%d requests were sent without a permission", late)
	}
}

func TestWaitEndsWithItsContextIfRedisDoesNotRespond(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close() // connections complete, and nobody reads them
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := NewLimiter(silent.Addr().String(), 10, 10).Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want context.DeadlineExceeded", err)
	}
}
