// Package route reads the routes of operations: paths that may have one {placeholder},
// anywhere, for the id of what is requested.
package route

import "strings"

// Fill returns the path of a route for an id. A route without a placeholder is returned
// unchanged.
func Fill(route, id string) string {
	before, rest, ok := strings.Cut(route, "{")
	if !ok {
		return route
	}
	_, after, _ := strings.Cut(rest, "}")
	return before + id + after
}
