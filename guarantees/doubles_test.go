package guarantees_test

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
)

const (
	appKey  = "app-Key/91+d7=e4"   // with characters that JSON, URLs and HTML escape
	userKey = `user"Key\51&c8%aé`  // likewise
	service = "https://game.test"  // where a script stands; nothing listens there
	refused = "http://127.0.0.1:1" // nothing listens there either, and the system gives the port to no other server
)

// unlessShort skips a test of memory or speed under -short: the race detector makes
// it slow and finds nothing in it.
func unlessShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it measures memory or speed")
	}
}

// step is the response of a script to one request.
type step func(*http.Request) (*http.Response, error)

// script is a service in memory: it responds to the first request with its first
// step, and so on; the last step again and again. It notes what it was sent.
type script struct {
	mu    sync.Mutex
	steps []step
	seen  []sent
}

// sent is a request as the script got it.
type sent struct {
	at      time.Time
	request *http.Request
	body    string
}

func play(steps ...step) *script { return &script{steps: steps} }

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
		req.Body.Close()
	}
	s.mu.Lock()
	s.seen = append(s.seen, sent{time.Now(), req, string(body)})
	next := s.steps[min(len(s.seen), len(s.steps))-1]
	s.mu.Unlock()
	return next(req)
}

func (s *script) requests() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// waits returns the time that passed between one request and the next.
func (s *script) waits() []time.Duration {
	var waits []time.Duration
	for i, r := range s.requests() {
		if i > 0 {
			waits = append(waits, r.at.Sub(s.seen[i-1].at))
		}
	}
	return waits
}

// respond returns a step: a status, a body and header lines ("Retry-After: 3").
func respond(status int, body string, header ...string) step {
	return stream(status, int64(len(body)), func() io.Reader { return strings.NewReader(body) }, header...)
}

// stream is a step whose body is produced as it is read.
func stream(status int, length int64, body func() io.Reader, header ...string) step {
	return func(req *http.Request) (*http.Response, error) {
		h := http.Header{}
		for _, line := range header {
			name, value, _ := strings.Cut(line, ": ")
			h.Add(name, value)
		}
		return &http.Response{
			StatusCode: status, Header: h, Body: io.NopCloser(body()), ContentLength: length,
			Request: req, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		}, nil
	}
}

// broken is a step: no response.
func broken(err error) step {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

var errReset = errors.New("connection reset by peer")

// client returns a client that speaks to the script.
func (s *script) client(tb testing.TB, opts ...horseracing.Option) *horseracing.Client {
	tb.Helper()
	return connect(tb, service, &http.Client{Transport: s}, opts...)
}

func connect(tb testing.TB, url string, via *http.Client, opts ...horseracing.Option) *horseracing.Client {
	tb.Helper()
	opts = append([]horseracing.Option{horseracing.WithHTTPClient(via)}, opts...)
	c, err := horseracing.NewClient(url, appKey, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

var entry = horseracing.Registration{Horse: 7, Race: 11, UserKey: userKey}

// briefly waits milliseconds where the default would wait longer.
var briefly = horseracing.WithRetry(horseracing.Retry{Max: 3, MinWait: time.Millisecond, MaxWait: 2 * time.Millisecond})

var silent = log.New(io.Discard, "", 0)

// reader is an io.Reader, for steps.
type reader = io.Reader

// readers reads a text, then fails.
func readers(text string, err error) reader {
	return io.MultiReader(strings.NewReader(text), failingReader{err})
}

func deref(pointer any) any { return reflect.ValueOf(pointer).Elem().Interface() }

// Frame types, flags and error codes of HTTP/2 (RFC 9113).
const (
	frameData, frameHeaders, frameReset, frameSettings, frameGoAway = 0x0, 0x1, 0x3, 0x4, 0x7

	flagEndStream, flagAck, flagEndHeaders = 0x1, 0x1, 0x4

	noError, protocolError, internalError, refusedStream = 0x0, 0x1, 0x2, 0x7
)

// h2script is an HTTP/2 server that does what no library would: it reads a
// request to its end, then refuses it in one of the protocol's ways.
type h2script struct {
	url      string
	client   *http.Client
	requests atomic.Int64 // read to their end
	conns    atomic.Int64
}

// playH2 starts a server that responds to every request with refuse.
func playH2(t *testing.T, refuse func(c net.Conn, stream uint32)) *h2script {
	lender := httptest.NewTLSServer(nil) // lends its certificate
	t.Cleanup(lender.Close)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: lender.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	transport := lender.Client().Transport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2 = true
	t.Cleanup(transport.CloseIdleConnections)
	s := &h2script{url: "https://" + l.Addr().String(), client: &http.Client{Transport: transport}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			go s.serve(c, refuse)
		}
	}()
	return s
}

func (s *h2script) serve(c net.Conn, refuse func(net.Conn, uint32)) {
	defer c.Close()
	preface := make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	if _, err := io.ReadFull(c, preface); err != nil {
		return
	}
	writeFrame(c, frameSettings, 0, 0, nil)
	for {
		var head [9]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return
		}
		length := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, err := io.CopyN(io.Discard, c, length); err != nil {
			return
		}
		kind, flags, stream := head[3], head[4], binary.BigEndian.Uint32(head[5:])
		switch {
		case kind == frameSettings && flags&flagAck == 0:
			writeFrame(c, frameSettings, flagAck, 0, nil)
		case (kind == frameData || kind == frameHeaders) && flags&flagEndStream != 0:
			s.requests.Add(1)
			refuse(c, stream)
		}
	}
}

func writeFrame(c net.Conn, kind, flags byte, stream uint32, payload []byte) {
	frame := []byte{0, 0, byte(len(payload)), kind, flags} // payloads here are short
	frame = binary.BigEndian.AppendUint32(frame, stream)
	c.Write(append(frame, payload...))
}

// resetStream refuses one request.
func resetStream(code uint32) func(net.Conn, uint32) {
	return func(c net.Conn, stream uint32) {
		writeFrame(c, frameReset, 0, stream, binary.BigEndian.AppendUint32(nil, code))
	}
}

// goAway sends the frame that means that no request of the connection was handled.
func goAway(code uint32) func(net.Conn, uint32) {
	return func(c net.Conn, _ uint32) {
		writeFrame(c, frameGoAway, 0, 0, binary.BigEndian.AppendUint32(make([]byte, 4), code))
	}
}

// acceptEmpty responds with status 200 and no body.
func acceptEmpty(c net.Conn, stream uint32) {
	const status200 = 0x88 // in HPACK's static table
	writeFrame(c, frameHeaders, flagEndHeaders|flagEndStream, stream, []byte{status200})
}

// list is a JSON array of these entries.
func list(entries ...string) string { return "[" + strings.Join(entries, ",") + "]" }
