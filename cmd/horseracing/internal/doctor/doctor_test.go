package doctor

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/connection"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// examine runs the doctor on a service with readings and a fault, one of whose open races is past
// its deadline. The fault hits all requests, unless it has Times.
func examine(t *testing.T, readings horseracingtest.Readings, fault *horseracingtest.Fault) []finding {
	t.Helper()
	fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithReadings(readings), horseracingtest.WithHistory(400))
	defer fake.Close()
	fake.Advance(24 * time.Hour) // in which races finish as late as they do
	at := func(d time.Duration) horseracing.Timestamp { return horseracing.NewTimestamp(fake.Now().Add(d)) }
	fake.AddRaces(horseracing.Race{
		MainRaceID: 50_001, StartTime: at(time.Minute), RegistrationDeadline: at(-time.Minute), EntryFee: horseracing.NewBigInt(25e17),
		Participants: []horseracing.RaceParticipant{{Number: 1}},
	})
	if fault != nil {
		fault.Times = cmp.Or(fault.Times, -1)
		fake.Inject(*fault)
	}
	d := New(func(string) {})
	report, err := d.Examine(t.Context(), &connection.Service{Client: fake.Client(d.Options()...)})
	if err != nil && !errors.Is(err, ErrDown) {
		t.Fatal(err)
	}
	return report.Findings
}

// A command of the file is the topic of a check, or all of them, and what is then different.
func TestEachCheckNoticesAnotherReading(t *testing.T) {
	double.Transcript(t, "testdata/readings.txt", func(command string) (found string) {
		topic, text, _ := strings.Cut(command, " {")
		var different struct {
			Readings horseracingtest.Readings
			Fault    *horseracingtest.Fault
		}
		double.Equal(t, command, nil, json.Unmarshal([]byte("{"+text), &different))
		for _, f := range examine(t, different.Readings, different.Fault) {
			if f.Topic == topic || topic == "all" {
				found += fmt.Sprintf("%s: %s: %s\n", f.Topic, f.Mark, f.Text)
			}
			double.FailIf(t, (f.Mark == odd || f.Mark == bad) && f.Advice == "", "%s: %s: what is different for the user?", f.Topic, f.Text)
		}
		return found
	})
}
