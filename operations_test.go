package horseracing

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

	"github.com/google/go-cmp/cmp"
	"github.com/jarcoal/httpmock"
)

const testAPIKey = "app-key-8f41"

// OperationTest is one operation as a call: what it sends, what comes back, and
// what the caller gets. The tests outside this package range over them too, so
// that adding an operation is: its method, its row, its files in testdata, and
// its route in the fake.
type OperationTest struct {
	Name     string
	Variant  bool // of a row above: the same operation with another response or id
	Call     func(context.Context, *Client, IDs) (any, error)
	Further  func(ctx context.Context, c *Client, n int) (any, error) // of a paged listing: its first n entries
	Method   string
	Path     string // called with TestdataIDs
	Body     string // empty: none is sent
	Response string // the file in testdata
	Want     any
}

// IDs are what the operations are called with.
type IDs struct {
	Horse      HorseNumber
	Race       RaceID
	Tournament TournamentID
	UserKey    UserKey
}

// TestdataIDs are those in the files of testdata.
var TestdataIDs = IDs{Horse: 1042, Race: 880200, Tournament: "64aa10f2c3d4e5f601234999", UserKey: `user "key" <1>`}

// Operations returns all of them. Each resource has its own table: in
// horses_test.go, races_test.go, tournaments_test.go and missions_test.go.
func Operations() []OperationTest {
	return slices.Concat(horseOperations, raceOperations, tournamentOperations, missionOperations)
}

func TestEveryOperationSendsWhatTheInterfaceDocumentsAndReturnsEveryField(t *testing.T) {
	for _, base := range []string{"https://api.example.test", "https://gateway.example.test/racing/v9", "https://gateway.example.test/a%2Fb/"} {
		for _, test := range Operations() {
			t.Run(test.Name+" at "+base, func(t *testing.T) {
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
				client, err := NewClient(base, testAPIKey, WithHTTPClient(&http.Client{Transport: mock}))
				if err != nil {
					t.Fatal(err)
				}

				got, err := test.Call(t.Context(), client, TestdataIDs)
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
				if got, want := request.URL.String(), trimSlash(base)+test.Path; got != want {
					t.Errorf("URL %s, want %s", got, want)
				}
				wantHeader := http.Header{
					"X-Api-Key":    {testAPIKey},
					"Content-Type": {"application/json"},
					"Accept":       {"application/json"},
					"User-Agent":   {"horseracing-go/" + Version},
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
}

// What is made of several requests has tests of its own.
func TestEveryMethodOfAServiceIsInTheTable(t *testing.T) {
	composed := map[string]bool{"Horses.GetMany": true, "Races.Settle": true, "Races.Follow": true, "Races.WatchOpen": true, "Races.Watcher": true}
	inTable := map[string]bool{}
	for _, op := range Operations() {
		inTable[op.Name] = true
	}
	for service := range reflect.TypeFor[Client]().Fields() {
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
	for _, test := range Operations() {
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
			if !field.IsExported() || v.Type().PkgPath() != reflect.TypeFor[Race]().PkgPath() {
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
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(data)
}

// responding returns a client whose every call gets a response with status 200 and
// that body.
func responding(t testing.TB, body string, opts ...Option) *Client {
	t.Helper()
	mock := httpmock.NewMockTransport()
	mock.RegisterNoResponder(httpmock.NewStringResponder(http.StatusOK, body))
	client, err := NewClient("https://api.example.test", testAPIKey, append(opts, WithHTTPClient(&http.Client{Transport: mock}))...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func trimSlash(base string) string {
	if n := len(base); base[n-1] == '/' {
		return base[:n-1]
	}
	return base
}

func bigInt(text string) BigInt {
	var b BigInt
	if err := b.UnmarshalText([]byte(text)); err != nil {
		panic(err)
	}
	return b
}

func number(text string) Number {
	var n Number
	if err := n.UnmarshalText([]byte(text)); err != nil {
		panic("number " + strconv.Quote(text) + ": " + err.Error())
	}
	return n
}

func at(milliseconds int64) Timestamp { return timestampOf(milliseconds) }

func containsAll(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// A rule for a member that no type has would be without effect.
func TestEachRuleOfTheDriftCheckNamesAMember(t *testing.T) {
	routes := []string{
		"/api/v1/races/open", "/api/v1/races/{raceId}", "/api/v1/races/results", "/api/v2/races/results",
	}
	for typ, members := range documented {
		names := map[string]bool{}
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names[name] = true
		}
		for name, rule := range members {
			if !names[name] {
				t.Errorf("%v has no member %q", typ, name)
			}
			if !strings.HasPrefix(name, rule.Prefix) {
				t.Errorf("%v.%s does not begin with %q", typ, name, rule.Prefix)
			}
			for _, part := range rule.Routes {
				if !strings.Contains(strings.Join(routes, " "), part) {
					t.Errorf("%v.%s: no route holds %q", typ, name, part)
				}
			}
			if !rule.Optional && rule.Routes == nil && rule.Prefix == "" {
				t.Errorf("%v.%s: the rule is empty", typ, name)
			}
		}
	}
}

// Tags in godoc are for readers: only what the encoding needs is there.
func TestThePublicTypesHaveJSONTagsAlone(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] || typ.PkgPath() != reflect.TypeFor[Race]().PkgPath() {
			return
		}
		seen[typ] = true
		for f := range typ.Fields() {
			if rest := strings.ReplaceAll(string(f.Tag), `json:"`+f.Tag.Get("json")+`"`, ""); rest != "" {
				t.Errorf("%v.%s has the tag %s", typ, f.Name, rest)
			}
			visit(f.Type)
		}
	}
	for _, v := range []any{Horse{}, BreedingListing{}, HorseMissions{}, Race{}, Tournament{}, MissionCatalogue{}, Registration{}} {
		visit(reflect.TypeOf(v))
	}
	if len(seen) < 12 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}
