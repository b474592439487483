package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/horseracing-go/horseracing"
)

const (
	firstWait   = 250 * time.Millisecond
	longestWait = 30 * time.Second

	// A registration that is still on its way cannot arrive in time once the
	// deadline lies so far back, even if the clocks differ a little.
	afterDeadline = time.Minute
)

// settle asks, at growing intervals, whether a registration of unknown outcome
// arrived. It returns nil when the horse is in the race. That it is not listed
// yet proves nothing: only when the deadline has passed without it, the
// registration certainly failed. It ends with the context at the latest, and
// then the outcome stays unknown.
func settle(ctx context.Context, client *horseracing.Client, race *horseracing.Race, horse horseracing.HorseNumber, w io.Writer, unknown error) error {
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		asked := time.Now()
		registered, err := client.Races.Registered(ctx, race.MainRaceID, horse)
		switch {
		case err == nil && registered:
			return nil
		case err == nil && asked.After(race.RegistrationDeadline.Add(afterDeadline)):
			return fmt.Errorf("the registration did not arrive: horse #%d is not in race %d, which has closed", horse, race.MainRaceID)
		case err == nil:
			fmt.Fprintf(w, "Not listed so far; asking again in %v.\n", wait)
		case ctx.Err() == nil:
			fmt.Fprintf(w, "Cannot ask (%v); trying again in %v.\n", err, wait)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("whether horse #%d is in race %d is not known, look before registering again: %w", horse, race.MainRaceID, unknown)
		}
	}
}
