package main

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// endTime is how long calls may take after the end of the input, before they are canceled.
const endTime = 30 * time.Second

// pipe is a transport over standard input and output that ends after each call has its
// response: when the SDK reads the end of its input, it drops all responses. At a signal the
// pipe cancels the calls, as a host does, and at the end of the input it does so after
// endTime. A registration that was sent continues nevertheless, until it has its outcome.
type pipe struct {
	mcp.Connection
	signal  context.Context
	calls   sync.Map     // the jsonrpc.ID of each that has no response so far
	end     error        // of the input
	cancels []jsonrpc.ID // calls to be canceled since then
}

type pipeTransport struct {
	mcp.Transport
	signal context.Context
}

func (t pipeTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return &pipe{Connection: c, signal: t.signal}, err
}

func (p *pipe) Read(context.Context) (jsonrpc.Message, error) {
	if p.end == nil {
		message, err := p.Connection.Read(p.signal)
		if request, ok := message.(*jsonrpc.Request); ok && request.IsCall() {
			p.calls.Store(request.ID, nil)
		}
		if err == nil {
			return message, nil
		}
		limited, cancel := context.WithTimeout(p.signal, endTime)
		defer cancel()
		p.cancels = p.wait(limited)
		if p.end = err; p.signal.Err() != nil {
			p.end = io.EOF
		}
	}
	if len(p.cancels) > 0 {
		params, err := json.Marshal(mcp.CancelledParams{RequestID: p.cancels[0].Raw()})
		p.cancels = p.cancels[1:]
		return &jsonrpc.Request{Method: "notifications/cancelled", Params: params}, err
	}
	p.wait(context.Background())
	return nil, p.end
}

func (p *pipe) Write(ctx context.Context, message jsonrpc.Message) error {
	err := p.Connection.Write(ctx, message)
	if response, ok := message.(*jsonrpc.Response); ok {
		p.calls.Delete(response.ID)
	}
	return err
}

// Close is called early if a response could not be written. No other one is, then.
func (p *pipe) Close() error {
	p.calls.Clear()
	return p.Connection.Close()
}

// wait returns nil when each call has its response, or those that have none when ctx ends.
func (p *pipe) wait(ctx context.Context) (open []jsonrpc.ID) {
	for ; ; time.Sleep(10 * time.Millisecond) {
		open = nil
		for id := range p.calls.Range {
			open = append(open, id.(jsonrpc.ID))
		}
		if open == nil || ctx.Err() != nil {
			return open
		}
	}
}
