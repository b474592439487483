package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/tiers"
	"github.com/horseracing-go/horseracing/ledger"
)

// The codes of errors that this program finds itself.
const (
	invalid      = "invalid_argument"
	inUse        = "in_use"
	planAgain    = "plan_again"
	notConfirmed = "not_confirmed"
)

// coded is an error with a code.
type coded struct{ code, text string }

func (e coded) Error() string { return e.text }

func invalidf(format string, args ...any) error { return coded{invalid, fmt.Sprintf(format, args...)} }

// failure is the result of a call that failed: a code and a sentence. It is text alone,
// because hosts drop the rest of a result that is an error.
func failure(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: sentence(err)}}}
}

// sentence returns the code of an error, its text, and what to do. It quotes the
// service's words, which could be meant for the reader.
func sentence(err error) string {
	text := err.Error()
	api, isAPI := errors.AsType[*horseracing.APIError](err)
	_, isTransport := errors.AsType[*horseracing.TransportError](err)
	if isAPI && api.Attempts > 0 && api.Message != "" {
		bare := *api
		bare.Message = ""
		text = strings.Replace(text, api.Error(), fmt.Sprintf("%v; the service's words: %q", &bare, api.Message), 1)
	}
	_, isUnknownTier := errors.AsType[tiers.UnknownError](err)
	own, isOwn := errors.AsType[coded](err)
	switch {
	case isOwn:
		return own.code + ": " + text
	case errors.Is(err, ledger.ErrInUse):
		return inUse + ": " + text + "; another program uses the ledger: try again later"
	case isTransport, isAPI && (api.StatusCode >= 500 || api.StatusCode == http.StatusTooManyRequests):
		return "unavailable: " + text + "; the service does not respond or refuses requests: try again in a minute"
	case errors.Is(err, horseracing.ErrNotFound):
		return "not_found: " + text + "; there is none with this id"
	case errors.Is(err, horseracing.ErrUnauthorized), errors.Is(err, horseracing.ErrForbidden):
		return "unauthorized: " + text + "; only the person can change the key"
	case isUnknownTier, errors.Is(err, horseracing.ErrInvalidArgument):
		return invalid + ": " + text
	}
	return "failed: " + text
}
