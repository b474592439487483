package horseracing

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	cursor := newCursor(cursorFollowTournaments, 1<<31-1, position)
	if _, err := ParseCursor(cursor.String()); err != nil {
		t.Errorf("%d bytes: %v", len(cursor.String()), err)
	}
}

// The known entry is what shows that an empty page is no mistake.
func TestAFollowersKnownEntryIsTheNewestOfItsPollThatHasAStart(t *testing.T) {
	mock := httpmock.NewMockTransport()
	mock.RegisterResponder(http.MethodGet, "=~.*", httpmock.NewStringResponder(http.StatusOK, `[{"main_race_id":7,"start_time":7},{"main_race_id":9},{"main_race_id":8,"start_time":8}]`).
		Then(httpmock.NewStringResponder(http.StatusOK, `[]`)))
	client, err := NewClient("https://service.test", "key", WithHTTPClient(&http.Client{Transport: mock}), WithSkipHandler(func(context.Context, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	f := client.Races.Follow(FollowQuery{Since: time.UnixMilli(1)})
	for range f.CatchUp(t.Context()) {
	}
	if want := (walk.Position{At: 8, Seen: []string{"8"}}); !cmp.Equal(f.known, want) {
		t.Errorf("known is %+v, want %+v", f.known, want)
	}
}
