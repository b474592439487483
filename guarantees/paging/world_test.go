package paging_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing"
)

// world is a listing in memory and the oracle of the paging tests: it holds
// every entry. It responds as a RoundTripper, whole and at once.
type world struct {
	starts []int64 // of the entries, newest first; the id of entry i is ids[i]
	ids    []int64

	shuffle    *rand.Rand       // shuffles the entries of each page
	foreign    bool             // of another tier than Omega
	damaged    map[int64]string // the text of entries that cannot be read
	ignoreBody bool
	delay      time.Duration
	before     func(from int64) error // runs before a request is handled; an error is its outcome
	open       int                    // bodies that were not closed

	mu       sync.Mutex
	requests int
	inFlight int
	most     int      // requests in flight at once
	bodies   []string // of the requests
	empty    int      // pages without an entry
}

func (w *world) RoundTrip(req *http.Request) (*http.Response, error) {
	var query struct {
		Tier   int
		From   *int64 `json:"start_time_from"`
		Offset int
	}
	sent, _ := io.ReadAll(req.Body)
	if err := json.Unmarshal(sent, &query); err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.requests++
	w.bodies = append(w.bodies, string(sent))
	w.inFlight++
	w.most = max(w.most, w.inFlight)
	w.mu.Unlock()
	defer func() { w.mu.Lock(); w.inFlight--; w.mu.Unlock() }()
	if w.delay > 0 {
		// Up to a millisecond more, by the request: no two responses arrive at
		// once, so a virtual clock alone decides on their order.
		h := fnv.New32a()
		h.Write(sent)
		select {
		case <-time.After(w.delay + time.Duration(h.Sum32()%1_000_000)):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	from := int64(math.MaxInt64)
	if query.From != nil {
		from = *query.From
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.before != nil {
		if err := w.before(from); err != nil {
			return nil, err
		}
	}
	if w.ignoreBody {
		query.From, query.Offset = nil, 0
	}
	first := min(query.Offset, len(w.starts))
	if query.From != nil {
		first, _ = slices.BinarySearchFunc(w.starts, *query.From, func(start, from int64) int {
			if start >= from {
				return -1
			}
			return 1
		})
	}
	var page []string
	for i := first; i < min(first+10, len(w.starts)); i++ {
		if text, ok := w.damaged[w.ids[i]]; ok {
			page = append(page, text)
			continue
		}
		tier := horseracing.TierNameOmega
		if w.foreign {
			tier = horseracing.TierNameBeta
		}
		page = append(page, fmt.Sprintf(`{"main_race_id":%d,"start_time":%d,"tier":"%s"}`, w.ids[i], w.starts[i], tier))
	}
	if w.shuffle != nil {
		w.shuffle.Shuffle(len(page), func(i, j int) { page[i], page[j] = page[j], page[i] })
	}
	if len(page) == 0 {
		w.empty++
	}
	w.open++
	text := "[" + strings.Join(page, ",") + "]"
	return &http.Response{
		StatusCode: 200, Header: http.Header{}, ContentLength: int64(len(text)),
		Body: body{bytes.NewReader([]byte(text)), w}, Request: req,
	}, nil
}

// checkInBubble is rapid.Check in virtual time: the second request for an empty page
// waits.
func checkInBubble(t *testing.T, check func(*rapid.T)) {
	rapid.Check(t, func(drawn *rapid.T) {
		var stopped any
		synctest.Test(t, func(*testing.T) {
			defer func() { stopped = recover() }()
			check(drawn)
		})
		if stopped != nil {
			panic(stopped)
		}
	})
}

// body counts itself as long as it is open.
type body struct {
	io.Reader
	w *world
}

func (b body) Close() error {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	b.w.open--
	return nil
}

// failer is what *testing.T and *rapid.T have in common.
type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func (w *world) client(t failer, opts ...horseracing.Option) *horseracing.Client {
	t.Helper()
	c, err := horseracing.NewClient("https://races.example", "key", append([]horseracing.Option{
		horseracing.WithHTTPClient(&http.Client{Transport: w}), horseracing.WithRetry(horseracing.Retry{Max: -1}),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// add puts entries at the given starts into the listing.
func (w *world) add(starts ...int64) {
	for _, start := range starts {
		w.insert(start)
	}
}

func (w *world) insert(start int64) {
	id := int64(len(w.ids) + 1)
	for slices.Contains(w.ids, id) {
		id++
	}
	at, _ := slices.BinarySearchFunc(w.starts, start, func(have, start int64) int {
		if have > start {
			return -1
		}
		return 1
	})
	w.starts = slices.Insert(w.starts, at, start)
	w.ids = slices.Insert(w.ids, at, id)
}

// between returns the ids of the entries in [since, before), newest first.
func (w *world) between(since, before int64) []int64 {
	var ids []int64
	for i, start := range w.starts {
		if since <= start && start < before {
			ids = append(ids, w.ids[i])
		}
	}
	return ids
}

var errBroken = errors.New("broken on purpose")

// collect reads a listing to its end, without a break, newest first.
func collect(t failer, p *horseracing.Pager[horseracing.Race]) (ids []int64) {
	t.Helper()
	last := int64(math.MaxInt64)
	for r, err := range p.All(context.Background()) {
		if err != nil {
			t.Fatalf("after %d entries: %v", len(ids), err)
		}
		if start := r.StartTime.UnixMilli(); start > last {
			t.Fatalf("entry %d starts at %d, after the one before it at %d", r.MainRaceID, start, last)
		} else {
			last = start
		}
		ids = append(ids, int64(r.MainRaceID))
	}
	return ids
}

// crawl reads a listing to its end by many pagers: each is left after some races,
// or where a request fails, and the next one resumes at its cursor. It returns the
// unreadable entries apart.
func crawl(t *rapid.T, begin func(resume horseracing.Cursor, concurrency int) *horseracing.Pager[horseracing.Race]) (races []*horseracing.Race, skipped []string) {
	var resume horseracing.Cursor
	for range 10_000 {
		p := begin(resume, rapid.IntRange(1, 16).Draw(t, "concurrency"))
		left, stopped := rapid.IntRange(1, 80).Draw(t, "stop after"), false
		for e, err := range again(p) {
			if bad, ok := errors.AsType[*horseracing.DecodeError](err); ok {
				if e.Value != nil || string(e.JSON) != string(bad.Raw) {
					t.Fatalf("value %v, JSON %s with %v", e.Value, e.JSON, err)
				}
				skipped = append(skipped, string(bad.Raw))
				if stopped = rapid.Bool().Draw(t, "stop at the error"); stopped {
					break
				}
				continue
			}
			if err != nil && !errors.Is(err, errBroken) {
				t.Fatal(err)
			}
			if err == nil {
				races = append(races, e.Value)
				left--
			}
			if stopped = err != nil || left == 0; stopped {
				break
			}
		}
		if !stopped {
			return races, skipped
		}
		var err error
		if resume, err = horseracing.ParseCursor(p.Cursor().String()); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the walk does not end")
	return nil, nil
}

// again ranges over a pager again after the error of an entry, which ends its loop.
func again(p *horseracing.Pager[horseracing.Race]) iter.Seq2[horseracing.Entry[horseracing.Race], error] {
	return func(yield func(horseracing.Entry[horseracing.Race], error) bool) {
		for isDone := false; !isDone; {
			isDone = true
			for e, err := range p.Entries(context.Background()) {
				if !yield(e, err) {
					return
				}
				_, isTie := errors.AsType[*horseracing.TieOverflowError](err)
				bad, isDecode := errors.AsType[*horseracing.DecodeError](err)
				isDone = !isTie && (!isDecode || bad.Raw == nil)
			}
		}
	}
}

func idsIn(races []*horseracing.Race) (ids []int64) {
	for _, race := range races {
		ids = append(ids, int64(race.MainRaceID))
	}
	return ids
}

func dense(n int, pace int64) *world {
	w := &world{starts: make([]int64, n), ids: make([]int64, n)}
	rng := rand.New(rand.NewPCG(7, 7))
	at := int64(1_700_000_000_000)
	for i := range n {
		w.starts[i], w.ids[i] = at, int64(n-i)
		at -= 1 + rng.Int64N(2*pace)
	}
	return w
}

func (w *world) numbered() *world {
	for i := range w.starts {
		w.ids = append(w.ids, int64(len(w.starts)-i))
	}
	return w
}
