package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
)

func open(t *testing.T, path string) *journal {
	t.Helper()
	j, err := openJournal(t.Context(), path, "the service")
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestTheJournalBeginsNothingTwiceAndKeepsTheBudget(t *testing.T) {
	now := time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC)
	r := defaultRules()
	r.perDay, r.inAll, r.atOnce = amount(t, "5"), amount(t, "8"), 2
	e := func(race, horse int64, fee string, start time.Duration) entry {
		return entry{pair{horseracing.RaceID(race), horseracing.HorseNumber(horse)}, amount(t, fee), now.Add(start)}
	}
	path := filepath.Join(t.TempDir(), "a journal?.db")
	j := open(t, path)
	for _, step := range []struct {
		name   string
		entry  entry
		at     time.Duration
		want   string // what speaks against it; empty: it begins
		become state  // what comes of it
	}{
		{"the first", e(1, 1, "3", time.Minute), 0, "", sending},
		{"the same while it is sent", e(1, 1, "3", time.Minute), 0, "as sending", ""},
		{"beyond the budget of the day, for what is being sent counts", e(2, 2, "3", time.Minute), 0, "budget of the day, 5 tokens", ""},
		{"within it", e(2, 2, "2", time.Minute), 0, "", unknown},
		{"the same after its outcome is unknown", e(2, 2, "2", time.Minute), 0, "as unknown", ""},
		{"the next day, beyond the budget in all", e(3, 3, "3.5", 3*time.Hour), 2 * time.Hour, "budget in all, 8 tokens", ""},
		{"the next day, within it", e(3, 3, "3", 3*time.Hour), 2 * time.Hour, "", unsent},
		{"again, for it was not sent", e(3, 3, "3", 3*time.Hour), 2 * time.Hour, "", refused},
		{"not again once it was refused", e(3, 3, "3", 3*time.Hour), 2 * time.Hour, "as refused", ""},
		{"what was refused was not paid", e(4, 1, "1", 3*time.Hour), 2 * time.Hour, "", entered},
		{"a second race of a horse", e(5, 1, "1", 4*time.Hour), 2 * time.Hour, "", entered},
		{"a third at a time", e(6, 1, "0", 4*time.Hour), 2 * time.Hour, "2 other race(s)", ""},
		{"a third when one has started", e(6, 1, "0", 5*time.Hour), 3*time.Hour + time.Minute, "", absent},
		{"not again once it is known to be absent", e(6, 1, "0", 5*time.Hour), 3 * time.Hour, "as absent", ""},
	} {
		against, err := j.begin(t.Context(), step.entry, &r, now.Add(step.at))
		if err != nil || (against == "") != (step.want == "") || !strings.Contains(against, step.want) {
			t.Fatalf("%s: %q, %v; want %q", step.name, against, err, step.want)
		}
		if step.become != "" {
			if err := j.finish(step.entry.pair, step.become, ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	j.close()

	j = open(t, path)
	defer j.close()
	unsettled, err := j.unsettled(t.Context())
	if err != nil || len(unsettled) != 2 || unsettled[0].pair != (pair{1, 1}) || unsettled[1].pair != (pair{2, 2}) {
		t.Errorf("unsettled after the journal was opened again: %v, %v", unsettled, err)
	}
}

func TestAJournalThatIsNotTheBotsIsRefusedAndNotChanged(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openJournal(t.Context(), text, "the service"); err == nil || !strings.Contains(err.Error(), "not a journal") {
		t.Errorf("a text file: %v", err)
	}
	mine := filepath.Join(dir, "mine.db")
	j := open(t, mine)
	if _, err := openJournal(t.Context(), mine, "the service"); err == nil || !strings.Contains(err.Error(), "another run") {
		t.Errorf("a journal that another run has open: %v", err)
	}
	if _, err := j.db.Exec("PRAGMA application_id = 7"); err != nil {
		t.Fatal(err)
	}
	j.close()
	before, _ := os.ReadFile(mine)
	if _, err := openJournal(t.Context(), mine, "the service"); err == nil || !strings.Contains(err.Error(), "not a journal") {
		t.Errorf("another program's database: %v", err)
	}
	if after, _ := os.ReadFile(mine); string(after) != string(before) {
		t.Error("it was changed")
	}
	other := filepath.Join(dir, "other.db")
	open(t, other).close()
	if _, err := openJournal(t.Context(), other, "another service"); err == nil || !strings.Contains(err.Error(), "not with another service") {
		t.Errorf("another service's journal: %v", err)
	}
	missing := filepath.Join(dir, "missing", "journal.db")
	if _, err := openJournal(t.Context(), missing, "the service"); err == nil || errors.Is(err, errForeign) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
