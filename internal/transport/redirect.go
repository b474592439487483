package transport

import (
	"net/http"
	"net/url"
)

// refuseRedirect has the http.Client return a redirect as the response. To follow it
// would send the API key to another host, and drop the body.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// RedirectOrigin returns the scheme and host of a redirect's target. Its path and query
// are left out, because they may hold keys.
func RedirectOrigin(base *url.URL, header http.Header) string {
	target, err := base.Parse(header.Get("Location"))
	if err != nil || header.Get("Location") == "" {
		return "an unreadable location"
	}
	return target.Scheme + "://" + target.Host
}
