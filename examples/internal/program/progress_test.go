package program

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgressIsALineEveryFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := NewProgress(&out, "races")
		for range 12 {
			time.Sleep(time.Second)
			p.Add(90, "back to 2026-01-31", "")
		}
		const want = "450 races, 90 a second, back to 2026-01-31\n900 races, 90 a second, back to 2026-01-31\n"
		if out.String() != want || p.Done() != 1080 || p.Took() != 12*time.Second {
			t.Errorf("%d in %v:\n%swant\n%s", p.Done(), p.Took(), out.String(), want)
		}
	})
}
