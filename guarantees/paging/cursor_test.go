package paging_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"testing"
	"testing/synctest"

	"github.com/horseracing-go/horseracing"
)

func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add("hr4.r2.5.eyJwb3NpdGlvbiI6eyJhdCI6NDY2NTUsInNlZW4iOlsiMSJdfX0") // without its checksum
	f.Add("hr4.r1.5.eyJwb3NpdGlvbiI6eyJhdCI6MjAsInNlZW4iOlsiMTFAbG95dzN2MjgiXX19")
	f.Add("hr4.r1.0")
	w := dense(30)
	check := func(t *testing.T, text string) {
		for _, text := range []string{text, fmt.Sprintf("%s.%08x", text, crc32.ChecksumIEEE([]byte(text)))} {
			c, err := horseracing.ParseCursor(text)
			if err != nil {
				if !errors.Is(err, horseracing.ErrInvalidArgument) || len(err.Error()) > 200 {
					t.Fatalf("%v", err)
				}
				continue
			}
			if c.String() != text {
				t.Fatalf("%q is read, and written as %q", text, c)
			}
			// Wherever it is, a walk continues there or returns an error.
			w.requests = 0
			for _, p := range []*horseracing.Pager[horseracing.Race]{
				w.client(t).Races.Results(horseracing.ResultsQuery{Resume: c, Concurrency: 1 + len(text)%3}),
				w.client(t).Races.ResultsV1(horseracing.OffsetQuery{Resume: c}),
			} {
				_, err := p.Take(t.Context(), 20)
				_, unreadable := errors.AsType[*horseracing.DecodeError](err) // no start fits a position so far away
				known := unreadable || errors.Is(err, horseracing.ErrInvalidArgument) || errors.Is(err, horseracing.ErrBodyIgnored)
				if err != nil && !known || w.requests > 100 {
					t.Fatalf("%q: %d requests, %v", text, w.requests, err)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) { // in virtual time: an empty page may be requested again
		synctest.Test(t, func(t *testing.T) { check(t, text) })
	})
}
