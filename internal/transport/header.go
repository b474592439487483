package transport

import "net/http"

// headerLink sets the headers. It keeps no other than the jar's cookies. The
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
	if callOf(req).NoCache {
		header.Set("Cache-Control", "no-cache")
	}
	req.Header = header
	return l.next.RoundTrip(req)
}
