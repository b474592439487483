package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
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
	tls      string            // such as TLS 1.3, or empty without TLS
	date     time.Time         // of the newest response
	headers  map[string]counts // values of the headers that are about limits or caches
}

var errNoRequestsLeft = errors.New("no requests left (--requests)")

// left returns how many requests may still be sent.
func (p *probe) left() int { return p.most - p.requests }

func (p *probe) wrap(next http.RoundTripper) http.RoundTripper {
	p.next = next
	return p
}

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

// traffic are the checks of what the probe saw.
func (d *Doctor) traffic() []check {
	p := d.probe
	return []check{
		{"1", "connection", "", func(context.Context) finding {
			return found(good, "%s over %s", p.protocol, cmp.Or(p.tls, "plain HTTP"))
		}},
		{"5", "the key", "", func(context.Context) finding { return found(good, "the service accepts it") }},
		{"4", "headers for caches", "", func(context.Context) finding {
			return p.headersThat(isCacheHeader, "a cache on the network path must not ignore the body of a GET")
		}},
		{"4", "QUERY (RFC 10008) in place of GET with a body", "", func(context.Context) finding {
			accepted := p.headers[acceptQuery].total() > 0
			return found(good, "does the service send Accept-Query? %s", yesOrNo(accepted))
		}},
		{"8", "headers that announce limits", "", func(context.Context) finding {
			return p.headersThat(isLimitHeader, "the SDK waits as long as Retry-After and RateLimit-Remaining say, and slows down when requests are refused")
		}},
		{"8", "rate limits", "", func(context.Context) finding {
			refused := p.failures["429"]
			return oddIf(refused > 0, "the SDK slows down by itself; run the doctor with a smaller --rate", "%d of %d requests were refused with status 429", refused, p.requests)
		}},
	}
}

// headersThat reports the headers of a kind, each with a value.
func (p *probe) headersThat(isWanted func(name string) bool, advice string) finding {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p.headers)) {
		if values := p.headers[name]; isWanted(name) {
			example := slices.Min(slices.Collect(maps.Keys(values)))
			parts = append(parts, fmt.Sprintf("%s on %d responses, like %.40q", name, values.total(), example))
		}
	}
	f := found(good, "%s", cmp.Or(strings.Join(parts, "; "), "none"))
	if len(parts) > 0 {
		f.Advice = advice
	}
	return f
}
