package drift

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
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
	reflect.TypeFor[cup](): {
		"_id":                    {Routes: []string{"/open", "/{id}"}},
		"lane":                   {Optional: true},
		"additional_token":       {Prefix: "additional_"},
		"additional_sugar_token": {Prefix: "additional_sugar_"},
	},
}

const whole = `{"_id":"a","name":"n","additional_gold":1,"additional_sugar_gold":2,"stages":[{"name":"s","info":{"turf":"t"}}],"info":{"turf":"t"}}`

func unknown(path string) Difference { return Difference{Path: path} }
func missing(path string) Difference { return Difference{Path: path, Missing: true} }

// differences compares a body with the type of out, by a check that has reported nothing.
func differences(r Response, out any) []Difference {
	r.Type = reflect.TypeOf(out)
	var found []Difference
	New(rules).Compare(r, func(d Difference) { found = append(found, d) })
	slices.SortFunc(found, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })
	return found
}

func TestADifferenceIsAMemberThatOneSideHasNot(t *testing.T) {
	edit := strings.NewReplacer
	for name, test := range map[string]struct {
		body, route  string
		undocumented bool
		want         []Difference
	}{
		"none":                        {body: whole, route: "/cups/open"},
		"an optional member":          {body: edit(`{"_id"`, `{"lane":1,"_id"`).Replace(whole), route: "/cups/open"},
		"null":                        {body: `null`, route: "/cups/open"},
		"a string":                    {body: `"x"`, route: "/cups/open"},
		"nothing":                     {body: ``, route: "/cups/open"},
		"null for an object":          {body: edit(`"info":{"turf":"t"}}`, `"info":null}`).Replace(whole), route: "/cups/open"},
		"an object for a name":        {body: edit(`"n"`, `{"a":[1,{}]}`).Replace(whole), route: "/cups/open"},
		"an array for an object":      {body: edit(`"info":{"turf":"t"}}`, `"info":[{"turf":1},[{"turf":2}]]}`).Replace(whole), route: "/cups/open"},
		"white space":                 {body: edit(":", " :\n", ",", "\t,\r ", "{", "{ ", "]", "\n]").Replace(" " + whole + "\n"), route: "/cups/open"},
		"escapes in a name":           {body: edit(`"name"`, `"n\u0061me"`).Replace(whole), route: "/cups/open"},
		"the documented names":        {body: edit("additional_gold", "additional_token", "additional_sugar_gold", "additional_sugar_token").Replace(whole), route: "/cups/open"},
		"documented for other routes": {body: edit(`"_id":"a",`, ``).Replace(whole), route: "/cups/results"},

		"an unknown member":            {body: edit(`{"_id"`, `{"w":{"x":[1,"}]\""]},"_id"`).Replace(whole), route: "/cups/open", want: []Difference{unknown("w")}},
		"unknown members within":       {body: edit(`{"turf"`, `{"w":1,"turf"`).Replace(whole), route: "/cups/open", want: []Difference{unknown("info.w"), unknown("stages[].info.w")}},
		"a field without a tag":        {body: edit(`{"_id"`, `{"Bare":1,"Hidden":2,"_id"`).Replace(whole), route: "/cups/open", want: []Difference{unknown("Bare"), unknown("Hidden")}},
		"a member in another case":     {body: edit(`"name":"n"`, `"Name":"n"`).Replace(whole), route: "/cups/open", want: []Difference{unknown("Name"), missing("name")}},
		"a member twice":               {body: edit(`"name":"n"`, `"name":"n","name":"m"`).Replace(whole), route: "/cups/open", want: []Difference{unknown("name")}},
		"two names for one member":     {body: edit(`"_id"`, `"additional_x":1,"_id"`).Replace(whole), route: "/cups/open", want: []Difference{unknown("additional_gold")}},
		"a missing member":             {body: edit(`"name":"n",`, ``).Replace(whole), route: "/cups/open", want: []Difference{missing("name")}},
		"missing for this route":       {body: edit(`"_id":"a",`, ``).Replace(whole), route: "/cups/{id}", want: []Difference{missing("_id")}},
		"a missing prefix":             {body: edit(`"additional_gold":1,`, ``).Replace(whole), route: "/cups/open", want: []Difference{missing("additional_token")}},
		"an empty object":              {body: `{}`, route: "/x", want: []Difference{missing("additional_sugar_token"), missing("additional_token"), missing("info"), missing("name"), missing("stages")}},
		"nothing of an undocumented":   {body: `{}`, route: "/cups/open", undocumented: true},
		"a member of an undocumented":  {body: `{"w":1}`, route: "/cups/open", undocumented: true, want: []Difference{unknown("w")}},
		"a name that is invalid UTF-8": {body: "{\"\xff\":1}", route: "/x", undocumented: true, want: []Difference{unknown("\ufffd")}},
	} {
		t.Run(name, func(t *testing.T) {
			r := Response{Route: test.route, Undocumented: test.undocumented, Body: []byte(test.body)}
			if diff := cmp.Diff(test.want, differences(r, new(cup))); diff != "" {
				t.Error(diff)
			}
			if test.body == "" {
				return
			}
			for i := range test.want {
				test.want[i].Path = "[]." + test.want[i].Path
			}
			r.Body = []byte("[" + test.body + "," + test.body + "]")
			if diff := cmp.Diff(test.want, differences(r, new([]cup))); diff != "" {
				t.Error("in an array:", diff)
			}
		})
	}
}

func TestATypeWithoutMembersHasNoDifference(t *testing.T) {
	for _, out := range []any{new(int), new([]string), new(struct{ Bare int }), new(map[string]int), new(json.RawMessage), new(any)} {
		if found := differences(Response{Body: []byte(`{"a":1,"b":[{"c":2}]}`)}, out); found != nil {
			t.Errorf("%T: %v", out, found)
		}
	}
}

func TestADifferenceIsReportedOncePerRoute(t *testing.T) {
	check := New(rules)
	var mu sync.Mutex
	found := map[string]int{}
	var group sync.WaitGroup
	for _, route := range []string{"/cups/open", "/cups/{id}"} {
		for range 8 {
			group.Go(func() {
				check.Compare(Response{Route: route, Type: reflect.TypeFor[*[]cup](), Body: []byte(`[{"w":1},{"w":2}]`)}, func(d Difference) {
					mu.Lock()
					defer mu.Unlock()
					found[fmt.Sprint(route, d)]++
				})
			})
		}
	}
	group.Wait()
	if len(found) != 2*7 {
		t.Errorf("%d differences: %v", len(found), found)
	}
	for d, n := range found {
		if n != 1 {
			t.Errorf("%s was reported %d times", d, n)
		}
	}
}

func TestAnObjectAndAnArrayOfItHavePathsOfTheirOwn(t *testing.T) {
	check := New(rules)
	var paths []string
	for _, body := range []string{`[{"w":1}]`, `{"w":1}`, `[{"w":1}]`} {
		r := Response{Route: "/cups/{id}", Undocumented: true, Type: reflect.TypeFor[cup](), Body: []byte(body)}
		check.Compare(r, func(d Difference) { paths = append(paths, d.Path) })
	}
	if diff := cmp.Diff([]string{"[].w", "w"}, paths); diff != "" {
		t.Error(diff)
	}
}

func TestMembersWhoseNamesAreDataAreBounded(t *testing.T) {
	var body strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&body, `,"%d":1`, i)
	}
	if found := differences(Response{Undocumented: true, Body: []byte("{" + body.String()[1:] + "}")}, new(cup)); len(found) != 100 {
		t.Errorf("%d differences, want 100", len(found))
	}
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
				o[Difference{Path: path + name}] = true
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
				o[Difference{Path: path + name, Missing: true}] = true
			}
		}
	}
}
