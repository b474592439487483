package ledger_test

import (
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
)

// It is in this package because the tests of the root do without a driver. The columns of SQLite and of PostgreSQL
// are of other types, so that what is stored in them is read in every form.
func TestARaceIsReadBackFromADatabaseAsItWas(t *testing.T) {
	db := connect(t, newAddress(t))
	amount, instants := "TEXT", []string{"TIMESTAMP", "TIMESTAMPTZ", "TEXT"}
	if isPostgres {
		amount, instants = "NUMERIC", []string{"TIMESTAMPTZ"}
	}
	want := horseracing.Race{MainRaceID: 7, Tier: horseracing.TierNameOmega, Prizes: make([]horseracing.Number, 3)}
	want.StartTime = horseracing.NewTimestamp(time.UnixMilli(1767312000123))
	double.NoError(t, want.EntryFee.UnmarshalText([]byte("123456789012345678901234567890")))
	for i, prize := range []string{"12.50", "-2500000000000000000001", "7"} {
		double.NoError(t, want.Prizes[i].UnmarshalText([]byte(prize)))
	}
	cursor := newFake(t, 0).Client().Races.Results(horseracing.ResultsQuery{Before: want.StartTime.Time}).Cursor()
	for _, instant := range instants {
		write(t, db, `CREATE TABLE races (id BIGINT, start_time `+instant+`, deadline `+instant+`, tier TEXT, fee `+amount+`, first TEXT, second `+amount+`, third BIGINT, resume TEXT)`)
		write(t, db, `INSERT INTO races VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			want.MainRaceID, want.StartTime, want.RegistrationDeadline, want.Tier, want.EntryFee, want.Prizes[0], want.Prizes[1], want.Prizes[2], cursor)
		got, resume := horseracing.Race{Prizes: make([]horseracing.Number, 3)}, horseracing.Cursor{}
		double.NoError(t, db.QueryRow(`SELECT * FROM races`).Scan(&got.MainRaceID, &got.StartTime, &got.RegistrationDeadline, &got.Tier,
			&got.EntryFee, &got.Prizes[0], &got.Prizes[1], &got.Prizes[2], &resume))
		double.Equal(t, "race with times as "+instant, want, got)
		double.Equal(t, "cursor", cursor, resume)
		var fee horseracing.BigInt
		err := db.QueryRow(`SELECT CAST(fee AS DOUBLE PRECISION) FROM races`).Scan(&fee)
		double.FailIf(t, err == nil, "a float is read as a fee: %v", fee)
		write(t, db, `DROP TABLE races`)
	}
}
