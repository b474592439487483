package horseracing

import (
	"math"
	"math/big"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A member that is added to Race, or to what it holds, and that clone forgets
// fails here.
func TestACloneOfARaceSharesNothingThatCanBeChanged(t *testing.T) {
	var original Race
	fill(t, reflect.ValueOf(&original).Elem())
	clone := original.clone()
	if diff := cmp.Diff(&original, clone); diff != "" {
		t.Errorf("the clone differs:\n%s", diff)
	}
	if shared := sharedMembers("Race", reflect.ValueOf(original), reflect.ValueOf(*clone)); len(shared) > 0 {
		t.Errorf("the clone shares %v", shared)
	}
	shallow := original
	if shared := sharedMembers("Race", reflect.ValueOf(original), reflect.ValueOf(shallow)); len(shared) < 4 {
		t.Errorf("of a shallow copy only %v are found to be shared: this test shows nothing", shared)
	}
}

// isImmutable reports whether values of the type may be shared: their methods
// and their exported fields change nothing behind a pointer.
func isImmutable(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[BigInt](), reflect.TypeFor[Number](), reflect.TypeFor[Timestamp]():
		return true
	}
	return false
}

// fill sets every member, so that nothing is shared only for being empty.
func fill(t *testing.T, v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[BigInt]():
		v.Set(reflect.ValueOf(BigIntFrom(new(big.Int).Lsh(big.NewInt(1), 80))))
		return
	case reflect.TypeFor[Number]():
		v.Set(reflect.ValueOf(NewNumber(math.MaxInt64)))
		return
	case reflect.TypeFor[Timestamp]():
		v.Set(reflect.ValueOf(timestampOf(1_700_000_000_000)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(t, field)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key)
		fill(t, value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(7)
	default:
		t.Fatalf("a %v: teach this test how to fill it, and clone how to copy it", v.Type())
	}
}

// sharedMembers returns the members through which a change of one value shows in the other.
func sharedMembers(name string, a, b reflect.Value) (shared []string) {
	if isImmutable(a.Type()) {
		return nil
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			shared = append(shared, sharedMembers(name+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))...)
		}
	case reflect.Slice:
		if a.Pointer() == b.Pointer() {
			return []string{name}
		}
		for i := range a.Len() {
			shared = append(shared, sharedMembers(name+"[]", a.Index(i), b.Index(i))...)
		}
	case reflect.Pointer:
		if a.Pointer() == b.Pointer() {
			return []string{name}
		}
		return sharedMembers(name, a.Elem(), b.Elem())
	case reflect.Map:
		if a.Pointer() == b.Pointer() {
			return []string{name}
		}
		for _, key := range a.MapKeys() {
			shared = append(shared, sharedMembers(name+"[]", a.MapIndex(key), b.MapIndex(key))...)
		}
	}
	return shared
}
