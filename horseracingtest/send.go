package horseracingtest

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strconv"
	"time"
)

// sleep waits, unless the request or the fake ends first.
type sleep func(ctx context.Context, d time.Duration) bool

func sleepUntil(closing <-chan struct{}) sleep {
	return func(ctx context.Context, d time.Duration) bool {
		if d <= 0 {
			return true
		}
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return true
		case <-ctx.Done():
		case <-closing:
		}
		return false
	}
}

// latency waits after a request was handled.
func latency(d time.Duration, sleep sleep, next handle) handle {
	return func(c *call) response {
		out := next(c)
		if !sleep(c.request.Context(), d) {
			panic(http.ErrAbortHandler)
		}
		return out
	}
}

// drop ends the connection of an HTTP/1 request, with a reset where there is
// TCP below it, and the stream of an HTTP/2 request. It does not return.
func drop(w http.ResponseWriter) {
	if hijacker, ok := w.(http.Hijacker); ok {
		if conn, _, err := hijacker.Hijack(); err == nil {
			raw := conn
			if secured, ok := conn.(*tls.Conn); ok {
				raw = secured.NetConn()
			}
			if tcp, ok := raw.(*net.TCPConn); ok {
				tcp.SetLinger(0)
			}
			raw.Close()
			conn.Close()
		}
	}
	panic(http.ErrAbortHandler)
}

// send writes the response, whole or as the fault has it.
func send(clock *clock, sleep sleep, next handle) handle {
	return func(c *call) response {
		out := next(c)
		// Noted before it is sent: a test that has the response finds it in the log.
		c.status = out.status
		c.note(func(r *Request) { r.Status = out.status })
		out.write(c, clock.Now(), sleep)
		return out
	}
}

func (out *response) write(c *call, date time.Time, sleep sleep) {
	w, f := c.writer, &out.fault
	header := w.Header()
	header["Content-Type"] = jsonType
	header["Date"] = []string{date.Format(http.TimeFormat)}
	for _, more := range []http.Header{out.header, f.Header} {
		for name, values := range more {
			header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if out.status != http.StatusNoContent && out.status != http.StatusNotModified {
		length := len(out.body)
		header["Content-Length"] = []string{strconv.Itoa(length)}
	}
	w.WriteHeader(out.status)
	body, cut := out.body, false
	if f.CutBody > 0 && f.CutBody < len(body) {
		body, cut = body[:f.CutBody], true
	}
	flusher := http.NewResponseController(w)
	if f.Drip > 0 {
		for i := range body {
			if flusher.Flush() != nil || !sleep(c.request.Context(), f.Drip) {
				panic(http.ErrAbortHandler)
			}
			if i == len(body)-1 {
				c.leave()
			}
			w.Write(body[i : i+1])
		}
	} else {
		c.leave()
		w.Write(body)
	}
	if cut {
		flusher.Flush()
		panic(http.ErrAbortHandler)
	}
}

var jsonType = []string{"application/json; charset=utf-8"}
