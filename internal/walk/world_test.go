package walk

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"

	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing/internal/entry"
)

// world is a listing in memory and the oracle of these tests: it holds every
// entry. The value of an entry is its id.
type world struct {
	entries  []entry.Entry[uint64] // newest first
	pageSize int
	shuffle  *rand.Rand           // shuffles the entries of each page
	keep     func(id uint64) bool // filters a page after it was cut
}

// newWorld is a listing of n entries, one each gap milliseconds, with pages of so many. The newest
// one has the id n.
func newWorld(pageSize, n int, gap int64) *world {
	w := &world{pageSize: pageSize}
	for i := range n {
		w.add(1_700_000_000_000-gap*int64(i), uint64(n-i))
	}
	return w
}

func (w *world) add(start int64, id uint64) {
	w.entries = append(w.entries, numbered(start, id))
}

// onInstants is a listing with so many entries on each instant. The instants are so far apart, and all
// further ones as far as the last that is given.
func onInstants(pageSize int, apart []int64, counts ...int) *world {
	w, at := &world{pageSize: pageSize}, int64(2000)
	for i, n := range counts {
		for range n {
			w.add(at, uint64(len(w.entries)))
		}
		at -= apart[min(i, len(apart)-1)]
	}
	return w
}

// learn passes pages to a walk as the outcomes of its requests.
func learn(walk *Time[uint64], pages ...[]entry.Entry[uint64]) {
	for _, page := range pages {
		r, _ := walk.Next()
		walk.Learn(r, page, nil)
	}
}

// numbered is a readable entry. Its value is its id.
func numbered(start int64, id uint64) entry.Entry[uint64] {
	return entry.Entry[uint64]{Value: id, Start: start, ID: strconv.FormatUint(id, 10)}
}

// page returns a page that begins with the entry at index first.
func (w *world) page(first int) []entry.Entry[uint64] {
	first = min(first, len(w.entries))
	page := slices.Clone(w.entries[first:min(first+w.pageSize, len(w.entries))])
	if w.keep != nil {
		page = slices.DeleteFunc(page, func(e entry.Entry[uint64]) bool { return !w.keep(e.Value) })
	}
	if w.shuffle != nil {
		w.shuffle.Shuffle(len(page), func(i, j int) { page[i], page[j] = page[j], page[i] })
	}
	return page
}

func (w *world) before(at int64) []entry.Entry[uint64] {
	return w.page(sort.Search(len(w.entries), func(i int) bool { return w.entries[i].Start < at }))
}

func (w *world) from(offset int64) []entry.Entry[uint64] { return w.page(int(min(offset, 1<<30))) }

func (w *world) ids() (ids []uint64) {
	for _, e := range w.entries {
		ids = append(ids, e.Value)
	}
	return ids
}

// drawWorld makes a listing with up to nine entries on an instant, dense and
// sparse segments, and gaps of months.
func drawWorld(t *rapid.T) *world {
	w := &world{pageSize: 10}
	at := rapid.Int64Range(1_000, 2_000_000_000_000).Draw(t, "newest")
	id := uint64(1000)
	for range rapid.IntRange(0, 150).Draw(t, "instants") {
		for range rapid.SampledFrom([]int{1, 1, 1, 1, 1, 2, 3, 9}).Draw(t, "ties") {
			w.add(at, id)
			id--
		}
		at -= rapid.SampledFrom([]int64{1, 2, 1_000, 60_000, 61_000, 3_600_000, 60 * 24 * 3_600_000}).Draw(t, "gap")
		if at < 1 {
			break
		}
	}
	if rapid.Bool().Draw(t, "shuffled") {
		w.shuffle = rand.New(rand.NewPCG(1, 2))
	}
	return w
}

var errBroken = errors.New("broken on purpose")

// crawl is a walk under way: what is in flight, and how it is served.
type crawl struct {
	walk     Walk[uint64]
	fetch    func(PageRequest) ([]entry.Entry[uint64], error)
	slots    int
	pick     func(n int) int // which of n responses arrives next
	inFlight []PageRequest
	requests int
}

// newCrawl is a crawl of one listing, whose responses arrive in order.
func newCrawl(walk Walk[uint64], slots int, page func(int64) []entry.Entry[uint64]) *crawl {
	return &crawl{walk: walk, slots: slots, pick: func(int) int { return 0 }, fetch: func(r PageRequest) ([]entry.Entry[uint64], error) { return page(r.From), nil }}
}

// take returns the next entry as a pager would yield it.
func (c *crawl) take() (entry.Entry[uint64], bool) {
	for !c.walk.Done() && c.requests < 100_000 {
		if e, ok := c.walk.Take(); ok {
			return e, true
		}
		c.fill()
		c.receive()
	}
	return entry.Entry[uint64]{}, false
}

// drain takes entries until one is an error, or all were taken, and returns them and how many ties.
func (c *crawl) drain() (ids []uint64, ties int, err error) {
	for e, ok := c.take(); ok; e, ok = c.take() {
		switch {
		case e.Err != nil:
			return ids, ties, e.Err
		case e.Ties > 0:
			ties++
		default:
			ids = append(ids, e.Value)
		}
	}
	return ids, ties, nil
}

// fill sends requests while the walk wants some and a slot is free.
func (c *crawl) fill() {
	for len(c.inFlight) < c.slots {
		r, ok := c.walk.Next()
		if !ok {
			return
		}
		c.inFlight = append(c.inFlight, r)
		c.requests++
	}
}

func (c *crawl) receive() {
	i := c.pick(len(c.inFlight))
	r := c.inFlight[i]
	c.inFlight = slices.Delete(c.inFlight, i, i+1)
	page, err := c.fetch(r)
	c.walk.Learn(r, page, err)
}

// crawlOf is a crawl of a world by time, from its top if resume is the zero position, whose responses
// arrive in any order.
func crawlOf(w *world, resume *Position, slots int) *crawl {
	if resume.At == 0 {
		resume.At = Latest
	}
	c := newCrawl(NewTime[uint64](0, resume, Position{}, slots, 10), slots, w.before)
	c.pick = rand.IntN
	return c
}

// byOffset is a crawl of a world by offset.
func byOffset(w *world, resume *Position, _ int) *crawl {
	return newCrawl(NewOffset[uint64](resume, 10), 1, w.from)
}
