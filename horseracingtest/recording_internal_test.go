package horseracingtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"
)

func TestAnyBodyComesBackByteForByte(t *testing.T) {
	header := http.Header{"Content-Type": {"text/odd"}, "X-Two": {"1", "2"}}
	check := func(body []byte) string {
		e := exchange{Request: recordedRequest{Method: "GET", Path: "/x"}, Response: recordedResponse{Status: 203, Header: header, content: newContent(body)}}
		text, err := e.marshal()
		if err != nil {
			return err.Error()
		}
		rec, err := readRecording(fstest.MapFS{"a.json": {Data: text}})
		if err != nil {
			return err.Error()
		}
		if got := rec["GET /x "][0]; !bytes.Equal(got.body, body) || got.status != 203 || !reflect.DeepEqual(got.header, header) {
			return fmt.Sprintf("came back as %d %v %s", got.status, got.header, got.body)
		}
		return ""
	}
	for _, body := range []string{
		"", "null", "[]", " []", `{"a":1,"a":2}`, `"\ud800"`, "\"\u2028\"", `"<&>\u003c"`, "1e400", "-0", "1.0", `"\/"`, "\xff", "[\"\xff\"]", "\x00", "\ufeff[]", "[1]\n",
	} {
		if wrong := check([]byte(body)); wrong != "" {
			t.Errorf("%q: %s", body, wrong)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		if rapid.Bool().Draw(t, "JSON") {
			body, _ = json.Marshal(rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.String())).Draw(t, "value"))
		}
		if wrong := check(body); wrong != "" {
			t.Fatalf("%q: %s", body, wrong)
		}
	})
}

// A file that somebody edited may hold anything.
func FuzzRecordings(f *testing.F) {
	f.Add([]byte(`{"request":{"method":"GET","path":"/x","body":{"a":1}},"response":{"status":200,"header":{"a":["b"]},"text":"x","cut":true}}`))
	f.Add([]byte(`{"request":{"method":"GET","path":"/x"},"response":{"status":200,"base64":"AAA="}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		rec, err := readRecording(fstest.MapFS{"a.json": {Data: text}})
		if err == nil && len(rec) != 1 {
			t.Errorf("%d requests of one file", len(rec))
		}
	})
}
