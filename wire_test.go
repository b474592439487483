package horseracing_test

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// Frame types, flags and error codes of HTTP/2 (RFC 9113).
const (
	frameData, frameHeaders, frameReset, frameSettings, frameGoAway = 0x0, 0x1, 0x3, 0x4, 0x7

	flagEndStream, flagAck = 0x1, 0x1

	noError, protocolError, refusedStream = 0x0, 0x1, 0x7
)

// h2script is an HTTP/2 server that does what no library would: it reads a
// request to its end, then refuses it in one of the protocol's ways.
type h2script struct {
	URL      string
	Client   *http.Client
	Requests atomic.Int64 // read to their end
}

// playH2 starts a server that responds to every request with refuse.
func playH2(t *testing.T, refuse func(c net.Conn, stream uint32)) *h2script {
	lender := httptest.NewTLSServer(nil) // lends its certificate
	t.Cleanup(lender.Close)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: lender.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	transport := lender.Client().Transport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2 = true
	t.Cleanup(transport.CloseIdleConnections)
	s := &h2script{URL: "https://" + l.Addr().String(), Client: &http.Client{Transport: transport}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c, refuse)
		}
	}()
	return s
}

func (s *h2script) serve(c net.Conn, refuse func(net.Conn, uint32)) {
	defer c.Close()
	preface := make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	if _, err := io.ReadFull(c, preface); err != nil {
		return
	}
	writeFrame(c, frameSettings, 0, 0, nil)
	for {
		var head [9]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return
		}
		length := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, err := io.CopyN(io.Discard, c, length); err != nil {
			return
		}
		kind, flags, stream := head[3], head[4], binary.BigEndian.Uint32(head[5:])
		switch {
		case kind == frameSettings && flags&flagAck == 0:
			writeFrame(c, frameSettings, flagAck, 0, nil)
		case (kind == frameData || kind == frameHeaders) && flags&flagEndStream != 0:
			s.Requests.Add(1)
			refuse(c, stream)
		}
	}
}

func writeFrame(c net.Conn, kind, flags byte, stream uint32, payload []byte) {
	frame := []byte{0, 0, byte(len(payload)), kind, flags} // payloads here are short
	frame = binary.BigEndian.AppendUint32(frame, stream)
	c.Write(append(frame, payload...))
}

// resetStream refuses one request.
func resetStream(code uint32) func(net.Conn, uint32) {
	return func(c net.Conn, stream uint32) {
		writeFrame(c, frameReset, 0, stream, binary.BigEndian.AppendUint32(nil, code))
	}
}

// goAway sends the frame that means that no request of the connection was handled.
func goAway(code uint32) func(net.Conn, uint32) {
	return func(c net.Conn, _ uint32) {
		writeFrame(c, frameGoAway, 0, 0, binary.BigEndian.AppendUint32(make([]byte, 4), code))
	}
}

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
