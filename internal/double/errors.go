package double

import (
	"errors"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing"
)

// CheckError fails unless an error is of the documented kinds and fit to read.
func CheckError(t *testing.T, name string, err error) {
	t.Helper()
	var api *horseracing.APIError
	var decode *horseracing.DecodeError
	var transport *horseracing.TransportError
	var tie *horseracing.TieOverflowError
	switch {
	case errors.As(err, &api), errors.As(err, &decode), errors.As(err, &transport), errors.As(err, &tie):
	case errors.Is(err, horseracing.ErrNotFound), errors.Is(err, horseracing.ErrBodyIgnored):
	default:
		t.Errorf("%s: an error of type %T: %v", name, err, err)
	}
	text := err.Error()
	if len(text) >= 2048 || !strings.Contains(text, "/api/v") || strings.ContainsAny(text, "\n\x1b\x00") {
		t.Errorf("%s: not fit to read: %q", name, text)
	}
}
