package pace

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

// TestNoConstantIsCritical: with any number of the tuning changed by half, the
// engine still gets 85 % of what each of these services allows.
func TestNoConstantIsCritical(t *testing.T) {
	var kinds []scenario
	for _, s := range scenarios() {
		switch s.name {
		case "bucket 5/s burst 10, ra none, 16", "bucket 5/s burst 10, ra s, 16",
			"bucket 50/s burst 10, ra none, 16", "bucket 50/s burst 10, ra s, 16",
			"window 60/10s sliding=false, ra none", "window 60/10s sliding=false, ra s",
			"in flight 4, 20ms, ra none", "in flight 4, 20ms, ra s":
			s.length = 100 * time.Second
			kinds = append(kinds, s)
		}
	}
	if len(kinds) != 8 {
		t.Fatalf("%d of 8 kinds", len(kinds))
	}
	able := make([]float64, len(kinds))
	for i, s := range kinds {
		able[i] = s.limit().best(20*time.Millisecond) * s.length.Seconds()
	}
	names := reflect.TypeFor[tuning]()
	worst, most := 2.0, 0.0
	for field := range names.NumField() {
		for _, by := range []float64{0.5, 1.5} {
			changed := defaults()
			value := reflect.NewAt(names.Field(field).Type, reflect.ValueOf(&changed).Elem().Field(field).Addr().UnsafePointer()).Elem()
			if value.CanInt() {
				value.SetInt(int64(float64(value.Int()) * by))
			} else {
				value.SetFloat(value.Float() * by)
			}
			change := fmt.Sprintf("%s × %v", names.Field(field).Name, by)
			for i, s := range kinds {
				accepted, refused := sum(s.run(1, func(w *world) sender { return tuned(changed, w.random.Float64, time.Second, time.Minute) }))
				share := float64(accepted) / able[i]
				if share < worst {
					worst = share
					t.Logf("%.1f %%: %s, %s", 100*share, change, s.name)
				}
				if refused > most {
					most = refused
					t.Logf("%.1f %% refused: %s, %s", 100*most, change, s.name)
				}
				if share < 0.85 {
					t.Errorf("%s: %.1f %% of %s", change, 100*share, s.name)
				}
			}
		}
	}
}
