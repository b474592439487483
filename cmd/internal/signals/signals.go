// Package signals ends the programs so that the outcome of no registration is lost: the first
// signal ends every wait except that for the response to a registration that was sent.
package signals

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Signals that package syscall does not define for js.
const hangup, brokenPipe = syscall.Signal(1), syscall.Signal(13)

// Received is the cause of a context that a signal has canceled.
type Received struct{ syscall.Signal }

func (r Received) Error() string { return fmt.Sprintf("signal: %v", r.Signal) }

// Status returns the exit status of a program that the signal has ended, as shells show it.
func (r Received) Status() int { return 128 + int(r.Signal) }

// Context returns a context that the first INT, TERM or HUP cancels, with a [Received] as its
// cause. It calls quit, which is to exit, at a second INT or TERM that comes a second later or
// more: service managers and terminals send TERM and HUP together. A HUP that is ignored when
// the program starts, as with nohup, stays ignored. From then on a write to a closed pipe is an
// error, instead of a signal.
func Context(quit func(Received)) context.Context {
	signal.Ignore(brokenPipe)
	ctx, cancel := context.WithCancelCause(context.Background())
	received := make(chan os.Signal, 1)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(hangup) {
		signal.Notify(received, hangup)
	}
	go func() {
		var first time.Time
		for s := range received {
			is := Received{s.(syscall.Signal)}
			switch {
			case ctx.Err() == nil:
				first = time.Now()
				cancel(is)
			case is.Signal != hangup && time.Since(first) >= time.Second:
				quit(is)
			}
		}
	}()
	return ctx
}
