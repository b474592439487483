package horseracing

import (
	"bytes"
	"encoding/json"
	"slices"
)

// messageMembers are the members in which services commonly put the message of an
// error object, the best one first. The shape of errors is undocumented.
var messageMembers = []string{"message", "detail", "error_description", "error", "errors", "title", "description"}

// noErrors are values of a member error of an object that is not an error. The first is
// that of an absent member.
var noErrors = []string{"", "null", "false", `""`, "[]", "{}", "0"}

// errorWords returns the message of an error object, and whether the object declares
// itself an error, by a member of that name. In a successful response a title or a
// description alone is not a message: tournaments have a description.
func errorWords(body []byte, failure bool) (message string, declared bool) {
	var object map[string]json.RawMessage
	if len(body) > maxErrorObject || unmarshal(body, &object) != nil {
		return "", false
	}
	for _, name := range []string{"error", "errors"} {
		declared = declared || !slices.Contains(noErrors, string(object[name]))
	}
	for _, name := range messageMembers {
		if !failure && !declared && name == "title" {
			break
		}
		if words := wordsOf(object[name]); words != "" {
			return words, declared
		}
	}
	return "", declared
}

// mayDeclareError reports whether a body may be an object with an error member.
func mayDeclareError(body []byte) bool {
	return bytes.HasPrefix(trimSpace(body), []byte("{")) && bytes.Contains(body, []byte(`"error`))
}

// wordsOf returns the words of a member: a string, the message of an object, or those
// of an array's first element. It looks no deeper.
func wordsOf(value json.RawMessage) string {
	var v any
	_ = unmarshal(value, &v)
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	if object, ok := v.(map[string]any); ok {
		for _, name := range messageMembers {
			if text, ok := object[name].(string); ok && text != "" {
				return text
			}
		}
	}
	text, _ := v.(string)
	return text
}
