package horseracing

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jarcoal/httpmock"
)

const testAPIKey = "app-key-8f41"

// operationTest is one call: what it must send, what comes back, and what the
// caller gets.
type operationTest struct {
	name   string
	call   func(context.Context, *Client) (any, error)
	method string
	path   string
	body   string // empty: none is sent
	answer string // the file in testdata
	want   any
}

// An operation is documented by its own table: horses_test.go, races_test.go,
// tournaments_test.go and missions_test.go.
func allOperationTests() []operationTest {
	var all []operationTest
	for _, tests := range [][]operationTest{horseOperations, raceOperations, tournamentOperations, missionOperations} {
		all = append(all, tests...)
	}
	return all
}

func TestEveryOperationSendsWhatTheInterfaceDocumentsAndReturnsEveryField(t *testing.T) {
	for _, base := range []string{"https://api.example.test", "https://gateway.example.test/racing/v9", "https://gateway.example.test/a%2Fb/"} {
		for _, test := range allOperationTests() {
			t.Run(test.name+" at "+base, func(t *testing.T) {
				var sent []*http.Request
				var body []byte
				mock := httpmock.NewMockTransport()
				mock.RegisterNoResponder(func(r *http.Request) (*http.Response, error) {
					sent = append(sent, r)
					if r.Body != nil {
						body, _ = io.ReadAll(r.Body)
					}
					return httpmock.NewBytesResponse(http.StatusOK, payload(t, test.answer)), nil
				})
				client, err := NewClient(base, testAPIKey, WithHTTPClient(&http.Client{Transport: mock}))
				if err != nil {
					t.Fatal(err)
				}

				got, err := test.call(t.Context(), client)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
				if len(sent) != 1 {
					t.Fatalf("%d requests were sent, want one", len(sent))
				}
				request := sent[0]
				if request.Method != test.method {
					t.Errorf("method %s, want %s", request.Method, test.method)
				}
				if got, want := request.URL.String(), trimSlash(base)+test.path; got != want {
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
				if string(body) != test.body {
					t.Errorf("body %s, want %s", body, test.body)
				}
				// A length that is known keeps the body from going out in chunks,
				// which fewer servers expect of a GET.
				if request.ContentLength != int64(len(test.body)) {
					t.Errorf("Content-Length %d, want %d", request.ContentLength, len(test.body))
				}
			})
		}
	}
}

// The table above compares every field; this shows that it compares more than
// zero values: each field of each type is set in at least one expected result.
func TestTheOperationTableCoversEveryField(t *testing.T) {
	set, all := map[string]bool{}, map[string]bool{}
	for _, test := range allOperationTests() {
		noteFields(reflect.ValueOf(test.want), set, all)
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

// answering returns a client whose every call is answered with status 200 and
// that body.
func answering(t testing.TB, body string, opts ...Option) *Client {
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
