package horseracingtest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// answer is what the fake sends back.
type answer struct {
	status int
	header http.Header // beside the content type
	body   []byte
}

// refusal is the fake's no to a request. The interface document shows no error
// bodies (section 7), so the shape is the fake's own:
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

func (r *refusal) answer() answer {
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
	a := answer{status: r.status, body: body}
	if r.allow != "" {
		a.header = http.Header{"Allow": {r.allow}}
	}
	return a
}
