package horseracingtest

import (
	"context"
	"crypto/tls"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// response is what the fake sends.
type response struct {
	status int
	header http.Header // besides the content type
	body   []byte
}

// serve handles a request from its arrival to the last byte of its response.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	c := s.log.arrive(r, s.Now())
	defer s.log.end()
	if s.settings.logger != nil {
		defer logRequest(s.settings.logger, c, time.Now())
	}
	defer c.leave()
	fault := s.faults.strike(r)
	if !fault.ResetBefore {
		s.read(w, c) // before any delay: net/http notices that a client is gone only once the body was read
	}
	s.sleep(r.Context(), fault.Delay)
	if fault.ResetBefore {
		drop(w)
	}
	if fault.IgnoreBody {
		c.Body, c.unread = nil, nil
	}
	if fault.TakesEffectAfter > 0 {
		s.takeEffect(c, fault.TakesEffectAfter)
		drop(w)
	}
	out := response{fault.Status, nil, []byte(fault.Body)}
	if fault.Status == 0 {
		out = s.limited(w.Header(), c)
	}
	s.sleep(r.Context(), s.settings.latency)
	if fault.ResetAfter {
		drop(w)
	}
	s.send(w, c, out, fault)
}

// limited responds to a request, unless it is beyond a limit.
func (s *Server) limited(header http.Header, c *call) response {
	admitted := s.limiter.admit(c.Header.Get("X-Api-Key"), c.http.URL.Path, s.Now())
	c.leaving = append(c.leaving, admitted.release)
	maps.Copy(header, admitted.header)
	if admitted.refusal != nil {
		return admitted.refusal.response()
	}
	if no := checkHeaders(c.http.Header, s.settings.apiKeys); no == nil && c.unread == nil {
		if out, ok := s.handlers.respond(c); ok {
			return out
		}
	}
	return s.respond(c)
}

// sleep waits. If the request or the fake ends first, it ends the connection and does not
// return.
func (s *Server) sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return
	case <-ctx.Done():
	case <-s.closing:
	}
	panic(http.ErrAbortHandler)
}

// drop ends the connection of an HTTP/1 request, with a reset if there is TCP below it,
// and the stream of an HTTP/2 request. It does not return.
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

// send writes the response, whole or as the fault demands.
func (s *Server) send(w http.ResponseWriter, c *call, out response, f Fault) {
	s.log.update(c, func(r *Request) { r.Status = out.status }) // before a test has the response
	header := w.Header()
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("Date", s.Now().Format(http.TimeFormat))
	for _, more := range []http.Header{out.header, f.Header} {
		for name, values := range more {
			header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if out.status != http.StatusNoContent && out.status != http.StatusNotModified {
		header.Set("Content-Length", strconv.Itoa(len(out.body)))
	}
	w.WriteHeader(out.status)
	body, isCut := out.body, f.CutBody > 0 && f.CutBody < len(out.body)
	if isCut {
		body = body[:f.CutBody]
	}
	if f.Drip > 0 {
		body = s.drip(w, c, body, f.Drip)
	}
	c.leave()
	w.Write(body)
	if isCut {
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// drip writes a body byte by byte with a wait before each, except for the last byte, which
// it returns.
func (s *Server) drip(w http.ResponseWriter, c *call, body []byte, wait time.Duration) []byte {
	for i := range body {
		if http.NewResponseController(w).Flush() != nil {
			panic(http.ErrAbortHandler)
		}
		s.sleep(c.http.Context(), wait)
		if i < len(body)-1 {
			w.Write(body[i : i+1])
		}
	}
	return body[max(0, len(body)-1):]
}

// effect is what a request does whose connection was dropped.
type effect struct {
	at time.Time
	do action
}

// takeEffect lets a valid request take effect after a time, by the fake's clock.
func (s *Server) takeEffect(c *call, after time.Duration) {
	do, no := parse(c, s.settings.apiKeys)
	if no != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.now().Add(after)
	i := len(s.late)
	for i > 0 && s.late[i-1].at.After(at) {
		i--
	}
	s.late = append(s.late[:i:i], append([]effect{{at, do}}, s.late[i:]...)...)
}

// catchUp lets everything happen that was to happen until now, and returns the time. The
// mutex is held.
func (s *Server) catchUp() time.Time {
	now := s.now()
	for len(s.late) > 0 && !s.late[0].at.After(now) {
		late := s.late[0]
		s.late = s.late[1:]
		s.world.advance(late.at)
		late.do(s.world, late.at)
	}
	s.world.advance(now)
	return now
}

// respond does what a request demands.
func (s *Server) respond(c *call) response {
	do, no := parse(c, s.settings.apiKeys)
	if no != nil {
		return no.response()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.catchUp()
	body, no := do(s.world, now)
	return s.settings.readings.response(c.Method, body, no)
}

// call is a request that is being served.
type call struct {
	Request // as it arrived, for handlers
	http    *http.Request
	noted   *Request // in the log
	unread  *refusal // why the body could not be read
	leaving []func() // what to do before the last byte of the response is sent
	left    sync.Once
}

// leave does what is to be done before the last byte of the response is sent, or the
// connection is dropped.
func (c *call) leave() {
	c.left.Do(func() {
		for _, do := range c.leaving {
			do()
		}
	})
}
