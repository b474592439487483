package main

import (
	"os"
	"sync"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

// clients holds the clients of this process. A worker reads several windows at once, each with a readRaces of its
// own; one client for all of them means one rate limit, one retry budget and one set of connections.
var clients sync.Map // of clientKey to *horseracing.Client

type clientKey struct {
	baseURL, apiKey string
	perSecond       float64
}

// workerClient is this process's client, of the service that its environment names. At most perSecond requests
// leave the process, all windows together; there is no limit if it is zero.
func workerClient(perSecond float64) (*horseracing.Client, error) {
	key := clientKey{os.Getenv("HORSERACING_BASE_URL"), os.Getenv("HORSERACING_API_KEY"), perSecond}
	if client, ok := clients.Load(key); ok {
		return client.(*horseracing.Client), nil
	}
	opts := []horseracing.Option{program.Waits(os.Stderr)}
	if perSecond > 0 {
		opts = append(opts, horseracing.WithRateLimit(perSecond, max(1, int(perSecond))))
	}
	client, err := horseracing.NewClientFromEnv(opts...)
	if err != nil {
		return nil, err
	}
	first, _ := clients.LoadOrStore(key, client)
	return first.(*horseracing.Client), nil
}
