package program

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// Service is what an example reads: the real service, or a fake of it that
// lives as long as the program.
type Service struct {
	Client  *horseracing.Client
	Name    string                  // for the reader: which of the two it is
	Fake    *horseracingtest.Server // nil if it is the real one
	UserKey horseracing.UserKey     // the user's key; empty: none is known
	Horse   horseracing.HorseNumber // a horse of that user; zero: none is known
	Close   func()
}

// Configured reports whether the environment names a service.
func Configured() bool {
	return os.Getenv("HORSERACING_BASE_URL") != "" || os.Getenv("HORSERACING_API_KEY") != ""
}

// Connect reaches the service that HORSERACING_BASE_URL and HORSERACING_API_KEY
// name, with the user's key from HORSERACING_USER_KEY. If neither of the first
// two is set it starts a fake whose races go on with the clock.
func Connect(opts ...horseracing.Option) (*Service, error) {
	return ConnectOrStart(func() (*horseracingtest.Server, error) {
		return horseracingtest.Start(horseracingtest.WithClock(time.Now))
	}, opts...)
}

// ConnectOrStart is Connect with a fake of the caller's own.
func ConnectOrStart(start func() (*horseracingtest.Server, error), opts ...horseracing.Option) (*Service, error) {
	if !Configured() {
		fake, err := start()
		if err != nil {
			return nil, err
		}
		return &Service{
			Client:  fake.Client(opts...),
			Name:    "an embedded fake (for the real one set HORSERACING_BASE_URL and HORSERACING_API_KEY)",
			Fake:    fake,
			UserKey: fake.UserKey(0),
			Horse:   fake.Horses(0)[0],
			Close:   fake.Close,
		}, nil
	}
	client, err := horseracing.NewClientFromEnv(opts...)
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

// Announce prints which service it is. A program whose output is data
// announces on standard error.
func (s *Service) Announce(w io.Writer) { fmt.Fprintf(w, "Service: %s\n", s.Name) }

// Pace returns a few words for a reader if the service sets the pace: how many
// requests a second the client learned that it allows. Otherwise it is empty.
func Pace(client *horseracing.Client) string {
	switch allowed := client.Pace().PerSecond; {
	case allowed == 0:
		return ""
	case allowed < 10:
		return fmt.Sprintf("service allows about %.1f requests a second", allowed)
	default:
		return fmt.Sprintf("service allows about %.0f requests a second", allowed)
	}
}
