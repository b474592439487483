package listing

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/horseracing-go/horseracing/guarantees/double/check"

	"github.com/horseracing-go/horseracing/internal/entry"
	"github.com/horseracing-go/horseracing/internal/follow"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// As many errors as a follower ever remembers, with starts that have as many digits as there are.
func TestTheLongestCursorOfAFollowerCanBeParsed(t *testing.T) {
	const latest = 253402300799999
	position := follow.Watermark{Settled: latest, Seen: map[string]int64{}}
	for n := range 2*follow.Bound + 10 {
		position.Seen[fmt.Sprintf("?%013d", n)] = latest
	}
	text := CursorText("g2", 1<<31-1, position)
	check.Equal(t, fmt.Sprintf("the error for %d bytes", len(text)), nil, CheckCursor(text))
}

var errUnreadable = errors.New("an entry that cannot be read")

// followed returns a follower from the first instant on, of a listing that has these pages, one after the
// other and the last one again and again, and what its requests are from. An entry is its id and its start.
func followed(pages ...[]int64) (*Poller[int64], *[]string) {
	var from []string
	l := &Listing[int64]{Page: func(_ context.Context, r walk.PageRequest) (page []entry.Entry[*int64], err error) {
		from = append(from, "newest")
		if !r.Newest() {
			from[len(from)-1] = strconv.FormatInt(r.From, 10)
		}
		if len(pages) == 0 {
			return nil, errUnreadable
		}
		for _, start := range pages[min(len(from), len(pages))-1] {
			if start == 0 { // which stands for a failure
				return nil, errUnreadable
			}
			e := entry.Entry[*int64]{ID: strconv.FormatInt(start, 10), Start: start, Value: &start}
			if start < 0 { // which stands for none
				e.Start, e.NoStart, e.Err = 0, true, errUnreadable
			}
			page = append(page, e)
		}
		return page, nil
	}, Fail: func(problem error) error { return problem }}
	progress := follow.New[*int64](follow.Watermark{Settled: 1, Seen: map[string]int64{}}, 1000, nil)
	return &Poller[int64]{Listing: l, Progress: progress}, &from
}

// catchUp makes one poll, up to its end or its first error.
func catchUp(t *testing.T, f *Poller[int64]) {
	for p := f.Poll(); !p.IsDone(); {
		if p.Next(t.Context()) != nil {
			return
		}
		for _, ok := f.Progress.Next(); ok; _, ok = f.Progress.Next() {
		}
	}
}

// The known entry is what shows that an empty page is no mistake: the next poll requests its page.
func TestAFollowersKnownEntryIsTheNewestOfItsPollThatHasAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, from := followed([]int64{7, -9, 8}, nil)
		catchUp(t, f)
		check.Equal(t, "the known entry", fmt.Sprintf("%+v", walk.Position{At: 8, Seen: []string{"8"}}), fmt.Sprintf("%+v", f.known))
		first := len(*from)
		catchUp(t, f)
		check.Equal(t, "the requests of the next poll", "newest 9", strings.Join((*from)[first:], " "))
	})
}

// As if the failures had not been: how much there is to catch up with is still to be seen.
func TestAPollWhoseNewestPageFailsAgainAndAgainStaysAtItsFirstWindow(t *testing.T) {
	f, _ := followed()
	f.Schedule.Failures = maxFailures - 1
	p := f.Poll()
	check.Equal(t, "the page fails", true, p.Next(t.Context()) != nil)
	check.Equal(t, "the length", int64(noEnd), p.length)
}

// Other entries may share the start of the last entry that was read.
func TestAWindowIsNotReadBeforeThePageAfterItsOldestEntry(t *testing.T) {
	f, _ := followed([]int64{5, 1}, []int64{0})
	p := f.Poll()
	check.Equal(t, "the second page fails", errUnreadable, p.Next(t.Context()))
	f.Schedule.Failures = maxFailures - 1 // so that a shorter window is tried
	check.Equal(t, "it fails again and again", errUnreadable, p.Next(t.Context()))
	check.Equal(t, "the poll is done", false, p.IsDone())
}
