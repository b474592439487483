package horseracing

import (
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
				t.Errorf("%v.%s: the rule is empty", typ, name)
			}
		}
	}
}
