package wire

import (
	"net/http"
	"strconv"
	"time"
)

// Fault describes how a request fails. Its effects can be combined, such as a Delay
// with a Status and a Drip.
type Fault struct {
	// Method and Path select requests with this method and with a path that has this
	// prefix. If empty, they select all.
	Method, Path string

	Skip        int     // let this many selected requests through first
	Probability float64 // hit each of the others with this probability, drawn from the seed; default 1
	Times       int     // how many requests to hit; all if negative; default 1, or all if Probability is set

	// Status is the status of the response, and the request has no effect. If it is 0, the
	// fake responds as usual.
	Status int
	Header http.Header // added to the response; default Content-Type application/json
	Body   string      // body of the response, if Status is set

	Delay       time.Duration // wait this long first
	ResetBefore bool          // drop the connection before the request body is read: the request has no effect
	ResetAfter  bool          // drop the connection instead of responding: the request has its effect
	CutBody     int           // drop the connection after this many bytes of the response body
	Drip        time.Duration // wait this long before each byte of the response body
	IgnoreBody  bool          // respond as if the request had no body

	// TakesEffectAfter drops the connection. The request has its effect when the fake's
	// clock has advanced by this much, even if the client has disconnected. Earlier reads
	// do not show it.
	TakesEffectAfter time.Duration
}

// problem returns what is invalid about the fault, or "". A test must not pass
// because its fault did nothing.
func (f *Fault) problem() string {
	switch {
	case f.Path != "" && f.Path[0] != '/':
		return "its Path does not begin with /"
	case f.Skip < 0 || f.CutBody < 0 || f.Delay < 0 || f.Drip < 0 || f.TakesEffectAfter < 0:
		return "Skip, CutBody, Delay, Drip and TakesEffectAfter cannot be negative"
	case !(f.Probability >= 0 && f.Probability <= 1):
		return "its Probability is not between 0 and 1"
	case f.Status != 0 && (f.Status < 200 || f.Status > 999):
		return "Status " + strconv.Itoa(f.Status) + " is not the status of a response"
	case f.Body != "" && f.Status == 0:
		return "it has a Body but no Status"
	case f.TakesEffectAfter > 0 && (f.ResetBefore || f.ResetAfter || f.Status != 0 || f.Header != nil || f.CutBody > 0 || f.Drip > 0):
		return "TakesEffectAfter sends no response"
	case f.ResetBefore && (f.ResetAfter || f.Status != 0 || f.Header != nil || f.CutBody > 0 || f.Drip > 0 || f.IgnoreBody):
		return "nothing can follow ResetBefore"
	case f.ResetAfter && (f.Status != 0 || f.Header != nil || f.CutBody > 0 || f.Drip > 0):
		return "ResetAfter sends no response"
	case f.Delay == 0 && f.TakesEffectAfter == 0 && !f.ResetBefore && !f.ResetAfter && f.Status == 0 && f.Header == nil && f.CutBody == 0 && f.Drip == 0 && !f.IgnoreBody:
		return "it does nothing"
	}
	return ""
}
