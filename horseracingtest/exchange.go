package horseracingtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"unicode/utf8"
)

// exchange is a recorded request with its response: a file of a recording.
type exchange struct {
	Request  recordedRequest  `json:"request"`
	Response recordedResponse `json:"response"`
}

type recordedRequest struct {
	Method string      `json:"method"`
	Path   string      `json:"path"` // escaped, with the query if there is one
	Header http.Header `json:"header,omitempty"`
	content
}

type recordedResponse struct {
	Status int         `json:"status"`
	Header http.Header `json:"header,omitempty"`
	content
	Cut bool `json:"cut,omitempty"` // the body did not come to its end, or was not read to it
}

// content is a body: as JSON where that gives its bytes back, which people can
// read and diff, or else as text or in base64.
type content struct {
	JSON   json.RawMessage `json:"body,omitempty"`
	Text   string          `json:"text,omitempty"`
	Base64 []byte          `json:"base64,omitempty"`
}

func newContent(body []byte) content {
	var compact bytes.Buffer
	switch {
	case !utf8.Valid(body):
		return content{Base64: body}
	case bytes.ContainsAny(body, "\u2028\u2029"): // an encoder may escape them within JSON
	case json.Compact(&compact, body) == nil && bytes.Equal(compact.Bytes(), body):
		return content{JSON: body}
	}
	return content{Text: string(body)}
}

// bytes returns the body as it was.
func (c *content) bytes() ([]byte, error) {
	switch {
	case c.JSON != nil:
		var compact bytes.Buffer
		err := json.Compact(&compact, c.JSON)
		return compact.Bytes(), err
	case c.Text != "":
		return []byte(c.Text), nil
	}
	return c.Base64, nil
}

// marshal writes the file of an exchange.
func (e *exchange) marshal() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(e)
	return b.Bytes(), err
}

// requestKey is what two requests must share to be the same request: method,
// path and body, in which the order of JSON members and white space do not
// count.
func requestKey(method, path string, body []byte) string {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(&value) == nil && !decoder.More() {
		if canonical, err := json.Marshal(value); err == nil {
			body = canonical
		}
	}
	return method + " " + path + " " + string(body)
}
