package horseracingtest

import (
	"net/http"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
)

// response is what the fake sends back.
type response struct {
	status int
	header http.Header // beside the content type
	body   []byte
	cut    bool // the connection drops after the body, before the announced end
}

// refused is the response to a request that is refused.
func refused(no *world.Refusal) response { return response{status: no.Status, body: no.JSON()} }
