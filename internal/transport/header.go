package transport

import "net/http"

// Header returns a function that returns the headers of a request. It keeps the key in
// its closure, where fmt does not print it.
func Header(apiKey, userAgent string) func() http.Header {
	const json = "application/json"
	return http.Header{"X-Api-Key": {apiKey}, "Content-Type": {json}, "Accept": {json}, "User-Agent": {userAgent}}.Clone
}

// headerLink sets the headers. It keeps no earlier header except the jar's cookies. The
// request is the attempt's own, which timeoutLink made.
type headerLink struct {
	next   http.RoundTripper
	header func() http.Header // returns a new one
}

func (l headerLink) RoundTrip(req *http.Request) (*http.Response, error) {
	header := l.header()
	if cookies := req.Header["Cookie"]; cookies != nil {
		header["Cookie"] = cookies
	}
	if recordOf(req).NoCache {
		header.Set("Cache-Control", "no-cache")
	}
	req.Header = header
	return l.next.RoundTrip(req)
}
