package main

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
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
	end     error        // of the input
	cancels []jsonrpc.ID // calls to be canceled since then

	mu      sync.Mutex
	calls   map[jsonrpc.ID]bool // without a response so far
	changed chan struct{}       // after calls
}

type pipeTransport struct {
	mcp.Transport
	signal context.Context
}

func (t pipeTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return &pipe{Connection: c, signal: t.signal, calls: map[jsonrpc.ID]bool{}, changed: make(chan struct{}, 1)}, err
}

func (p *pipe) Read(context.Context) (jsonrpc.Message, error) {
	if p.end == nil {
		message, err := p.Connection.Read(p.signal)
		if request, ok := message.(*jsonrpc.Request); ok && request.IsCall() {
			p.change(func() { p.calls[request.ID] = true })
		}
		if err == nil {
			return message, nil
		}
		p.end = err
		limited, cancel := context.WithTimeout(p.signal, endTime)
		defer cancel()
		p.cancels = p.wait(limited)
		if p.signal.Err() != nil {
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
		p.change(func() { delete(p.calls, response.ID) })
	}
	return err
}

// Close is called early if a response cannot be written. No other one will be, then.
func (p *pipe) Close() error {
	p.change(func() { clear(p.calls) })
	return p.Connection.Close()
}

func (p *pipe) change(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// wait returns when each call has its response, or with those that have none when ctx ends.
func (p *pipe) wait(ctx context.Context) []jsonrpc.ID {
	for {
		p.mu.Lock()
		open := slices.Collect(maps.Keys(p.calls))
		p.mu.Unlock()
		if len(open) == 0 || ctx.Err() != nil {
			return open
		}
		select {
		case <-p.changed:
		case <-ctx.Done():
		}
	}
}
