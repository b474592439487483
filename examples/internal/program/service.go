package program

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// Service is what an example reads: the real service, or a fake of it that
// lives as long as the program.
type Service struct {
	Client *horseracing.Client
	Fake   *horseracingtest.Server // nil if it is the real one
}

// Connect reaches the service that HORSERACING_BASE_URL and HORSERACING_API_KEY
// name, or else starts a fake whose clock is this machine's, and prints which of the
// two it is.
func Connect(stderr io.Writer, fakeOptions []horseracingtest.Option, opts ...horseracing.Option) (*Service, error) {
	if os.Getenv("HORSERACING_BASE_URL") == "" && os.Getenv("HORSERACING_API_KEY") == "" {
		fake, err := horseracingtest.Start(append([]horseracingtest.Option{horseracingtest.WithClock(time.Now)}, fakeOptions...)...)
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(stderr, "Service: an embedded fake (for the real one set HORSERACING_BASE_URL and HORSERACING_API_KEY)")
		return &Service{fake.Client(opts...), fake}, nil
	}
	client, err := horseracing.NewClientFromEnv(opts...)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(stderr, "Service:", client.BaseURL())
	return &Service{Client: client}, nil
}

// Close ends the fake.
func (s *Service) Close() {
	if s.Fake != nil {
		s.Fake.Close()
	}
}

// Waits makes a client print a line, with the reason, when it waits for five
// seconds or more.
func Waits(out io.Writer) horseracing.Option {
	return horseracing.WithLogger(slog.New(longWaits{slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelWarn})}))
}

// longWaits drops retries after short waits.
type longWaits struct{ slog.Handler }

func (h longWaits) Handle(ctx context.Context, record slog.Record) error {
	isShort := false
	record.Attrs(func(a slog.Attr) bool {
		isShort = a.Key == "wait" && a.Value.Duration() < 5*time.Second
		return !isShort
	})
	if isShort {
		return nil
	}
	return h.Handler.Handle(ctx, record)
}
