package main

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"time"
)

// probe is the transport below the client. It counts and measures, and sends
// no more requests than it may.
type probe struct {
	next http.RoundTripper
	most int

	mu   sync.Mutex
	seen traffic
}

// traffic is what can be seen of the connection, whatever the responses contain.
type traffic struct {
	Requests     int
	Proto        string // HTTP/2.0
	TLS          string // TLS 1.3; empty: plain HTTP
	DNS          time.Duration
	Handshake    time.Duration
	Compressed   int // responses that were compressed
	Refused      int // status 429, or 503 with Retry-After
	Latencies    []time.Duration
	LimitHeaders map[string]string
}

var errNoRequestsLeft = errors.New("no requests left (-requests)")

// left returns how many requests may still be sent.
func (p *probe) left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most - p.seen.Requests
}

func (p *probe) traffic() traffic {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.seen
	t.Latencies = slices.Clone(t.Latencies)
	return t
}

func (p *probe) RoundTrip(req *http.Request) (*http.Response, error) {
	p.mu.Lock()
	spent := p.seen.Requests >= p.most
	if !spent {
		p.seen.Requests++
	}
	p.mu.Unlock()
	if spent {
		return nil, errNoRequestsLeft
	}
	var began, dns, handshake time.Time
	trace := &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { dns = time.Now() },
		DNSDone: func(httptrace.DNSDoneInfo) {
			p.note(func(t *traffic) { t.DNS = max(t.DNS, time.Since(dns)) })
		},
		TLSHandshakeStart: func() { handshake = time.Now() },
		TLSHandshakeDone: func(tls.ConnectionState, error) {
			p.note(func(t *traffic) { t.Handshake = max(t.Handshake, time.Since(handshake)) })
		},
		WroteRequest: func(httptrace.WroteRequestInfo) { began = time.Now() },
		GotFirstResponseByte: func() {
			p.note(func(t *traffic) { t.Latencies = append(t.Latencies, time.Since(began)) })
		},
	}
	resp, err := p.next.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err == nil {
		p.note(func(t *traffic) { t.look(resp) })
	}
	return resp, err
}

func (p *probe) note(f func(*traffic)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.seen)
}

func (t *traffic) look(resp *http.Response) {
	t.Proto = resp.Proto
	if resp.TLS != nil {
		t.TLS = tls.VersionName(resp.TLS.Version)
	}
	if resp.Uncompressed || resp.Header.Get("Content-Encoding") != "" {
		t.Compressed++
	}
	retryAfter := resp.Header.Get("Retry-After")
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable && retryAfter != "" {
		t.Refused++
	}
	for name := range resp.Header {
		lower := strings.ToLower(name)
		if strings.Contains(lower, "ratelimit") || strings.Contains(lower, "rate-limit") || lower == "retry-after" {
			if t.LimitHeaders == nil {
				t.LimitHeaders = map[string]string{}
			}
			t.LimitHeaders[name] = resp.Header.Get(name)
		}
	}
}

// quantile returns the value below which that share of the durations lies.
func quantile(durations []time.Duration, share float64) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(durations))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}
