package main

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// endTime is how long a call may take after the end of the input: an attempt of a registration.
const endTime = 30 * time.Second

// pipe is a transport over standard input and output. The SDK takes the end of the input for a
// cancellation of all calls, so the pipe ends only after each has its response.
type pipe struct {
	mcp.Connection
	calls sync.WaitGroup // without a response so far
}

type pipeTransport struct{ mcp.Transport }

func (t pipeTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return &pipe{Connection: c}, err
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
