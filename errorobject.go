package horseracing

import (
	"bytes"
	"encoding/json"
	"strings"
)

// errorObject has the members in which services commonly report an error. The shape
// of errors is undocumented.
type errorObject struct {
	Error            json.RawMessage `json:"error"`
	Errors           json.RawMessage `json:"errors"`
	Message          json.RawMessage `json:"message"`
	Detail           json.RawMessage `json:"detail"`
	ErrorDescription json.RawMessage `json:"error_description"`
	Title            json.RawMessage `json:"title"`
	Description      json.RawMessage `json:"description"`
}

// errorWords returns the message of an error object, and whether the object declares
// itself an error, by a member of that name. In a successful response a title or a
// description alone is no message: tournaments have one.
func errorWords(body []byte, failure bool) (message string, declared bool) {
	var o errorObject
	if len(body) > maxErrorObject || unmarshal(body, &o) != nil { // no message is that long
		return "", false
	}
	for _, value := range []json.RawMessage{o.Error, o.Errors} {
		switch string(value) {
		case "", "null", "false", `""`, "[]", "{}", "0":
			continue
		}
		declared = true
		if message == "" {
			message = wordsOf(value)
		}
	}
	members := []json.RawMessage{o.Message, o.Detail, o.ErrorDescription}
	if failure || declared {
		members = append(members, o.Title, o.Description)
	}
	for _, value := range members {
		if words := wordsOf(value); words != "" && !strings.Contains(message, words) {
			if message != "" {
				message += ": "
			}
			return message + words, declared
		}
	}
	return message, declared
}

// mayDeclareError reports whether a look for an error object is worth its time.
func mayDeclareError(body []byte) bool {
	body = trimSpace(body)
	return len(body) > 0 && body[0] == '{' && bytes.Contains(body, []byte(`"error`))
}

// wordsOf returns the words of a member: a string, the message within an object, or
// those of an array's first element. It looks no deeper.
func wordsOf(value json.RawMessage) string {
	if isKind(value, '[') {
		for _, first := range elementsOf(value) {
			value = first
			break
		}
	}
	if !isKind(value, '{') {
		return textOf(value)
	}
	var o errorObject
	_ = unmarshal(value, &o)
	for _, member := range []json.RawMessage{o.Message, o.Detail, o.ErrorDescription, o.Title, o.Description} {
		if text := textOf(member); text != "" {
			return text
		}
	}
	return ""
}

// textOf returns the text of a JSON string; empty if the value is not one.
func textOf(value json.RawMessage) string {
	var text string
	if isKind(value, '"') {
		_ = unmarshal(value, &text)
	}
	return text
}

func isKind(value json.RawMessage, first byte) bool { return len(value) > 0 && value[0] == first }
