package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// endTime is how long a call may take after the end of the input: an attempt of a registration.
const endTime = 30 * time.Second

// pipe is a transport over standard input and output. The SDK takes the end of the input for a
// cancellation of all calls, so the pipe ends only after they were answered.
type pipe struct {
	mcp.Connection
	calls sync.WaitGroup // without a response so far
}

// newPipe returns a pipe that ignores lines that are not JSON: any other transport ends with
// them.
func newPipe(stdin io.Reader, stdout io.WriteCloser, stderr io.Writer) mcp.Transport {
	lines, filtered := io.Pipe()
	go func() { filtered.CloseWithError(copyJSON(filtered, stdin, stderr)) }()
	return pipeTransport{&mcp.IOTransport{Reader: lines, Writer: stdout}}
}

type pipeTransport struct{ mcp.Transport }

func (t pipeTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return &pipe{Connection: c}, err
}

func copyJSON(to io.Writer, from io.Reader, stderr io.Writer) error {
	for lines := bufio.NewReader(from); ; {
		line, err := lines.ReadBytes('\n')
		if json.Valid(line) {
			to.Write(line)
		} else if len(bytes.TrimSpace(line)) > 0 {
			fmt.Fprintf(stderr, "horseracing-mcp: ignored a line of %d bytes that is not JSON\n", len(line))
		}
		if err != nil {
			return err
		}
	}
}

func (p *pipe) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := p.Connection.Read(ctx)
	if request, ok := message.(*jsonrpc.Request); ok && request.IsCall() {
		p.calls.Add(1)
	}
	if err != nil {
		answered := make(chan struct{})
		go func() {
			p.calls.Wait()
			close(answered)
		}()
		select {
		case <-answered:
		case <-time.After(endTime):
		}
	}
	return message, err
}

func (p *pipe) Write(ctx context.Context, message jsonrpc.Message) error {
	err := p.Connection.Write(ctx, message)
	if _, ok := message.(*jsonrpc.Response); ok {
		p.calls.Done()
	}
	return err
}
