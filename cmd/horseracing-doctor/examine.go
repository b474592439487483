package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// doctor examines one service.
type doctor struct {
	set      settings
	client   *horseracing.Client
	probe    *probe
	progress io.Writer
	facts    facts
	driftMu  sync.Mutex
}

func newDoctor(set settings, progress io.Writer) (*doctor, error) {
	d := &doctor{set: set, progress: progress, facts: facts{
		Began: time.Now(), Calls: map[string]*outcome{}, Values: map[string]counts{}, Tiers: map[int]*tier{}, Unknown: map[string]*outcome{},
	}}
	opts := []horseracing.Option{
		horseracing.WithRateLimit(set.rate, 1),
		horseracing.WithRetry(horseracing.Retry{Max: 1, MinWait: 500 * time.Millisecond, MaxWait: 15 * time.Second}),
		horseracing.WithUserAgent("horseracing-doctor/" + horseracing.Version),
		horseracing.WithDriftHandler(func(_ context.Context, drift horseracing.Drift) {
			d.driftMu.Lock()
			defer d.driftMu.Unlock()
			d.facts.Drifts = append(d.facts.Drifts, drift)
		}),
	}
	if set.fakeHTTPClient != nil {
		opts = append(opts, horseracing.WithHTTPClient(set.fakeHTTPClient))
	}
	// The innermost wrapper comes first: it counts what is really sent.
	opts = append(opts, horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper {
		d.probe = &probe{next: next, most: set.requests}
		return d.probe
	}))
	if set.record != "" {
		opts = append(opts, horseracing.WithTransportWrapper(horseracingtest.Record(set.record)))
	}
	var err error
	d.client, err = horseracing.NewClient(set.baseURL, set.apiKey, opts...)
	if err != nil {
		return nil, err
	}
	d.facts.Service = "the embedded fake"
	if u, err := url.Parse(set.baseURL); err == nil && !set.fake {
		d.facts.Service = u.Scheme + "://" + u.Host
	}
	return d, nil
}

func (d *doctor) close() { d.client.Close() }

// examine requests everything that reading can find out, what matters most first,
// until the context ends or no requests are left.
func (d *doctor) examine(ctx context.Context) {
	for _, step := range []struct {
		title string
		do    func(context.Context)
	}{
		{"is it there, does the key work", d.connection},
		{"every operation", d.operations},
		{"do bodies of GET requests arrive", d.bodies},
		{"the bound of a page", d.bound},
		{"ids that do not exist", d.unknownIDs},
		{"which id a race is read by", d.raceIDs},
		{"tiers", d.tiers},
		{"how far back results go", d.oldest},
		{"results by offset", d.version1},
		{"pages of results", d.pages},
		{"how late results appear", d.lateness},
	} {
		if ctx.Err() != nil || d.probe.left() == 0 {
			break
		}
		fmt.Fprintf(d.progress, "%3d/%d  %s\n", d.set.requests-d.probe.left(), d.set.requests, step.title)
		step.do(ctx)
		if first := d.facts.First; first != nil && first.Status == 0 {
			break // nobody is there
		}
	}
}

// get sends a GET of the documented path and reports what came of it.
func (d *doctor) get(ctx context.Context, path string, body any) (*outcome, []byte) {
	var captured horseracing.Response
	var raw json.RawMessage
	err := d.client.Do(ctx, http.MethodGet, path, body, &raw, horseracing.CaptureResponse(&captured))
	if interrupted(ctx, err) {
		return nil, nil
	}
	return &outcome{Status: captured.StatusCode, Err: err, Shape: shapeOf(captured.Body)}, raw
}

// interrupted reports whether an error shows nothing about the service.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, errNoRequestsLeft)
}

func (d *doctor) connection(ctx context.Context) {
	d.facts.First, _ = d.get(ctx, "/api/v1/missions", nil)
	if d.facts.First == nil || d.facts.First.Status == 0 {
		return
	}
	// The client never sends a request without a key, so this one goes past it.
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.set.baseURL+"/api/v1/missions", nil)
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := d.probe.RoundTrip(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	d.facts.NoKey = &outcome{Status: resp.StatusCode, Shape: shapeOf(body)}
}

// bodies sends two requests whose responses must differ if the body arrives.
func (d *doctor) bodies(ctx context.Context) {
	top, ok := d.page(ctx, map[string]any{"tier": 5})
	if !ok || len(top.Entries) == 0 {
		return
	}
	d.facts.Bodies = &bodies{Arrived: true, How: "a page before an earlier time held earlier races"}
	lowest := top.lowest()
	further, ok := d.page(ctx, map[string]any{"tier": 5, "start_time_from": lowest})
	switch {
	case !ok:
		d.facts.Bodies = nil
	case slices.ContainsFunc(further.Entries, func(e entry) bool { return e.Start >= lowest }):
		d.facts.Bodies = &bodies{How: "a page requested with an earlier before still held races from after it"}
	case len(further.Entries) == 0 && len(top.Entries) < 10:
		d.facts.Bodies.How = "a page before the earliest race was empty"
	}
	if d.facts.Bodies == nil || !d.facts.Bodies.Arrived {
		return
	}
	same := func(body map[string]any) *bool {
		from, ok := d.page(ctx, body)
		if !ok || len(from.Entries) == 0 {
			return nil
		}
		equal := slices.Equal(from.Entries, further.Entries)
		return &equal
	}
	d.facts.NoTier = same(map[string]any{"start_time_from": lowest})
	if o, raw := d.get(ctx, "/api/v2/races/results", nil); o != nil && o.Err == nil {
		var entries []entry
		like := json.Unmarshal(raw, &entries) == nil && len(entries) > 0 && entries[0].Start >= lowest
		d.facts.Omitted = &like
	}
}

// page reads one page of results, as it is.
func (d *doctor) page(ctx context.Context, body map[string]any) (page, bool) {
	o, raw := d.get(ctx, "/api/v2/races/results", body)
	if o == nil || o.Err != nil {
		return page{}, false
	}
	p := page{}
	p.From, _ = body["start_time_from"].(int64)
	return p, json.Unmarshal(raw, &p.Entries) == nil
}

// bound finds out whether start_time_from excludes its instant.
func (d *doctor) bound(ctx context.Context) {
	top, ok := d.page(ctx, map[string]any{"tier": 5})
	if !ok || len(top.Entries) == 0 || d.facts.Bodies == nil || !d.facts.Bodies.Arrived {
		return
	}
	e := top.Entries[len(top.Entries)-1]
	shows := func(from int64) (bool, bool) {
		p, ok := d.page(ctx, map[string]any{"tier": 5, "start_time_from": from})
		return slices.Contains(p.Entries, e), ok
	}
	at, ok1 := shows(e.Start)
	after, ok2 := shows(e.Start + 1)
	if ok1 && ok2 {
		d.facts.Bound = &bound{Excludes: !at, Milliseconds: after}
	}
}

func (d *doctor) tiers(ctx context.Context) {
	for id := 1; id <= 12; id++ {
		var races []horseracing.Race
		var err error
		for entry, failed := range d.client.Races.Results(horseracing.ResultsQuery{Tier: horseracing.TierID(id)}).Entries(ctx) {
			if failed != nil && entry.JSON != nil {
				continue // of one race, which costs only itself; Races.Results reports it
			}
			if err = failed; err != nil {
				break
			}
			if races = append(races, *entry.Value); len(races) == 5 {
				break
			}
		}
		if interrupted(ctx, err) {
			return
		}
		found := &tier{Entries: len(races), Names: counts{}, Err: err}
		for _, race := range races {
			found.Names[string(race.Tier)]++
		}
		d.facts.Tiers[id] = found
	}
}

// oldest searches by halves how far back results go.
func (d *doctor) oldest(ctx context.Context) {
	const day = int64(24 * time.Hour / time.Millisecond)
	var low, high int64 // empty from low on; high is the earliest start seen
	for step := 30 * day; ; step *= 3 {
		p, ok := d.page(ctx, map[string]any{"tier": 5, "start_time_from": d.facts.Began.UnixMilli() - step})
		if !ok || step > 60*365*day {
			return
		}
		if len(p.Entries) == 0 {
			low = d.facts.Began.UnixMilli() - step
			break
		}
		high = p.lowest()
		d.facts.Oldest = &oldest{Start: time.UnixMilli(high).UTC()}
	}
	if high == 0 {
		high = d.facts.Began.UnixMilli()
	}
	for range 16 {
		p, ok := d.page(ctx, map[string]any{"tier": 5, "start_time_from": high})
		if !ok {
			return
		}
		if len(p.Entries) == 0 { // nothing lies before it
			d.facts.Oldest = &oldest{Start: time.UnixMilli(high).UTC(), Exact: true}
			return
		}
		high = p.lowest()
		d.facts.Oldest = &oldest{Start: time.UnixMilli(high).UTC()}
		for range 16 {
			middle := low + (high-low)/2
			if high-low < day {
				break
			}
			p, ok := d.page(ctx, map[string]any{"tier": 5, "start_time_from": middle})
			if !ok {
				return
			}
			if len(p.Entries) == 0 {
				low = middle
			} else {
				high = p.lowest()
				d.facts.Oldest = &oldest{Start: time.UnixMilli(high).UTC()}
			}
		}
	}
}

func (d *doctor) version1(ctx context.Context) {
	type raw struct {
		ID       int64   `json:"main_race_id"`
		Start    int64   `json:"start_time"`
		Type     *string `json:"type"`
		MinLevel *int    `json:"min_level"`
	}
	read := func(offset int) ([]raw, bool) {
		o, body := d.get(ctx, "/api/v1/races/results", map[string]any{"tier": 5, "offset": offset})
		var entries []raw
		return entries, o != nil && o.Err == nil && json.Unmarshal(body, &entries) == nil
	}
	top, ok1 := read(0)
	behind, ok2 := read(5)
	if !ok1 || !ok2 {
		return
	}
	v := &version1{Entries: len(top), Expected: max(0, len(top)-5)}
	var p page
	for _, e := range top {
		p.Entries = append(p.Entries, entry{ID: e.ID, Start: e.Start})
		if e.Type != nil {
			v.WithType++
		}
		if e.MinLevel != nil {
			v.WithLevels++
		}
		if slices.ContainsFunc(behind, func(b raw) bool { return b.ID == e.ID }) {
			v.Overlap++
		}
	}
	v.Order = p.order()
	d.facts.V1 = v
}

// pages walks back from now, page by page, as long as requests are left.
func (d *doctor) pages(ctx context.Context) {
	const most = 40
	body := map[string]any{"tier": 5}
	for len(d.facts.Pages) < most {
		p, ok := d.page(ctx, body)
		if !ok {
			return
		}
		if len(p.Entries) == 0 {
			return
		}
		d.facts.Pages = append(d.facts.Pages, p)
		from := p.lowest() + 1
		if from == p.From { // nothing older came
			from--
		}
		body = map[string]any{"tier": 5, "start_time_from": from}
	}
}

// lateness watches the top of the results and measures how long after its
// start each race appears.
func (d *doctor) lateness(ctx context.Context) {
	if d.set.watch == 0 {
		return
	}
	const interval = 20 * time.Second
	began := time.Now()
	seen := map[int64]bool{}
	for first := true; ; first = false {
		p, ok := d.page(ctx, map[string]any{"tier": 5})
		d.facts.WatchedFor = time.Since(began)
		if !ok {
			return
		}
		for _, e := range p.Entries {
			if !seen[e.ID] && !first {
				d.facts.Lateness = append(d.facts.Lateness, time.Since(time.UnixMilli(e.Start)))
			}
			seen[e.ID] = true
		}
		if time.Since(began)+interval > d.set.watch {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
	}
}
