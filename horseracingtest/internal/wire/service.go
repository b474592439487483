package wire

import "net/http"

// service is the end of the chain.
func service(reading *readings, late *late, keys headers) handle {
	return func(c *call) response {
		now := late.catchUp()
		parsed, no := parse(c, keys, now)
		if no != nil {
			out := refused(no)
			if op, _, _ := find(c.request.URL.EscapedPath()); no.Status == http.StatusMethodNotAllowed {
				out.header = http.Header{"Allow": {op.method}}
			}
			return out
		}
		return reading.do(parsed.does, parsed.argument, parsed.body, now)
	}
}
