// Package route reads the routes of operations: paths that may have one {placeholder},
// anywhere, for the id of what is requested.
package route

import "strings"

// Cut returns what is before and after the placeholder of a route, and the placeholder's
// name. If there is none, ok is false and before is the route.
func Cut(route string) (before, name, after string, ok bool) {
	before, rest, opened := strings.Cut(route, "{")
	name, after, closed := strings.Cut(rest, "}")
	if !opened || !closed {
		return route, "", "", false
	}
	return before, name, after, true
}

// Fill returns the path of a route for an id. A route without a placeholder is returned
// unchanged.
func Fill(route, id string) string {
	before, _, after, ok := Cut(route)
	if !ok {
		return route
	}
	return before + id + after
}

// Match reports whether a path is one of the route's, and returns the segment in place
// of its placeholder.
func Match(route, path string) (id string, ok bool) {
	before, _, after, ok := Cut(route)
	if !ok {
		return "", path == route
	}
	id, hasStart := strings.CutPrefix(path, before)
	id, hasEnd := strings.CutSuffix(id, after)
	if !hasStart || !hasEnd || id == "" || strings.Contains(id, "/") {
		return "", false
	}
	return id, true
}
