package horseracingtest_test

import (
	"encoding/json"
	"testing"
	"time"
)

func TestABreedingCooldownIsATimestampUntilItHasPassed(t *testing.T) {
	s := start(t)
	for number := 1; ; number++ {
		path := "/api/v1/horses/" + itoa(number)
		text := string(get[map[string]json.RawMessage](t, s, path, "")["breeding_cooldown"])
		if text == "null" {
			continue
		}
		at, err := time.Parse(`"2006-01-02T15:04:05.000Z"`, text)
		if err != nil || !at.After(s.Now()) {
			t.Fatalf("cooldown %s: %v", text, err)
		}
		s.Advance(at.Sub(s.Now()))
		if text := string(get[map[string]json.RawMessage](t, s, path, "")["breeding_cooldown"]); text != "null" {
			t.Errorf("the cooldown that ends now is %s", text)
		}
		return
	}
}
