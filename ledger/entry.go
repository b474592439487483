package ledger

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing"
)

// Entry is the registration of a horse in a race.
type Entry struct {
	Time  time.Time               `json:"time"` // when it was sent
	Horse horseracing.HorseNumber `json:"horse"`
	Race  horseracing.RaceID      `json:"race"`
	Fee   horseracing.BigInt      `json:"fee"`
	State State                   `json:"state"`
	Note  string                  `json:"note,omitzero"` // reason for the state; often empty
}

// State is the state of an entry.
type State string

// The states of an entry.
const (
	Sending State = "sending" // being sent
	Entered State = "entered" // the horse is in the race and the fee is paid
	Refused State = "refused" // refused by the service, or certainly not sent
	Unknown State = "unknown" // the fee may be paid
	Absent  State = "absent"  // the horse is certainly not in the race
)

// pair is the key of an entry.
type pair struct {
	horse horseracing.HorseNumber
	race  horseracing.RaceID
}

func (e Entry) pair() pair { return pair{e.Horse, e.Race} }

// sorted returns the entries in the order in which they were sent.
func sorted(entries map[pair]Entry) []Entry {
	list := slices.AppendSeq([]Entry{}, maps.Values(entries))
	slices.SortFunc(list, func(a, b Entry) int { return a.Time.Compare(b.Time) })
	return list
}

// Sum adds up the fees of entries that were sent at or after since: paid those of Entered
// ones, and held those of Sending and Unknown ones, which may be paid. Budgets count both.
func Sum(entries iter.Seq[Entry], since time.Time) (paid, held horseracing.BigInt) {
	for e := range entries {
		switch {
		case e.Time.Before(since):
		case e.State == Entered:
			paid = paid.Add(e.Fee)
		case e.State == Sending || e.State == Unknown:
			held = held.Add(e.Fee)
		}
	}
	return paid, held
}
