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

func (p *program) callCommand() *cobra.Command {
	var yes bool
	c := p.reading("call METHOD PATH [BODY]", "The response body of any operation, as it was received", cobra.RangeArgs(2, 3), func(ctx context.Context, s *service, args []string) error {
		method := strings.ToUpper(args[0])
		if method != http.MethodGet && !yes {
			return usageError(method + " may change something: add --yes to send it")
		}
		var body any
		if len(args) == 3 {
			text := []byte(args[2])
			if args[2] == "-" {
				var err error
				if text, err = io.ReadAll(p.stdin); err == nil {
					text, err = withoutMark(text)
				}
				if err != nil {
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
	c.Flags().BoolVar(&yes, "yes", false, "send a method other than GET")
	return c
}
