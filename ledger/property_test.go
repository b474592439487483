package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Whatever becomes of registrations, and wherever the program ends and starts again:
// after Settle the ledger's entered pairs are those that were paid, each once, within
// the budget.
func TestAfterSettleWhatIsEnteredIsWhatWasPaid(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		files := 0
		bubble := struct{ testing.TB }{t} // without Deadline, which panics in a bubble
		rapid.Check(bubble, func(rt *rapid.T) {
			fake := newFake(t, 8)
			defer fake.Close()
			budget := rapid.Int64Range(0, 60).Draw(rt, "budget")
			path, sending := "", "" // the file, and what it held when a registration left last
			client := fake.Client(horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					if r.Method == http.MethodPost {
						sending = read(t, path)
					}
					return next.RoundTrip(r)
				})
			}))
			start := func(content string) *ledger.Ledger {
				files++
				path = filepath.Join(dir, fmt.Sprint(files))
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					rt.Fatal(err)
				}
				l, err := ledger.Open(path, client, ledger.WithBudget(tokens(budget)))
				if err != nil {
					rt.Fatal(err)
				}
				return l
			}
			l := start("")
			defer func() { l.Close() }()
			register := func(rt *rapid.T) {
				fault := rapid.SampledFrom([]*horseracingtest.Fault{
					nil, {Status: 409}, {Status: 503}, {ResetBefore: true}, {ResetAfter: true}, {CutBody: 3}, {Delay: time.Minute},
					{TakesEffectAfter: 10 * time.Minute}, {TakesEffectAfter: 2 * time.Hour},
				}).Draw(rt, "fault")
				if fault != nil {
					fault.Path = registerPath
					fake.Inject(*fault)
				}
				r := registration(fake, rapid.IntRange(1, 8).Draw(rt, "race"))
				before := posts(fake)
				checked := l.Check(r, tokens(10))
				_, err := l.Register(t.Context(), r, tokens(10))
				fake.ClearFaults()
				if sent := posts(fake) > before; sent != (checked == nil) {
					rt.Fatalf("Check: %v, but sent is %v", checked, sent)
				}
				if checked != nil && fmt.Sprint(err) != checked.Error() {
					rt.Fatalf("Check: %v, Register: %v", checked, err)
				}
			}
			torn := rapid.SampledFrom([]string{"", `{"v":1,"se`, `{"v":1,"service":"http://localhost","time":"2000-01-01T00:00:00Z","horse":1,`})
			rt.Repeat(map[string]func(*rapid.T){
				"": func(rt *rapid.T) {
					if paid := int64(10 * len(fake.Registrations())); paid > budget {
						rt.Fatalf("paid %d of a budget of %d", paid, budget)
					}
				},
				"register":       register,
				"register again": register,
				"killed between calls": func(rt *rapid.T) {
					l.Close()
					l = start(read(t, path) + torn.Draw(rt, "torn"))
				},
				"killed while sending": func(rt *rapid.T) {
					sending = ""
					register(rt)
					l.Close()
					if sending == "" {
						sending = read(t, path)
					}
					l = start(sending + torn.Draw(rt, "torn"))
				},
				"settle for a while": func(*rapid.T) {
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
					defer cancel()
					if err := l.Settle(ctx); err != nil && !errors.Is(err, horseracing.ErrOutcomeUnknown) {
						rt.Fatal(err)
					}
				},
				"wait": func(*rapid.T) { time.Sleep(7 * time.Minute) },
			})
			if err := l.Settle(t.Context()); err != nil {
				rt.Fatal(err)
			}
			var entered, paid []horseracing.RaceID
			for e := range l.Entries() {
				if e.State == ledger.Unknown || e.State == ledger.Sending {
					rt.Errorf("race %d is still %s", e.Race, e.State)
				}
				if e.State == ledger.Entered {
					entered = append(entered, e.Race)
				}
			}
			for _, r := range fake.Registrations() {
				paid = append(paid, r.Race)
			}
			slices.Sort(entered)
			slices.Sort(paid)
			if diff := cmp.Diff(paid, entered); diff != "" {
				rt.Errorf("what was paid and what is entered differ (-paid +entered):\n%s", diff)
			}
			if sum := l.Paid(time.Time{}); !sum.Equal(tokens(int64(10 * len(paid)))) {
				rt.Errorf("Paid is %s for %d registrations", sum, len(paid))
			}
		})
	})
}
