package database

import "testing"

// libpq and pgx read a password from the query, too.
func TestNameShowsNoPassword(t *testing.T) {
	for path, want := range map[string]string{
		"postgres://bots:secret@db.example/races":                  "postgres://bots:xxxxx@db.example/races",
		"postgresql://bots@db.example/races?password=secret&a=b":   "postgresql://bots@db.example/races",
		"postgres://bots:sec%ret@db.example/races?password=secret": "postgres://…",
		"POSTGRES://bots:secret@db.example/races":                  "postgres://bots:xxxxx@db.example/races",
		"host=db.example password=secret":                          "…",
	} {
		if got := Name(path); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
