package program

import (
	"os"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// Service is what an example talks to: the real service, or a fake of it that
// lives as long as the program.
type Service struct {
	Client  *horseracing.Client
	Name    string                  // for the reader: which of the two it is
	UserKey horseracing.UserKey     // the user's key; empty: none is known
	Horse   horseracing.HorseNumber // a horse of that user; zero: none is known
	Close   func()
}

// Connect reaches the service that HORSERACING_BASE_URL and HORSERACING_API_KEY
// name, with the user's key from HORSERACING_USER_KEY. Where none of the first
// two is set it starts a fake.
func Connect() (*Service, error) {
	if os.Getenv("HORSERACING_BASE_URL") == "" && os.Getenv("HORSERACING_API_KEY") == "" {
		fake, err := horseracingtest.Start(horseracingtest.WithClock(time.Now))
		if err != nil {
			return nil, err
		}
		return &Service{
			Client:  fake.Client(),
			Name:    "an embedded fake (for the real one set HORSERACING_BASE_URL and HORSERACING_API_KEY)",
			UserKey: fake.UserKey(0),
			Horse:   fake.Horses(0)[0],
			Close:   fake.Close,
		}, nil
	}
	client, err := horseracing.NewClientFromEnv()
	if err != nil {
		return nil, err
	}
	return &Service{
		Client:  client,
		Name:    os.Getenv("HORSERACING_BASE_URL"),
		UserKey: horseracing.UserKey(os.Getenv("HORSERACING_USER_KEY")),
		Close:   func() {},
	}, nil
}
