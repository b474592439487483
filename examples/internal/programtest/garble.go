package programtest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"testing"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// Garble returns the address of a service that is the fake, except that the
// entry fee of one race cannot be read.
func Garble(t *testing.T, fake *horseracingtest.Server, race horseracing.RaceID) string {
	t.Helper()
	address, err := url.Parse(fake.URL)
	if err != nil {
		t.Fatal(err)
	}
	id := fmt.Appendf(nil, `"main_race_id":%d,`, race)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(address)
			r.Out.Header.Del("Accept-Encoding") // what comes is edited
		},
		ModifyResponse: func(r *http.Response) error {
			body, err := io.ReadAll(r.Body)
			if before, after, found := bytes.Cut(body, id); found {
				after = bytes.Replace(after, []byte(`"entry_fee":`), []byte(`"entry_fee":[],"was":`), 1)
				body = bytes.Join([][]byte{before, after}, id)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			r.Header.Set("Content-Length", strconv.Itoa(len(body)))
			return err
		},
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}
