package horseracing_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
)

// h1script is an HTTP/1 server that reads each request and hands it to next,
// with how many came before on the same connection.
func h1script(t *testing.T, next func(c net.Conn, r *http.Request, before int)) (url string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				reader := bufio.NewReader(c)
				for before := 0; ; before++ {
					r, err := http.ReadRequest(reader)
					if err != nil {
						return
					}
					io.Copy(io.Discard, r.Body)
					next(c, r, before)
				}
			}()
		}
	}()
	return "http://" + l.Addr().String()
}
