package transport

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestPatienceExcusesOneRetryAfterOfUpToAnHourBetweenTwoPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Patience{Most: time.Minute}
		expect := func(what string, got, want any) {
			if t.Helper(); got != want {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
		p.begin()
		expect("left", p.left(), time.Minute)
		expect("a failure", p.excuse(0), false)
		expect("more than an hour", p.excuse(maxHeeded+1), false)
		expect("an hour", p.excuse(maxHeeded), true)
		expect("left after an hour is excused", p.left(), time.Minute+maxHeeded)
		expect("another one", p.excuse(time.Second), false)
		time.Sleep(time.Second)
		p.begin() // beside the first
		expect("left to both", p.left(), 59*time.Second+maxHeeded)
		expect("one line is logged", []bool{p.warn(), p.warn()}[1], false)
		expect("a page before", p.wasAccepted(), false)
		expect("it was logged", p.accept(), true)
		expect("a page", p.wasAccepted(), true)
		expect("left after a page", p.left(), time.Minute)
		expect("one after a page", p.excuse(time.Second), true)
		p.end()
		p.end()
		time.Sleep(time.Hour)
		p.begin()
		expect("left to a later call", p.left(), time.Minute)
		time.Sleep(time.Minute)
		expect("at the deadline", p.excuse(time.Second), true)
		p.accept()
		time.Sleep(time.Minute + 1)
		expect("after the deadline", p.excuse(time.Second), false)
	})
}
