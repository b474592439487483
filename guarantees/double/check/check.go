// Package check compares values in all tests, also in those inside the library, which cannot import package double.
package check

import (
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Test is a test, also one of rapid.
type Test interface {
	Helper()
	Errorf(format string, args ...any)
}

// Equal fails unless two values are equal, and shows what differs. Errors are compared by errors.Is.
func Equal[V any](t Test, what string, want, got V, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, append(opts, cmpopts.EquateErrors())...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
