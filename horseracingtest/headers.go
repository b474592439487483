package horseracingtest

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
)

// headers are the API keys that are accepted.
type headers []string

// check checks the two headers that every operation requires.
func (h headers) check(r *http.Request) *world.Refusal {
	switch keys := r.Header.Values("X-Api-Key"); {
	case len(keys) == 0:
		return world.Refuse(http.StatusUnauthorized, "no_api_key", "the header x-api-key is missing")
	case len(keys) > 1:
		return world.Refuse(http.StatusBadRequest, "invalid_header", "the header x-api-key came %d times", len(keys))
	case keys[0] == "":
		return world.Refuse(http.StatusUnauthorized, "no_api_key", "the header x-api-key is empty")
	case !slices.Contains(h, keys[0]):
		return world.Refuse(http.StatusUnauthorized, "unknown_api_key", "the header x-api-key holds no API key of this service")
	}
	switch types := r.Header.Values("Content-Type"); {
	case len(types) == 0:
		return world.Refuse(http.StatusUnsupportedMediaType, "no_content_type", "the header content-type is missing; every operation requires application/json, GET too")
	case len(types) > 1:
		return world.Refuse(http.StatusBadRequest, "invalid_header", "the header content-type came %d times", len(types))
	case types[0] == "application/json":
	default:
		kind, parameters, err := mime.ParseMediaType(types[0])
		charset, named := parameters["charset"]
		if err != nil || kind != "application/json" || named && !strings.EqualFold(charset, "utf-8") || len(parameters) > 1 || len(parameters) == 1 && !named {
			return world.Refuse(http.StatusUnsupportedMediaType, "wrong_content_type", "the header content-type must be application/json, not %.100q", types[0])
		}
	}
	return nil
}
