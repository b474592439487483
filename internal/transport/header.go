package transport

import "net/http"

// Header returns a function that returns the headers of a request. It keeps the key in
// its closure, where fmt does not print it.
func Header(apiKey, userAgent string) func() http.Header {
	return func() http.Header {
		values := []string{apiKey, "application/json", "application/json", userAgent} // one allocation, as in http.Header.Clone
		return http.Header{
			"X-Api-Key": values[0:1:1], "Content-Type": values[1:2:2], "Accept": values[2:3:3], "User-Agent": values[3:4:4],
		}
	}
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
