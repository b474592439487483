package drift

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// cup is a type as the library has them.
type cup struct {
	ID     string  `json:"_id,omitzero"`
	Name   string  `json:"name"`
	Lane   *int    `json:"lane,omitzero"`
	Tokens int     `json:"additional_token"`
	Sugar  int     `json:"additional_sugar_token"`
	Stages []stage `json:"stages"`
	Info   *info   `json:"info"`
	Hidden string  `json:"-"`
	Bare   string
}

type stage struct {
	Name string `json:"name"`
	Info info   `json:"info"`
}

type info struct {
	Turf string `json:"turf"`
}

var rules = Rules{
	Routes: map[string][]string{"cup._id": {"/open", "/{id}"}},
	Rename: func(name string) string {
		for _, prefix := range []string{"additional_sugar_", "additional_"} {
			if strings.HasPrefix(name, prefix) {
				return prefix + "token"
			}
		}
		return ""
	},
}

const whole = `{"_id":"a","name":"n","additional_gold":1,"additional_sugar_gold":2,"stages":[{"name":"s","info":{"turf":"t"}}],"info":{"turf":"t"}}`

// differences compares a body with the type of out, by a check that has reported nothing.
func differences(r Response, out any) []Difference {
	r.Type = reflect.TypeOf(out)
	return New(rules).Compare(r)
}

// FuzzCompare holds any body against the type: the differences are those that a
// comparison of the decoded maps finds, and on what is no JSON it ends.
func FuzzCompare(f *testing.F) {
	for _, body := range []string{whole, "[" + whole + "]", `{"name":1,"name":2}`, `[[{"w":1}],null,{}]`, `{"stages":[{"info":[{"x":1}]}]}`, `{"additional_a":1,"n\u0061me":2}`, "[", `{"a"`, "\xff", `{"a":1]`, "{\"a\x02\":2}", "[\"a\x02\"]"} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		found := differences(Response{Route: "/cups/open", Body: []byte(body)}, new([]cup))
		if !jsontext.Value(body).IsValid() { // duplicate members and invalid UTF-8 included
			return
		}
		var value any
		if err := json.Unmarshal([]byte(body), &value); err != nil {
			return // deeper or larger than that decoder reads
		}
		o := oracle{}
		path := ""
		if _, ok := value.([]any); ok {
			path = "[]."
		}
		o.compare(value, reflect.TypeFor[cup](), path)
		got := oracle{}
		for _, d := range found {
			if got[d] {
				t.Errorf("%v twice", d)
			}
			got[d] = true
		}
		plain, _ := json.Marshal(value)
		twoNames := strings.Count(string(plain), "additional") > 1 // for one member: which counts depends on their order
		if len(o) < maxReported && !twoNames && !reflect.DeepEqual(o, got) {
			t.Errorf("%s: %s", body, cmp.Diff(o, got))
		}
	})
}

// oracle finds differences in a decoded value, the slow way.
type oracle map[Difference]bool

// members are those of the types, and the types below.
var members = map[reflect.Type]map[string]reflect.Type{
	reflect.TypeFor[cup](): {"_id": nil, "name": nil, "lane": nil, "additional_token": nil, "additional_sugar_token": nil,
		"stages": reflect.TypeFor[stage](), "info": reflect.TypeFor[info]()},
	reflect.TypeFor[stage](): {"name": nil, "info": reflect.TypeFor[info]()},
	reflect.TypeFor[info]():  {"turf": nil},
}

func (o oracle) compare(value any, typ reflect.Type, path string) {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			o.compare(v, typ, path)
		}
	case map[string]any:
		seen := map[string]bool{"lane": true}
		for name, v := range value {
			member := name
			switch _, known := members[typ][name]; {
			case known:
			case typ == reflect.TypeFor[cup]() && strings.HasPrefix(name, "additional_sugar_"):
				member = "additional_sugar_token"
			case typ == reflect.TypeFor[cup]() && strings.HasPrefix(name, "additional_"):
				member = "additional_token"
			default:
				o[Difference{Path: path + name, Kind: Unknown}] = true
				continue
			}
			seen[member] = true
			if below := members[typ][member]; below != nil {
				next := path + name + "."
				if name == "stages" {
					next = path + name + "[]."
				}
				o.compare(v, below, next)
			}
		}
		for name := range members[typ] {
			if !seen[name] {
				o[Difference{Path: path + name, Kind: Missing}] = true
			}
		}
	}
}
