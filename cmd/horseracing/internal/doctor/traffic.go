package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

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
