package horseracingtest

import (
	"net/http"
	"sync"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
)

// handle is the rest of the chain, seen from a link.
type handle func(*call) response

// call is a request on its way through the chain.
type call struct {
	writer  http.ResponseWriter
	request *http.Request
	arrived Request              // as it is logged and handled
	unread  *world.Refusal       // why its body could not be read
	instead *response            // of a fault
	note    func(func(*Request)) // changes what is logged
	status  int                  // once it is sent
	leaving []func()             // what to do before the last byte leaves
}

// read reads the body.
func (c *call) read() {
	c.arrived.Body, c.unread = readRequest(c.writer, c.request)
	c.note(func(r *Request) { r.Body = c.arrived.Body })
}

// onLeave adds what is to be done when the last byte of the response is about to leave,
// or the connection is dropped.
func (c *call) onLeave(do func()) { c.leaving = append(c.leaving, sync.OnceFunc(do)) }

func (c *call) leave() {
	for _, do := range c.leaving {
		do()
	}
}

func (r Request) clone() Request {
	r.Header = r.Header.Clone()
	r.Body = append([]byte(nil), r.Body...)
	return r
}

// response is what the fake sends back.
type response struct {
	status int
	header http.Header // beside the content type
	body   []byte
	fault  Fault // how it is sent
}

// refused is the response to a request that is refused.
func refused(no *world.Refusal) response { return response{status: no.Status, body: no.JSON()} }
