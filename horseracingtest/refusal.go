package horseracingtest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// response is what the fake sends back.
type response struct {
	status int
	header http.Header // beside the content type
	body   []byte
	cut    bool // the connection drops after the body, before the announced end
}

// refusal is why a request is refused. Error bodies are undocumented, so the
// shape is the fake's own:
//
//	{"error":{"code":"invalid_body","message":"..."}}
type refusal struct {
	status  int
	code    string
	message string
	allow   string // for status 405
}

func refuse(status int, code, format string, args ...any) *refusal {
	return &refusal{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

func (r *refusal) response() response {
	type words struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	body, err := json.Marshal(struct {
		Error words `json:"error"`
	}{words{r.code, r.message}})
	if err != nil {
		panic(err) // two strings can always be encoded
	}
	out := response{status: r.status, body: body}
	if r.allow != "" {
		out.header = http.Header{"Allow": {r.allow}}
	}
	return out
}
