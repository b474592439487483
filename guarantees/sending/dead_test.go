package sending_test

import (
	"context"
	"errors"
	"math"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
)

// nat is a network in memory that can forget its connections, as a NAT or a firewall does: what is
// sent on them is lost, and they stay open. It is the listener of a server, too.
type nat struct {
	accepted        chan net.Conn
	made, forgotten atomic.Int64 // connections, of which the first ones are forgotten
}

type natConn struct {
	net.Conn
	nat    *nat
	number int64
}

func (c *natConn) Write(b []byte) (int, error) {
	if c.number <= c.nat.forgotten.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (n *nat) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	n.accepted <- far
	return &natConn{near, n, n.made.Add(1)}, nil
}

func (n *nat) Accept() (net.Conn, error) {
	if c, ok := <-n.accepted; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (n *nat) Close() error { return nil }

func (n *nat) Addr() net.Addr { return &net.TCPAddr{} }

const headerTimeout = 20 * time.Second // of the caller's transport

// behindNAT calls test with a client behind a NAT, whose transport is its own or that of its caller. Before that,
// eight calls at a time have made their connections.
func behindNAT(t *testing.T, isHTTP2, isOwn bool, test func(t *testing.T, c *horseracing.Client, n *nat)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := &nat{accepted: make(chan net.Conn)}
		protocols := new(http.Protocols)
		protocols.SetHTTP1(!isHTTP2)
		protocols.SetUnencryptedHTTP2(isHTTP2)
		server := http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(time.Millisecond)
			double.Must(w.Write([]byte("[]")))
		})}
		go server.Serve(n)
		plain := http.DefaultTransport.(*http.Transport)
		defer func() { http.DefaultTransport = plain }()
		base := plain.Clone()
		base.DialContext, base.Protocols, base.TLSNextProto, base.Proxy, base.MaxIdleConnsPerHost = n.dial, protocols, nil, nil, 100
		var opts []horseracing.Option
		if http.DefaultTransport = base; !isOwn {
			base.ResponseHeaderTimeout = headerTimeout
			opts = append(opts, horseracing.WithHTTPClient(&http.Client{Transport: base}))
		}
		c := double.Must(horseracing.NewClient("http://localhost", "the-api-key", opts...))
		double.NoError(t, double.OpenRaces(t.Context(), c)) // so that those of HTTP/2 find its connection
		together(t, c)
		test(t, c, n)
		c.Close()
		base.CloseIdleConnections()
		close(n.accepted)
		double.NoError(t, server.Close())
	})
}

// together makes eight calls at a time, and returns how long the longest took.
func together(t *testing.T, c *horseracing.Client) time.Duration {
	t.Helper()
	began := time.Now()
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() { double.NoError(t, double.OpenRaces(t.Context(), c)) })
	}
	calls.Wait()
	return time.Since(began)
}

// TestACallIsRetriedOnANewConnectionIfItsOwnIsDead, whatever is left in the pool: one that a NAT has forgotten, or that
// was open while a laptop slept, fails only after its timeout. HTTP/2 has one connection for all calls, which pings
// find dead sooner, unless the transport is the caller's.
func TestACallIsRetriedOnANewConnectionIfItsOwnIsDead(t *testing.T) {
	const attempt, backoff = 30 * time.Second, time.Second
	for _, test := range []struct {
		name           string
		isHTTP2, isOwn bool
		connections    int64
		within         time.Duration
	}{
		{"HTTP/2", true, true, 1, 15*time.Second + backoff},
		{"HTTP/1.1", false, true, 8, attempt + backoff},
		{"HTTP/2, the caller's transport", true, false, 1, headerTimeout + backoff},
		{"HTTP/1.1, the caller's transport", false, false, 8, headerTimeout + backoff},
	} {
		t.Run(test.name, func(t *testing.T) {
			behindNAT(t, test.isHTTP2, test.isOwn, func(t *testing.T, c *horseracing.Client, n *nat) {
				double.Equal(t, "connections", test.connections, n.made.Load())
				n.forgotten.Store(n.made.Load())
				began := time.Now()
				double.NoError(t, double.Register(t.Context(), c))
				double.FailIf(t, time.Since(began) > time.Second, "a registration took %v", time.Since(began))
				var response horseracing.Response
				_, err := c.Races.Open(t.Context(), horseracing.CaptureResponse(&response))
				double.NoError(t, err)
				took := time.Since(began)
				double.FailIf(t, response.Attempts != 2 || took > test.within, "%d attempts took %v", response.Attempts, took)
			})
			if test.isHTTP2 && !test.isOwn {
				return // calls that time out one after the other keep the connection of all of them busy
			}
			behindNAT(t, test.isHTTP2, test.isOwn, func(t *testing.T, c *horseracing.Client, n *nat) {
				n.forgotten.Store(n.made.Load())
				took := together(t, c)
				double.FailIf(t, took > test.within, "eight calls took %v", took)
			})
		})
	}
}

// TestACallOfADeadlineOfItsOwnLeavesNoDeadConnection to the next one, although no attempt is too long.
func TestACallOfADeadlineOfItsOwnLeavesNoDeadConnection(t *testing.T) {
	for _, isHTTP2 := range []bool{false, true} {
		behindNAT(t, isHTTP2, true, func(t *testing.T, c *horseracing.Client, n *nat) {
			n.forgotten.Store(n.made.Load())
			var results []bool
			for range 2 {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				results = append(results, double.OpenRaces(ctx, c) == nil)
				cancel()
				synctest.Wait() // until net/http has ended the stream
			}
			double.Equal(t, "calls succeed", []bool{false, true}, results)
		})
	}
}

// TestARegistrationIsNotGivenUpBeforeItsTimeout, which would make its outcome unknown: a connection that does not
// respond to pings may only be slow.
func TestARegistrationIsNotGivenUpBeforeItsTimeout(t *testing.T) {
	for _, isHTTP2 := range []bool{false, true} {
		behindNAT(t, isHTTP2, true, func(t *testing.T, c *horseracing.Client, n *nat) {
			n.forgotten.Store(math.MaxInt64)
			began := time.Now()
			err := double.Register(t.Context(), c)
			double.FailIf(t, !errors.Is(err, horseracing.ErrOutcomeUnknown) || time.Since(began) != 30*time.Second, "after %v: %v", time.Since(began), err)
		})
	}
}
