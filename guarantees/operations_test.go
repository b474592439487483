package guarantees_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
)

// operationTest is one operation as a call: what it sends, what comes back, and
// what the caller gets. The tests outside this package range over them too, so
// that adding an operation is: its method, its row, its files in testdata, and
// its route in the fake.
type operationTest struct {
	Name     string
	Call     func(context.Context, *horseracing.Client, callIDs) (any, error)
	Further  func(ctx context.Context, c *horseracing.Client, n int) (any, error) // of a paged listing: its first n entries
	Method   string
	Path     string // called with testdataIDs
	Body     string // empty: none is sent
	Response string // the file in testdata
	Want     any
}

// callIDs are what the operations are called with.
type callIDs struct {
	Horse      horseracing.HorseNumber
	Race       horseracing.RaceID
	Tournament horseracing.TournamentID
	UserKey    horseracing.UserKey
}

// testdataIDs are those in the files of testdata.
var testdataIDs = callIDs{Horse: 1042, Race: 880200, Tournament: "64aa10f2c3d4e5f601234999", UserKey: `user "key" <1>`}

// Operations returns all of them. Each resource has its own table: in
// horses_test.go, races_test.go, tournaments_test.go and missions_test.go.
func operations() []operationTest {
	return slices.Concat(horseOperations, raceOperations, tournamentOperations, missionOperations)
}

func TestEveryOperationSendsAndReadsWhatIsDocumented(t *testing.T) {
	for _, test := range operations() {
		t.Run(test.Name, func(t *testing.T) {
			var sent []*http.Request
			var body []byte
			mock := httpmock.NewMockTransport()
			mock.RegisterNoResponder(func(r *http.Request) (*http.Response, error) {
				sent = append(sent, r)
				if r.Body != nil {
					body, _ = io.ReadAll(r.Body)
				}
				return httpmock.NewBytesResponse(http.StatusOK, payload(t, test.Response)), nil
			})
			client, err := horseracing.NewClient(service+"/a%2Fb/", appKey, horseracing.WithHTTPClient(&http.Client{Transport: mock}))
			if err != nil {
				t.Fatal(err)
			}

			got, err := test.Call(t.Context(), client, testdataIDs)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.Want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if len(sent) != 1 {
				t.Fatalf("%d requests were sent, want one", len(sent))
			}
			request := sent[0]
			if request.Method != test.Method {
				t.Errorf("method %s, want %s", request.Method, test.Method)
			}
			if got, want := request.URL.String(), service+"/a%2Fb"+test.Path; got != want {
				t.Errorf("URL %s, want %s", got, want)
			}
			wantHeader := http.Header{
				"X-Api-Key":    {appKey},
				"Content-Type": {"application/json"},
				"Accept":       {"application/json"},
				"User-Agent":   {"horseracing-go/" + horseracing.Version},
			}
			if diff := cmp.Diff(wantHeader, request.Header); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			if string(body) != test.Body {
				t.Errorf("body %s, want %s", body, test.Body)
			}
			// With a known length the body does not go out in chunks,
			// which fewer servers expect of a GET.
			if request.ContentLength != int64(len(test.Body)) {
				t.Errorf("Content-Length %d, want %d", request.ContentLength, len(test.Body))
			}
		})
	}
}

// What is made of several requests has tests of its own.
func TestEveryMethodOfAServiceIsInTheTable(t *testing.T) {
	composed := map[string]bool{"Horses.GetMany": true, "Races.Settle": true, "Races.Follow": true, "Races.WatchOpen": true, "Races.Watcher": true}
	inTable := map[string]bool{}
	for _, op := range operations() {
		inTable[op.Name] = true
	}
	for service := range reflect.TypeFor[horseracing.Client]().Fields() {
		if !service.IsExported() {
			continue
		}
		for method := range service.Type.Methods() {
			name := service.Name + "." + method.Name
			if inTable[name] == composed[name] {
				t.Errorf("%s: in the table %t, made of several requests %t", name, inTable[name], composed[name])
			}
		}
	}
}

// The table above compares every field; this shows that it compares more than
// zero values: each field of each type is set in at least one expected result.
func TestTheOperationTableCoversEveryField(t *testing.T) {
	set, all := map[string]bool{}, map[string]bool{}
	for _, test := range operations() {
		noteFields(reflect.ValueOf(test.Want), set, all)
	}
	for field := range all {
		if !set[field] {
			t.Errorf("no expected result sets %s", field)
		}
	}
	if len(all) < 90 {
		t.Errorf("only %d fields seen: the types have more", len(all))
	}
}

// noteFields walks a value and notes the exported fields of this package's
// types: all of them, and those that are not zero.
func noteFields(v reflect.Value, set, all map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			noteFields(v.Elem(), set, all)
		}
	case reflect.Slice:
		for i := range v.Len() {
			noteFields(v.Index(i), set, all)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() || v.Type().PkgPath() != reflect.TypeFor[horseracing.Race]().PkgPath() {
				continue
			}
			name := v.Type().Name() + "." + field.Name
			all[name] = true
			set[name] = set[name] || !v.Field(i).IsZero()
			noteFields(v.Field(i), set, all)
		}
	}
}

// payload returns a file of testdata.
func payload(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(data)
}

// decode reads a body as the SDK does.
func decode(body []byte, out any) error {
	c, err := horseracing.NewClient(service, appKey, horseracing.WithHTTPClient(&http.Client{Transport: sameResponse(body)}))
	if err != nil {
		return err
	}
	return c.Do(context.Background(), http.MethodGet, "/", nil, out)
}

// responding returns a client whose every call gets a response with status 200 and
// that body.
func responding(t testing.TB, body string, opts ...horseracing.Option) *horseracing.Client {
	t.Helper()
	return connect(t, service, &http.Client{Transport: sameResponse(body)}, opts...)
}

// sameResponse is a service whose response to everything is the same.
type sameResponse string

func (body sameResponse) RoundTrip(req *http.Request) (*http.Response, error) {
	return respond(http.StatusOK, string(body))(req)
}

func bigInt(text string) horseracing.BigInt {
	var b horseracing.BigInt
	if err := b.UnmarshalText([]byte(text)); err != nil {
		panic(err)
	}
	return b
}

func number(text string) horseracing.Number {
	var n horseracing.Number
	if err := n.UnmarshalText([]byte(text)); err != nil {
		panic("number " + strconv.Quote(text) + ": " + err.Error())
	}
	return n
}

func at(milliseconds int64) horseracing.Timestamp {
	return horseracing.NewTimestamp(time.UnixMilli(milliseconds))
}

func containsAll(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
