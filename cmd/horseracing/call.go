package main

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"strings"

	"github.com/horseracing-go/horseracing"
)

const callHelp = `PATH is relative to the base URL. BODY is JSON; with - it is read from standard
input. Any method except GET may change something, or cost something, and is sent
only with -yes; such a call is not retried once it may have arrived.

Examples:
  horseracing call GET /api/v1/missions
  horseracing call GET /api/v2/races/results '{"tier":3}' | jq -c '.[]'
`

func callOperation(flags *flag.FlagSet) action {
	yes := flags.Bool("yes", false, "send a method other than GET")
	return reading(func(ctx context.Context, p *program, s *service, args []string) error {
		method := strings.ToUpper(args[0])
		if method != http.MethodGet && !*yes {
			return usageError(method + " may change something: add -yes to send it")
		}
		var body any
		if len(args) == 3 {
			text := []byte(args[2])
			if args[2] == "-" {
				var err error
				if text, err = io.ReadAll(p.stdin); err != nil {
					return err
				}
			}
			if !json.Valid(text) {
				return usageError("BODY is not JSON")
			}
			body = json.RawMessage(text)
		}
		var response horseracing.Response
		if err := s.Do(ctx, method, args[1], body, nil, horseracing.CaptureResponse(&response)); err != nil {
			return err
		}
		_, err := p.stdout.Write(response.Body)
		return err
	})
}
