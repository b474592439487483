package paging_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// history is a listing of races, whose responses take a time.
type history struct {
	starts     []int64        // newest first; the id of the last race is 1
	damaged    map[int]string // texts of entries, by their index
	isReversed bool           // each page lists its oldest entry first
	delay      time.Duration
	failAfter  int // requests, if it is not 0

	mu       sync.Mutex
	requests int
	inFlight int
}

var errBroken = errors.New("broken on purpose")

func (h *history) id(i int) horseracing.RaceID { return horseracing.RaceID(len(h.starts) - i) }

func (h *history) entry(i int) string {
	if text, ok := h.damaged[i]; ok {
		return text
	}
	return fmt.Sprintf(`{"main_race_id":%d,"start_time":%d}`, h.id(i), h.starts[i])
}

func (h *history) count(inFlight int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inFlight += inFlight
	h.requests += max(0, inFlight)
	return h.requests
}

func (h *history) RoundTrip(req *http.Request) (*http.Response, error) {
	n := h.count(1)
	defer h.count(-1)
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if h.delay > 0 { // no two responses arrive at once, so that a virtual clock decides on their order
		select {
		case <-time.After(h.delay + time.Duration(crc32.ChecksumIEEE(body)%1_000_000)):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	if h.failAfter > 0 && n > h.failAfter {
		return nil, errBroken
	}
	read := req.Clone(req.Context())
	read.Body = io.NopCloser(bytes.NewReader(body))
	resp, err := double.Pages(len(h.starts), func(i int) int64 { return h.starts[i] }, h.entry)(read)
	if h.isReversed && err == nil {
		var page []json.RawMessage
		err = json.NewDecoder(resp.Body).Decode(&page)
		slices.Reverse(page)
		text, _ := json.Marshal(page)
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	}
	return resp, err
}

func (h *history) client(tb testing.TB, opts ...horseracing.Option) *horseracing.Client {
	return double.Connect(tb, double.Service, &http.Client{Transport: h}, append(opts, double.NoRetries())...)
}

// dense is a history of n races, one a minute on average.
func dense(n int) *history {
	h := &history{}
	random, at := rand.New(rand.NewPCG(7, 7)), int64(1_700_000_000_000)
	for range n {
		h.starts = append(h.starts, at)
		at -= 1 + random.Int64N(120_000)
	}
	return h
}

// groups are groups of sixty races, a minute apart, and so many days between them.
func groups(n, days int64) *history {
	h := &history{}
	for group := range n {
		for i := range int64(60) {
			h.starts = append(h.starts, 1_700_000_000_000-group*days*86_400_000-i*60_000)
		}
	}
	return h
}
