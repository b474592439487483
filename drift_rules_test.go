package horseracing

import (
	"reflect"
	"strings"
	"testing"
)

// A rule for a member that no type has would be without effect.
func TestEachRuleOfTheDriftCheckNamesAMember(t *testing.T) {
	routes := []string{
		"/api/v1/races/open", "/api/v1/races/{raceId}", "/api/v1/races/results", "/api/v2/races/results",
	}
	for typ, members := range documented {
		names := map[string]bool{}
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names[name] = true
		}
		for name, rule := range members {
			if !names[name] {
				t.Errorf("%v has no member %q", typ, name)
			}
			if !strings.HasPrefix(name, rule.Prefix) {
				t.Errorf("%v.%s does not begin with %q", typ, name, rule.Prefix)
			}
			for _, part := range rule.Routes {
				if !strings.Contains(strings.Join(routes, " "), part) {
					t.Errorf("%v.%s: no route holds %q", typ, name, part)
				}
			}
			if !rule.Optional && rule.Routes == nil && rule.Prefix == "" {
				t.Errorf("%v.%s: the rule says nothing", typ, name)
			}
		}
	}
}

// Tags in godoc are for readers: only what the encoding needs is there.
func TestThePublicTypesHaveJSONTagsAlone(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] || typ.PkgPath() != reflect.TypeFor[Race]().PkgPath() {
			return
		}
		seen[typ] = true
		for f := range typ.Fields() {
			if rest := strings.ReplaceAll(string(f.Tag), `json:"`+f.Tag.Get("json")+`"`, ""); rest != "" {
				t.Errorf("%v.%s has the tag %s", typ, f.Name, rest)
			}
			visit(f.Type)
		}
	}
	for _, v := range []any{Horse{}, BreedingListing{}, HorseMissions{}, Race{}, Tournament{}, MissionCatalogue{}, Registration{}} {
		visit(reflect.TypeOf(v))
	}
	if len(seen) < 12 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}
