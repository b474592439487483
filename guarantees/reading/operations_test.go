package reading_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// operationTest is one operation as a call: what it sends and what comes back.
// Other tests range over them too, so that adding an operation is: its method, its
// row, its file in testdata, and its route in the fake.
type operationTest struct {
	Name     string
	Call     func(context.Context, *horseracing.Client, callIDs) (any, error)
	Further  func(ctx context.Context, c *horseracing.Client, n int) (any, error) // of a paged listing: its first n entries
	Method   string
	Path     string // called with testdataIDs
	Body     string // empty: none is sent
	Response string // the file in testdata
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

// operations returns all of them.
func operations() []operationTest {
	type ctx = context.Context
	type client = *horseracing.Client
	v2 := horseracing.ResultsQuery{Tier: horseracing.TierOmega, Before: time.UnixMilli(1767225600251)}
	v1 := horseracing.OffsetQuery{Tier: horseracing.TierOmega, Offset: 20}
	return []operationTest{{
		Name: "Horses.Get", Method: "GET", Path: "/api/v1/horses/1042", Response: "horse.json",
		Call: func(ctx ctx, c client, of callIDs) (any, error) { return c.Horses.Get(ctx, of.Horse) },
	}, {
		Name: "Horses.Owned", Method: "GET", Path: "/api/v1/horses/user", Response: "horses_user.json",
		Body: `{"user_key":"user \"key\" <1>"}`,
		Call: func(ctx ctx, c client, of callIDs) (any, error) { return c.Horses.Owned(ctx, of.UserKey) },
	}, {
		Name: "Horses.Missions", Method: "GET", Path: "/api/v1/horses/missions/1042", Response: "horse_missions.json",
		Call: func(ctx ctx, c client, of callIDs) (any, error) { return c.Horses.Missions(ctx, of.Horse) },
	}, {
		Name: "Horses.OpenForBreeding", Method: "GET", Path: "/api/v1/horses/breeding/open", Response: "breeding_open.json",
		Call: func(ctx ctx, c client, _ callIDs) (any, error) { return c.Horses.OpenForBreeding(ctx) },
	}, {
		Name: "Races.Results", Method: "GET", Path: "/api/v2/races/results", Response: "races_results_v2.json",
		Body: `{"tier":5,"start_time_from":1767225600251}`,
		Call: func(ctx ctx, c client, _ callIDs) (any, error) { return c.Races.Results(v2).Take(ctx, 2) },
		Further: func(ctx ctx, c client, n int) (any, error) {
			return c.Races.Results(horseracing.ResultsQuery{}).Take(ctx, n)
		},
	}, {
		Name: "Races.ResultsV1", Method: "GET", Path: "/api/v1/races/results", Response: "races_results_v1.json",
		Body: `{"tier":5,"offset":20}`,
		Call: func(ctx ctx, c client, _ callIDs) (any, error) { return c.Races.ResultsV1(v1).Take(ctx, 1) },
		Further: func(ctx ctx, c client, n int) (any, error) {
			return c.Races.ResultsV1(horseracing.OffsetQuery{}).Take(ctx, n)
		},
	}, {
		Name: "Races.Open", Method: "GET", Path: "/api/v1/races/open", Response: "races_open.json",
		Call: func(ctx ctx, c client, _ callIDs) (any, error) { return c.Races.Open(ctx) },
	}, {
		Name: "Races.Get", Method: "GET", Path: "/api/v1/races/880200", Response: "race.json",
		Call: func(ctx ctx, c client, of callIDs) (any, error) { return c.Races.Get(ctx, of.Race) },
	}, {
		Name: "Races.Register", Method: "POST", Path: "/api/v1/races/register", Response: "register.json",
		Body: `{"horse_number":1042,"user_key":"user \"key\" <1>","main_race_id":880200}`,
		Call: func(ctx ctx, c client, of callIDs) (any, error) {
			receipt, err := c.Races.Register(ctx, horseracing.Registration{Horse: of.Horse, Race: of.Race, UserKey: of.UserKey})
			if err != nil {
				return nil, err
			}
			return receipt.Body, nil
		},
	}, {
		Name: "Tournaments.Results", Method: "GET", Path: "/api/v1/tournaments/results", Response: "tournaments_results.json",
		Body: `{"tier":5,"start_time_from":1767225600251}`,
		Call: func(ctx ctx, c client, _ callIDs) (any, error) { return c.Tournaments.Results(v2).Take(ctx, 1) },
		Further: func(ctx ctx, c client, n int) (any, error) {
			return c.Tournaments.Results(horseracing.ResultsQuery{}).Take(ctx, n)
		},
	}, {
		Name: "Tournaments.Open", Method: "GET", Path: "/api/v1/tournaments/open", Response: "tournaments_open.json",
		Call: func(ctx ctx, c client, _ callIDs) (any, error) { return c.Tournaments.Open(ctx) },
	}, {
		Name: "Tournaments.Get", Method: "GET", Path: "/api/v1/tournaments/64aa10f2c3d4e5f601234999", Response: "tournament.json",
		Call: func(ctx ctx, c client, of callIDs) (any, error) { return c.Tournaments.Get(ctx, of.Tournament) },
	}, {
		Name: "Missions.Catalogue", Method: "GET", Path: "/api/v1/missions", Response: "missions.json",
		Call: func(ctx ctx, c client, _ callIDs) (any, error) { return c.Missions.Catalogue(ctx) },
	}}
}

// The result is encoded again to be compared with the response: nothing of it may
// be lost. That each member is in the right field is shown below.
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
			client, err := horseracing.NewClient(double.Service+"/a%2Fb/", double.AppKey, horseracing.WithHTTPClient(&http.Client{Transport: mock}))
			if err != nil {
				t.Fatal(err)
			}

			got, err := test.Call(t.Context(), client, testdataIDs)
			if err != nil {
				t.Fatal(err)
			}
			encoded, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			want := exactJSON(t, payload(t, test.Response))
			if test.Name == "Races.Get" { // whose response is a list of one
				want = want.([]any)[0]
			}
			if diff := cmp.Diff(settled(want), exactJSON(t, encoded), byNumber); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if len(sent) != 1 {
				t.Fatalf("%d requests were sent, want one", len(sent))
			}
			request := sent[0]
			if request.Method != test.Method {
				t.Errorf("method %s, want %s", request.Method, test.Method)
			}
			if got, want := request.URL.String(), double.Service+"/a%2Fb"+test.Path; got != want {
				t.Errorf("URL %s, want %s", got, want)
			}
			wantHeader := http.Header{
				"X-Api-Key":    {double.AppKey},
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
	composed := map[string]bool{"Horses.GetMany": true, "Races.Settle": true, "Races.Follow": true, "Tournaments.Follow": true, "Races.WatchOpen": true, "Races.Watcher": true}
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

// A field has the name of its member, or of its end.
func TestEveryFieldIsNamedAsItsMember(t *testing.T) {
	fields := 0
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] || typ.PkgPath() != reflect.TypeFor[horseracing.Race]().PkgPath() {
			return
		}
		seen[typ] = true
		for f := range typ.Fields() {
			if !f.IsExported() || f.Anonymous { // of Timestamp, say
				continue
			}
			fields++
			member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if end := strings.ToLower(f.Name); !strings.HasSuffix(strings.ReplaceAll(member, "_", ""), end) {
				t.Errorf("%v.%s is read from %q", typ, f.Name, member)
			}
			visit(f.Type)
		}
	}
	for _, typ := range payloadTypes {
		visit(typ)
	}
	if fields < 90 {
		t.Errorf("only %d fields seen: the types have more", fields)
	}
}

// payload returns a file of testdata.
func payload(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(data)
}

// decode reads a body as the SDK does.
func decode(body []byte, out any) error {
	c, err := horseracing.NewClient(double.Service, double.AppKey, horseracing.WithHTTPClient(&http.Client{Transport: sameResponse(body)}))
	if err != nil {
		return err
	}
	return c.Do(context.Background(), http.MethodGet, "/", nil, out)
}

// responding returns a client whose every call gets a response with status 200 and
// that body.
func responding(t testing.TB, body string, opts ...horseracing.Option) *horseracing.Client {
	t.Helper()
	return double.Connect(t, double.Service, &http.Client{Transport: sameResponse(body)}, opts...)
}

// sameResponse is a service whose response to everything is the same.
type sameResponse string

func (body sameResponse) RoundTrip(req *http.Request) (*http.Response, error) {
	return double.Respond(http.StatusOK, string(body))(req)
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
