package horseracing_test

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
)

var (
	_ driver.Valuer = horseracing.UserKey("")
	_ sql.Scanner   = (*horseracing.Cursor)(nil)
)

func TestValuesGoThroughADatabase(t *testing.T) {
	instant := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	var big, one horseracing.BigInt
	double.NoError(t, big.UnmarshalText([]byte("123456789012345678901234567890")))
	double.NoError(t, one.UnmarshalText([]byte("1")))
	var half horseracing.Number
	double.NoError(t, half.UnmarshalText([]byte("0.50")))
	scan := func(out sql.Scanner) func(any) (any, error) {
		return func(value any) (any, error) { err := out.Scan(value); return out, err }
	}
	for _, test := range []struct {
		valuer driver.Valuer
		stored driver.Value   // as it is sent
		read   []driver.Value // what reads back as the same
		into   func() sql.Scanner
	}{
		{big, big.String(), []driver.Value{[]byte(big.String())}, func() sql.Scanner { return &horseracing.BigInt{} }},
		{one, "1", []driver.Value{int64(1), "1.0"}, func() sql.Scanner { return &horseracing.BigInt{} }},
		{horseracing.BigInt{}, "0", []driver.Value{nil, int64(0)}, func() sql.Scanner { b := one; return &b }},
		{half, "0.50", []driver.Value{[]byte("0.50")}, func() sql.Scanner { return &horseracing.Number{} }},
		{horseracing.Number{}, "0", []driver.Value{nil, int64(0)}, func() sql.Scanner { n := half; return &n }},
		{horseracing.Cursor{}, "", []driver.Value{nil, []byte{}}, func() sql.Scanner { return &horseracing.Cursor{} }},
		{horseracing.NewTimestamp(instant), instant, []driver.Value{instant.Local(), instant.UnixMilli(), instant.String(), instant.Format(time.RFC3339Nano), "2026-01-02 04:04:05.006+01:00"}, func() sql.Scanner { return &horseracing.Timestamp{} }},
		{horseracing.Timestamp{}, nil, []driver.Value{time.Time{}}, func() sql.Scanner { ts := horseracing.NewTimestamp(instant); return &ts }},
	} {
		stored, err := test.valuer.Value()
		double.NoError(t, err)
		double.Equal(t, "stored", test.stored, stored)
		for _, value := range append(test.read, stored) {
			got, err := scan(test.into())(value)
			double.NoError(t, err)
			again, err := got.(driver.Valuer).Value()
			double.NoError(t, err)
			double.Equal(t, fmt.Sprintf("%T read from %v", got, value), stored, again)
		}
	}
	for _, test := range []struct {
		out   sql.Scanner
		value any
	}{{&horseracing.BigInt{}, 1.5}, {&horseracing.BigInt{}, "x"}, {&horseracing.Number{}, 1.0}, {&horseracing.Cursor{}, "x"}, {&horseracing.Timestamp{}, "2026-01-02 03:04:05"}, {&horseracing.Timestamp{}, 1.5}, {&horseracing.Timestamp{}, int64(1 << 60)}} {
		double.FailIf(t, test.out.Scan(test.value) == nil, "%T reads %v", test.out, test.value)
	}
}

func TestAUserKeyIsNotWrittenToADatabase(t *testing.T) {
	value, err := driver.DefaultParameterConverter.ConvertValue(horseracing.UserKey("the-user-key"))
	double.FailIf(t, err == nil || value != nil || strings.Contains(err.Error(), "the-user-key"), "%v, %v", value, err)
}
