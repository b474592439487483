package horseracing_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// lists are the operations that return a list, each with the member of odd that it cannot read.
var lists = map[string]string{"Races.Open": "/entry_fee", "Horses.Owned": "/level", "Horses.OpenForBreeding": "/price", "Tournaments.Open": "/entry_fee"}

// good is an entry of any list, and odd one that cannot be read.
const (
	good = `{"_id":"1","number":1,"main_race_id":1}`
	odd  = `{"_id":"4711","number":4711,"main_race_id":4711,"price":{},"level":{},"entry_fee":{}}`
)

func TestListLeavesOutAnUnreadableEntryOnlyWithAHandler(t *testing.T) {
	for list, member := range lists {
		call := operations()[list].Call
		others, _ := call(t.Context(), responding(t, double.List(good, good)))
		for _, test := range []struct{ entry, id, field string }{
			{odd, "4711", "/1" + member}, {"null", "", "/1"}, {`{"weather":"fine"}`, "", "/1"}, {`["x"]`, "", "/1"},
		} {
			body := "[" + good + ", " + test.entry + " ," + good + "]"
			var skipped []error
			handler := horseracing.WithSkipHandler(func(_ context.Context, err error) { skipped = append(skipped, err) })
			got, err := call(t.Context(), responding(t, body, handler))
			double.Equal(t, list+": the other entries", others, got)
			if err != nil || len(skipped) != 1 {
				t.Fatalf("%s: error %v, skipped %v", list, err, skipped)
			}
			d, _ := errors.AsType[*horseracing.DecodeError](skipped[0])
			double.Equal(t, list+": skipped", []string{test.id, test.field, test.entry}, []string{d.ID, d.Field, string(d.Raw)})
			got, err = call(t.Context(), responding(t, body))
			double.Equal(t, list+": error without a handler", skipped[0].Error(), fmt.Sprint(err))
			double.Equal(t, list+": list without a handler", true, reflect.ValueOf(got).IsNil())
		}
	}
}

func TestListIsEmptyIfTheResponseIsNullOrHasNoContent(t *testing.T) {
	for list := range lists {
		for _, empty := range []httpmock.Responder{httpmock.NewStringResponder(200, " null\n"), httpmock.NewStringResponder(204, ""), httpmock.NewStringResponder(200, "[]")} {
			got := double.Must(operations()[list].Call(t.Context(), double.Client(t, empty)))
			double.Equal(t, list, 0, reflect.ValueOf(got).Len())
		}
		_, err := operations()[list].Call(t.Context(), double.Client(t, httpmock.NewStringResponder(404, "[]")))
		double.Error(t, list, horseracing.ErrNotFound, "", err)
	}
}

func TestListThatIsNotAnArrayIsOneError(t *testing.T) {
	for list := range lists {
		for _, body := range []string{"7", `"null"`, "{}", `{"status":503}`, "[" + odd + "," + good, "[" + good + "," + odd[:len(odd)-1], "[" + odd + "] x", "[" + good + "," + odd + ",]"} {
			got, err := operations()[list].Call(t.Context(), responding(t, body, double.NoRetries()))
			d, ok := errors.AsType[*horseracing.DecodeError](err)
			if !reflect.ValueOf(got).IsNil() || !ok || d.Raw != nil || d.ID != "" {
				t.Errorf("%s: %s: %v, %v", list, body, got, err)
			}
		}
	}
}

// guarantees/keys has keys in it.
func TestDecodeErrorRawIsKeptUpTo64KiB(t *testing.T) {
	const begin, end = `{"note":"`, `","entry_fee":{}}`
	for size, isKept := range map[int]bool{64 << 10: true, 64<<10 + 1: false} {
		entry := begin + strings.Repeat("x", size-len(begin+end)) + end
		_, err := responding(t, "["+entry+"]").Races.Open(t.Context())
		d, ok := errors.AsType[*horseracing.DecodeError](err)
		if !ok || isKept && string(d.Raw) != entry || !isKept && d.Raw != nil {
			t.Errorf("%d bytes: %d are kept, %v", size, len(d.Raw), err)
		}
	}
}
