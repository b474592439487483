// Package service is what the examples share: the client of the service that they read.
package service

import (
	"log"
	"os"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// Connect returns a client of the service that HORSERACING_BASE_URL and HORSERACING_API_KEY
// name. If neither is set, it starts a fake of the service, which lives as long as the
// process, and returns that too. The fake shows the same races all day: it begins at
// midnight (UTC) and is advanced to the present.
func Connect(opts ...horseracing.Option) (*horseracing.Client, *horseracingtest.Server, error) {
	if os.Getenv("HORSERACING_BASE_URL") != "" || os.Getenv("HORSERACING_API_KEY") != "" {
		client, err := horseracing.NewClientFromEnv(opts...)
		return client, nil, err
	}
	now := time.Now().UTC()
	sinceMidnight := now.Sub(now.Truncate(24 * time.Hour))
	fake, err := horseracingtest.Start(horseracingtest.WithClock(func() time.Time { return time.Now().Add(-sinceMidnight) }))
	if err != nil {
		return nil, nil, err
	}
	fake.Advance(sinceMidnight)
	log.Print("reading a fake of the service; set HORSERACING_BASE_URL and HORSERACING_API_KEY to read the real one")
	return fake.Client(opts...), fake, nil
}
