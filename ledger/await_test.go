package ledger_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
	"github.com/horseracing-go/horseracing/ledger"
)

// A context that ends while a registration is under way, after a second, loses no outcome: the
// response decides.
func TestRegisterAwaitsTheResponseWhateverEndsItsContext(t *testing.T) {
	type faults = []horseracingtest.Fault
	late := func(f horseracingtest.Fault) horseracingtest.Fault {
		f.Path, f.Delay = registerPath, 2*time.Second
		return f
	}
	reading := horseracingtest.Fault{Method: http.MethodGet, Path: "/api/v1/races/1", Delay: 2 * time.Second}
	silent := horseracingtest.Fault{Path: registerPath, Delay: time.Hour}
	for name, test := range map[string]struct {
		faults faults
		want   ledger.State
		is     []error // of Register; context.Canceled is the error of the context, whatever that is
		sent   int
		takes  time.Duration
	}{
		"it is entered":                           {faults{late(horseracingtest.Fault{})}, ledger.Entered, nil, 1, 2 * time.Second},
		"it is refused":                           {faults{late(horseracingtest.Fault{Status: 403})}, ledger.Refused, []error{horseracing.ErrForbidden}, 1, 2 * time.Second},
		"it is refused, and the race is read":     {faults{late(horseracingtest.Fault{Status: 409}), reading}, ledger.Refused, nil, 1, 4 * time.Second},
		"rate limited, it is not sent again":      {faults{late(horseracingtest.Fault{Status: 429})}, ledger.Refused, nil, 1, 2 * time.Second},
		"rate limited, and its context ends then": {faults{{Path: registerPath, Status: 429, Header: http.Header{"Retry-After": {"3"}}}}, ledger.Refused, nil, 1, time.Second},
		"the second attempt is under way":         {faults{{Path: registerPath, Status: 429}, late(horseracingtest.Fault{})}, ledger.Entered, nil, 2, 2 * time.Second},
		"the service fails":                       {faults{late(horseracingtest.Fault{Status: 500})}, ledger.Unknown, []error{horseracing.ErrOutcomeUnknown, horseracing.ErrServer}, 1, 2 * time.Second},
		"there is no response":                    {faults{silent}, ledger.Unknown, []error{horseracing.ErrOutcomeUnknown, context.Canceled}, 1, 30 * time.Second},
		"the connection breaks":                   {faults{late(horseracingtest.Fault{ResetAfter: true})}, ledger.Unknown, []error{horseracing.ErrOutcomeUnknown, context.Canceled, io.EOF}, 1, 2 * time.Second},
		"the race cannot be read":                 {faults{late(horseracingtest.Fault{Status: 409}), {Method: http.MethodGet, Delay: time.Hour}}, ledger.Unknown, []error{horseracing.ErrOutcomeUnknown}, 1, 32 * time.Second},
	} {
		for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
			double.Run(t, name+"/"+end.Error(), func(t *testing.T) {
				fake, path, l := newLedger(t, 1)
				fake.Inject(test.faults...)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				if end == context.Canceled {
					ctx, cancel = context.WithCancel(t.Context())
					time.AfterFunc(time.Second, cancel)
				}
				defer cancel()
				began := time.Now()
				e, err := l.Register(ctx, registration(fake, 1), tokens(10))
				if took := time.Since(began).Round(time.Second); e.State != test.want || took != test.takes || posts(fake) != test.sent {
					t.Errorf("%s after %v and %d requests: %v", e.State, took, posts(fake), err)
				}
				if (err == nil) != (test.want == ledger.Entered) {
					t.Errorf("%s: %v", e.State, err)
				}
				for _, is := range test.is {
					if is == context.Canceled {
						is = end
					}
					if !errors.Is(err, is) {
						t.Errorf("%v is not %v", err, is)
					}
				}
				expectStates(t, open(t, path, fake.Client()), "1 "+string(test.want))
			})
		}
	}
}
