package horseracing

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing/internal/follow"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// As many errors as a follower ever remembers, with starts that have as many digits as there are.
func TestTheLongestCursorOfAFollowerCanBeParsed(t *testing.T) {
	position := follow.Position{Settled: maxMilliseconds, Seen: map[string]int64{}}
	for n := range 2*follow.Bound + pageSize {
		position.Seen[fmt.Sprintf("?%013d", n)] = maxMilliseconds
	}
	text := newCursor(cursorFollowTournaments, 1<<31-1, position).String()
	_, err := ParseCursor(text)
	equal(t, fmt.Sprintf("the error for %d bytes", len(text)), nil, err)
}

// responding returns a client of a service that has these pages, one after the other and the last one
// again and again, and the bodies of the requests.
func responding(t *testing.T, pages ...string) (*Client, *[]string) {
	t.Helper()
	var bodies []string
	mock := httpmock.NewMockTransport()
	mock.RegisterNoResponder(func(req *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(req.Body)
		bodies = append(bodies, string(body))
		return httpmock.NewStringResponse(http.StatusOK, pages[min(len(bodies), len(pages))-1]), nil
	})
	client, err := NewClient("https://service.test", "key", WithHTTPClient(&http.Client{Transport: mock}), WithRetry(Retry{Max: -1}), WithSkipHandler(func(context.Context, error) {}))
	equal(t, "the error of NewClient", nil, err)
	return client, &bodies
}

// The known entry is what shows that an empty page is no mistake: the next poll requests its page.
func TestAFollowersKnownEntryIsTheNewestOfItsPollThatHasAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, bodies := responding(t, `[{"main_race_id":7,"start_time":7},{"main_race_id":9},{"main_race_id":8,"start_time":8}]`, `[]`)
		f := client.Races.Follow(FollowQuery{Since: time.UnixMilli(1)})
		for range f.CatchUp(t.Context()) {
		}
		equal(t, "the known entry", fmt.Sprintf("%+v", walk.Position{At: 8, Seen: []string{"8"}}), fmt.Sprintf("%+v", f.known))
		first := len(*bodies)
		for range f.CatchUp(t.Context()) {
		}
		equal(t, "the requests of the next poll", `{} {"start_time_from":9}`, strings.Join((*bodies)[first:], " "))
	})
}

// As if the failures had not been: how much there is to catch up with is still to be seen.
func TestAPollWhoseNewestPageFailsAgainAndAgainStaysAtItsFirstWindow(t *testing.T) {
	client, _ := responding(t, `<html>`)
	f := client.Races.Follow(FollowQuery{Since: time.UnixMilli(1)})
	f.schedule.failures = maxFailures - 1
	p := newPoll(f)
	equal(t, "the page fails", true, p.next(t.Context()) != nil)
	equal(t, "the length", int64(noEnd), p.length)
}
