package ledger_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
	"github.com/horseracing-go/horseracing/ledger"
)

// The race is read just before a registration is noted. Unless it can be entered for the fee, nothing is sent or noted.
func TestRegisterLooksBeforeItPays(t *testing.T) {
	race := func(status int, body string) horseracingtest.Fault {
		return horseracingtest.Fault{Method: http.MethodGet, Path: "/api/v1/races/1", Status: status, Body: body, Times: -1}
	}
	for name, test := range map[string]struct {
		entered bool // by somebody else
		fault   horseracingtest.Fault
		want    error
	}{
		"it is open":        {false, horseracingtest.Fault{Method: http.MethodGet, Path: "/none", Status: 500}, nil},
		"it lists it":       {true, horseracingtest.Fault{Method: http.MethodGet, Path: "/none", Status: 500}, ledger.ErrEntered},
		"another fee":       {false, race(200, `[{"main_race_id":1,"entry_fee":11}]`), ledger.ErrFee},
		"there is no race":  {false, race(404, ""), horseracing.ErrNotFound},
		"it is unreadable":  {false, race(200, `[{"main_race_id":1,"entry_fee":{}}]`), cmpopts.AnyError},
		"it has no id":      {false, race(200, `{"entry_fee":10}`), cmpopts.AnyError},
		"it has an outage":  {false, race(400, ""), cmpopts.AnyError},
		"it is not allowed": {false, race(403, ""), horseracing.ErrForbidden},
	} {
		double.Run(t, name, func(t *testing.T) {
			fake := newFake(t, 1)
			db := create(t, fake.Client())
			l := double.Must(ledger.Open(t.Context(), db, fake.Client()))
			if test.entered {
				double.Must(fake.Client().Races.Register(t.Context(), registration(fake, 1)))
			}
			fake.Inject(test.fault)
			fake.ResetLog()
			_, err := register(t, l, fake, 1)
			expectError(t, test.want, err)
			sent := 0
			if test.want == nil {
				sent = 1
			}
			expectSent(t, fake, sent)
			double.Equal(t, "noted", sent, len(read(t, db)))
			double.Equal(t, "past caches", "no-cache", requests(fake, http.MethodGet)[0].Header.Get("Cache-Control"))
		})
	}
}
