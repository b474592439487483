package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// probe is the transport below the client. It counts and measures, and sends no
// more requests than it may.
type probe struct {
	next  http.RoundTripper
	most  int
	spent func() // called when a request more is attempted

	requests int
	failures counts
	protocol string            // HTTP/2.0
	tls      string            // TLS 1.3; empty without
	date     time.Time         // of the newest response
	headers  map[string]counts // values of the headers that are about limits or caches
}

var errNoRequestsLeft = errors.New("no requests left (--requests)")

// left returns how many requests may still be sent.
func (p *probe) left() int { return p.most - p.requests }

func (p *probe) RoundTrip(req *http.Request) (*http.Response, error) {
	if p.requests >= p.most {
		p.spent()
		return nil, errNoRequestsLeft
	}
	p.requests++

	resp, err := p.next.RoundTrip(req)
	if err != nil {
		if req.Context().Err() == nil {
			p.failures["no response"]++
		}
		return resp, err
	}
	p.look(resp, req.Context().Value(refusalExpected{}) != nil)
	return resp, nil
}

func (p *probe) look(resp *http.Response, refusalExpected bool) {
	p.protocol = resp.Proto
	p.date, _ = http.ParseTime(resp.Header.Get("Date"))
	if resp.TLS != nil {
		p.tls = tls.VersionName(resp.TLS.Version)
	}
	refused := resp.StatusCode >= 400 && resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests
	if resp.StatusCode >= 300 && !(refused && refusalExpected) {
		p.failures[fmt.Sprint(resp.StatusCode)]++
	}
	for name := range resp.Header {
		if isLimitHeader(name) || isCacheHeader(name) || name == acceptQuery {
			if p.headers[name] == nil {
				p.headers[name] = counts{}
			}
			p.headers[name][resp.Header.Get(name)]++
		}
	}
}

// acceptQuery is the header of a service that takes the method QUERY.
const acceptQuery = "Accept-Query"

func isLimitHeader(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "-", "")
	return strings.Contains(name, "ratelimit") || strings.Contains(name, "quota") || name == "retryafter"
}

func isCacheHeader(name string) bool {
	return slices.Contains([]string{"Age", "Cache-Control", "Etag", "Expires", "Last-Modified", "Vary", "Via", "X-Cache"}, name)
}

// expectRefusal returns a context whose requests do not count as failed if the
// service refuses them.
func expectRefusal(ctx context.Context) context.Context {
	return context.WithValue(ctx, refusalExpected{}, true)
}

type refusalExpected struct{}
