package horseracing

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whatever is wrong with an entry, what can be read of its place is.
func TestPartOfAnEntryIsReadAroundWhatIsWrong(t *testing.T) {
	for _, test := range []struct {
		entry string
		start int64
		id    RaceID
	}{
		{`{"start_time":1767225600250,"main_race_id":7,"length":"x"}`, 1767225600250, 7},
		{`{"start_time":"soon","main_race_id":7}`, 0, 7},
		{`{"start_time":1767225600250,"main_race_id":"x"}`, 1767225600250, 0},
		{`{"length":1,"length":2,"start_time":1767225600250,"main_race_id":7}`, 1767225600250, 7},
		{`{"start_time":1,"start_time":2,"main_race_id":7}`, 2, 7},
		{`{"info":{"start_time":3,"main_race_id":4}}`, 0, 0},
		{`{"start_time":null,"main_race_id":null}`, 0, 0},
		{`null`, 0, 0}, {`[]`, 0, 0}, {`7`, 0, 0}, {`""`, 0, 0}, {`{}`, 0, 0},
	} {
		part := partOf[Race]([]byte(test.entry), "start_time", "main_race_id")
		want := Race{MainRaceID: test.id}
		if test.start != 0 {
			want.StartTime = timestampOf(test.start)
		}
		if diff := cmp.Diff(&want, part); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.entry, diff)
		}
	}
	cup := partOf[Tournament]([]byte(`{"_id":"x","start_time":5,"turf":"grass"}`), "start_time", "_id")
	if cup.ID != "x" || !cup.StartTime.Equal(timestampOf(5).Time) {
		t.Errorf("of a tournament: %+v", cup)
	}
}
