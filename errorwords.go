package horseracing

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// errorWords returns the message of an error object, from the members that
// services commonly use, and whether the object declares itself an error, by a member of
// that name. In a successful response a title or a description alone is no message:
// tournaments have one.
func errorWords(body []byte, failure bool) (message string, declared bool) {
	if len(body) > maxFailureBody { // no message is that long
		return "", false
	}
	return errorWordsIn(body, failure, 3)
}

// mayDeclareError reports whether a look for an error object is worth its time.
func mayDeclareError(body []byte) bool {
	body = trimSpace(body)
	return len(body) > 0 && body[0] == '{' && bytes.Contains(body, []byte(`"error`))
}

// errorWordsIn looks no deeper than a few levels: a hostile body may nest for ever.
func errorWordsIn(body []byte, failure bool, depth int) (message string, declared bool) {
	var object map[string]json.RawMessage
	if body = trimSpace(body); depth == 0 || len(body) == 0 || body[0] != '{' || unmarshal(body, &object) != nil {
		return "", false
	}
	for _, name := range []string{"error", "errors"} {
		switch value := object[name]; string(value) {
		case "", "null", "false", `""`, "[]", "{}", "0":
		default:
			declared = true
			if message == "" {
				message = wordsOf(value, depth-1)
			}
		}
	}
	names := []string{"message", "detail", "error_description", "title", "description"}
	if !failure && !declared {
		names = names[:3]
	}
	for _, name := range names {
		if words := wordsOf(object[name], depth-1); words != "" && !strings.Contains(message, words) {
			if message != "" {
				message += ": "
			}
			return message + words, declared
		}
	}
	return message, declared
}

// wordsOf returns a string, the message within an object, or that of an array's first item.
func wordsOf(value json.RawMessage, depth int) string {
	if len(value) == 0 {
		return ""
	}
	switch value[0] {
	case '"':
		var text string
		_ = unmarshal(value, &text)
		return text
	case '{':
		message, _ := errorWordsIn(value, true, depth)
		return message
	case '[':
		var items []json.RawMessage
		_ = unmarshal(value, &items)
		if len(items) > 0 && depth > 0 {
			return wordsOf(items[0], depth-1)
		}
	}
	return ""
}

// looksLikeHTML reports whether a body begins like a page, by the rules of browsers.
func looksLikeHTML(body []byte) bool {
	head := body[:min(len(body), 512)]
	return strings.HasPrefix(http.DetectContentType(head), "text/html") ||
		bytes.HasPrefix(bytes.TrimSpace(head), []byte("<")) && bytes.Contains(bytes.ToLower(head), []byte("<html"))
}
