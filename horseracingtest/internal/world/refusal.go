package world

import (
	"encoding/json"
	"fmt"
)

// Statuses of responses, by the numbers of HTTP.
const (
	ok         = 200
	badRequest = 400
	forbidden  = 403
	notFound   = 404
	conflict   = 409
)

// Refusal is why a request is refused. Error bodies are undocumented, so the shape is
// the fake's own:
//
//	{"error":{"code":"invalid_body","message":"..."}}
type Refusal struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Refuse returns a refusal.
func Refuse(status int, code, format string, args ...any) *Refusal {
	return &Refusal{status, code, fmt.Sprintf(format, args...)}
}

// JSON is the body of the response.
func (r *Refusal) JSON() []byte {
	body, err := json.Marshal(map[string]*Refusal{"error": r})
	if err != nil {
		panic(err) // two strings can always be encoded
	}
	return body
}
