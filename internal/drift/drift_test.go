package drift

import (
	"reflect"
	"testing"
)

type horse struct {
	Parent *struct {
		Name string `json:"name"`
	} `json:"parent"`
	Hidden string `json:"-"`
}

// What is different in the types of the library is compared in guarantees/reading.
func TestABodyThatIsNotJSONHasNoDifference(t *testing.T) {
	for body, want := range map[string]int{
		`[{"parent":{"speed":1}}]`: 2,
		`[{"parent":{"speed":1}},`: 0, `[{"parent":{"speed":1}]`: 0, `{"speed":1`: 0, `[{"a"`: 0, "[": 0, "\xff": 0,
	} {
		check := New(Rules{Rename: func(string) string { return "" }})
		found := check.Compare(Response{Route: "/horses", Type: reflect.TypeFor[[]horse](), Body: []byte(body)})
		if len(found) != want {
			t.Errorf("%s: %v", body, found)
		}
	}
}
