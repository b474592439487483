package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/horseracing-go/horseracing"
)

// sentence adds what to do to an error. It quotes the service's words, which could be
// meant for the reader.
func sentence(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	api, isAPI := errors.AsType[*horseracing.APIError](err)
	_, isTransport := errors.AsType[*horseracing.TransportError](err)
	if isAPI && api.Attempts > 0 && api.Message != "" {
		bare := *api
		bare.Message = ""
		text = strings.Replace(text, api.Error(), fmt.Sprintf("%v; the service's words: %q", &bare, api.Message), 1)
	}
	switch {
	case isTransport, isAPI && (api.StatusCode >= 500 || api.StatusCode == http.StatusTooManyRequests):
		text += "; the service does not respond or refuses requests: try again in a minute"
	case errors.Is(err, horseracing.ErrNotFound):
		text += "; there is none with this id"
	case errors.Is(err, horseracing.ErrUnauthorized), errors.Is(err, horseracing.ErrForbidden):
		text += "; only the person can change the key"
	}
	return errors.New(text)
}
