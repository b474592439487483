package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// transcript runs the command lines of a file of testdata one after another, as the first user
// of a fake, and compares what they print with the lines that follow them.
//
//	$ HORSERACING_API_KEY=wrong horseracing open
//	standard output
//	! standard error
//	status 4
//
// The status follows if it is not 0. $NAME stands for a value of places: $URL of the fake, $DIR a
// folder, $NOTHING, and those of the test. After env -i no variable is set.
//
// Other commands are fault JSON, which injects a fault, advance TIME, which advances the clock of
// the fake, race JSON, which adds a race, paid and requests, which print how many registrations and
// requests the fake has had, write FILE TEXT, and files, which prints the names of those in $DIR.
func transcript(t *testing.T, fake *horseracingtest.Server, name string, places map[string]string) {
	t.Helper()
	all := map[string]string{"URL": fake.URL, "DIR": t.TempDir(), "NOTHING": ""}
	maps.Copy(all, places)
	var back []string
	for name, value := range all {
		if value != "" {
			back = append(back, value, "$"+name)
		}
	}
	double.Transcript(t, filepath.Join("testdata", name+".txt"), func(command string) string {
		words := strings.Fields(command)
		for i, word := range words {
			words[i] = os.Expand(word, func(name string) string { return all[name] })
		}
		printed, err := perform(t, fake, all["DIR"], words)
		double.Equal(t, command, nil, err)
		return strings.NewReplacer(back...).Replace(printed)
	})
}

// perform executes a command of a transcript.
func perform(t *testing.T, fake *horseracingtest.Server, dir string, words []string) (printed string, err error) {
	t.Helper()
	rest := []byte(strings.Join(words[1:], " "))
	switch words[0] {
	case "fault":
		var fault horseracingtest.Fault
		err = json.Unmarshal(rest, &fault)
		fake.Inject(fault)
		return "", err
	case "race":
		var race horseracing.Race
		err = json.Unmarshal(rest, &race)
		fake.AddRaces(race)
		return "", err
	case "advance":
		by, err := time.ParseDuration(words[1])
		fake.Advance(by)
		return "", err
	case "paid":
		return fmt.Sprint(len(fake.Registrations())), nil
	case "requests":
		return fmt.Sprint(fake.RequestCount()), nil
	case "files":
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		return strings.Join(files, "\n"), err
	case "write":
		return "", os.WriteFile(words[1], []byte(strings.Join(words[2:], " ")), 0o600)
	}
	variables := environment(fake)
	if words[0] == "env" {
		variables, words = nil, words[2:]
	}
	for words[0] != "horseracing" {
		variables, words = append(variables, words[0]), words[1:]
	}
	got := run(t, variables, words[1:]...)
	printed = got.stdout
	if printed != "" && !strings.HasSuffix(printed, "\n") {
		printed += "\n"
	}
	for line := range strings.Lines(got.stderr) {
		printed += "! " + line
	}
	if got.status != 0 {
		printed += fmt.Sprintf("status %d\n", got.status)
	}
	return printed, nil
}
