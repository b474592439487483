package horseracing

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// No slice of a clone has elements in common with the original's. A member that is
// copied in another way has to be added here.
func TestRaceCloneSharesNothingThatCanBeChanged(t *testing.T) {
	var race Race
	original := reflect.ValueOf(&race).Elem()
	for i := range original.NumField() {
		switch member := original.Field(i); member.Kind() {
		case reflect.Slice:
			member.Set(reflect.MakeSlice(member.Type(), 2, 2))
		case reflect.Pointer, reflect.Map:
			t.Errorf("%s: clone has to copy it, and this test to see it", original.Type().Field(i).Name)
		}
	}
	clone := race.clone()
	if diff := cmp.Diff(&race, clone); diff != "" {
		t.Errorf("the clone differs:\n%s", diff)
	}
	for i := range original.NumField() {
		member, copied := original.Field(i), reflect.ValueOf(clone).Elem().Field(i)
		if member.Kind() == reflect.Slice && member.Pointer() == copied.Pointer() {
			t.Errorf("the clone shares %s", original.Type().Field(i).Name)
		}
	}
}
