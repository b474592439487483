package horseracingtest

import (
	"io/fs"
	"net/http"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/wire"
)

// Record wraps a transport so that every response is written to dir with its
// request, one JSON file each, for [WithRecording]:
//
//	client, err := horseracing.NewClient(url, key, horseracing.WithTransportWrapper(horseracingtest.Record("recorded")))
//
// A file is named after its request, has mode 0600 and is never overwritten. File names
// depend only on the requests, so that two recordings made into empty directories can
// be compared with diff -r. The API key, user_key in bodies and queries, echoes of
// both, and cookies are redacted; a body that contains a key in another encoding is
// omitted. Of a request's headers only Content-Type is kept. A response is written
// after its body was read or closed.
//
// If dir cannot be written to, later requests fail before they are sent.
func Record(dir string) func(http.RoundTripper) http.RoundTripper { return wire.Record(dir) }

// WithRecording makes the fake replay the responses that [Record] wrote, byte for byte,
// instead of simulating the service. A request that was not recorded with the same body
// gets status 501 and a message that names the recorded ones. The order of JSON members
// does not matter, and any keys are accepted. Repeated requests get the recorded
// responses in order, and then the last one again.
//
// Faults, limits, latency and handlers work as without a recording.
func WithRecording(files fs.FS) Option { return func(s *settings) { s.wire.Recorded = files } }
