package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
)

const callHelp = `The response body of any operation, as it was received.

PATH is relative to the base URL. BODY is JSON; with - it is read from standard
input. Any method except GET may change something, or cost something, and is sent
only with --yes; such a call is not retried once it may have arrived.`

const callExamples = `  horseracing call GET /api/v1/missions
  horseracing call GET /api/v2/races/results '{"tier":3}' | jq -c '.[]'`

func (p *program) callCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "call METHOD PATH [BODY]", Short: "The response body of any operation, as it was received", Args: takes(2, 3),
		Long: callHelp, Example: callExamples,
	}
	yes := c.Flags().Bool("yes", false, "send a method other than GET")
	p.serviceFlags(c.Flags(), true)
	c.RunE = p.reading(func(ctx context.Context, s *service, args []string) error {
		method := strings.ToUpper(args[0])
		if method != http.MethodGet && !*yes {
			return usageError(method + " may change something: add --yes to send it")
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
		return p.write(response.Body)
	})
	return c
}
