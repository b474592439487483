package horseracingtest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

// worldOfSeed1 is the hash of a sample of what the fake with seed 1 responds.
// It changes only where the world is changed on purpose.
const worldOfSeed1 = "c77169953678162fc38cf5947b2c138ef5c9487f28b48557f6d3c1c868b7afd1"

// CI runs this for a 32-bit processor too.
func TestASeedMakesTheSameWorldOnEveryProcessor(t *testing.T) {
	s := start(t, horseracingtest.WithHistory(200_000))
	hash := sha256.New()
	look := func(path, body string) {
		response, text := do(t, s, newRequest(t, s, "GET", path, body))
		hash.Write([]byte(path + body + response.Status + text))
	}
	hash.Write([]byte(s.APIKey + string(s.UserKey(3))))
	look("/api/v1/horses/user", `{"user_key":"`+string(s.UserKey(2))+`"}`)
	for number := 1; number < 4096; number += 97 {
		look("/api/v1/horses/"+itoa(number), "")
		look("/api/v1/horses/missions/"+itoa(number), "")
	}
	for range 3 {
		look("/api/v1/horses/breeding/open", "")
		look(openPath, "")
		look("/api/v1/tournaments/open", "")
		look("/api/v1/missions", "")
		for tier := 1; tier <= 5; tier++ {
			for _, days := range []int{0, 30, 300, 3000} {
				before := `{"tier":` + itoa(tier) + `,"start_time_from":` + itoa(s.Now().Add(time.Duration(-24*days)*time.Hour).UnixMilli()) + `}`
				look(resultsPath, before)
				look("/api/v1/tournaments/results", before)
			}
			for _, offset := range []string{"0", "12345", "199995", "5000000000"} {
				look(resultsV1Path, `{"tier":`+itoa(tier)+`,"offset":`+offset+`}`)
			}
		}
		for id := 1001; id < 280_000; id += 17_003 {
			look("/api/v1/races/"+itoa(id), "")
		}
		s.Advance(7 * time.Hour)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != worldOfSeed1 {
		t.Errorf("the world of seed 1 has the hash %s, want %s", got, worldOfSeed1)
	}
}
