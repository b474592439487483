package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// transcript runs the command lines of a file of testdata one after another, as the first user
// of a fake, and compares what they print with the lines that follow them.
//
//	$ HORSERACING_API_KEY=wrong horseracing open
//	standard output
//	! standard error
//	status 4
//
// The status follows if it is not 0. An … in these lines stands for any text of a line, and $NAME
// for a value of places: $URL of the fake, $DIR a folder, $NOTHING, and those of the test. After
// env -i no variable is set. These command lines are about the fake: fault JSON injects a fault, advance
// TIME advances its clock, race JSON adds a race, and paid prints how many registrations it has.
// write FILE TEXT writes a file, and files prints the names of those in $DIR. A line that begins with # is a comment.
func transcript(t *testing.T, fake *horseracingtest.Server, name string, places map[string]string) {
	t.Helper()
	all := map[string]string{"URL": fake.URL, "DIR": t.TempDir(), "NOTHING": ""}
	for name, value := range places {
		all[name] = value
	}
	path := filepath.Join("testdata", name+".txt")
	text, err := os.ReadFile(path)
	equal(t, "reading "+path, nil, err)
	var after strings.Builder
	for _, block := range regexp.MustCompile(`(?m)^[$#] .*\n(?:(?:[^$#\n]|[$#][^ ]).*\n|\n)*`).FindAllString(string(text), -1) {
		line, want, _ := strings.Cut(block, "\n")
		if command, isCommand := strings.CutPrefix(line, "$ "); isCommand {
			words := strings.Fields(command)
			for i, word := range words {
				words[i] = os.Expand(word, func(name string) string { return all[name] })
			}
			got := perform(t, fake, all["DIR"], words)
			for name, value := range all {
				if value != "" {
					got = strings.ReplaceAll(got, value, "$"+name)
				}
			}
			pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*")
			switch {
			case regexp.MustCompile("^" + pattern + "$").MatchString(got):
			case *update:
				want = got
			default:
				equal(t, path+": "+line, want, got)
			}
		}
		after.WriteString(line + "\n" + want)
	}
	if *update {
		writeFile(t, path, after.String())
	}
	equal(t, path+" as it was read", string(text), after.String())
}

// perform executes a command line of a transcript, and returns what follows it there.
func perform(t *testing.T, fake *horseracingtest.Server, dir string, words []string) (printed string) {
	t.Helper()
	variables := environment(fake)
	var err error
	switch words[0] {
	case "fault":
		var fault horseracingtest.Fault
		err = json.Unmarshal([]byte(strings.Join(words[1:], " ")), &fault)
		fake.Inject(fault)
	case "advance":
		var by time.Duration
		by, err = time.ParseDuration(words[1])
		fake.Advance(by)
	case "race":
		var race horseracing.Race
		err = json.Unmarshal([]byte(strings.Join(words[1:], " ")), &race)
		fake.AddRaces(race)
	case "files":
		var files []string
		files, err = filepath.Glob(filepath.Join(dir, "*"))
		printed = strings.Join(files, "\n")
	case "write":
		writeFile(t, words[1], strings.Join(words[2:], " "))
	case "paid":
		printed = fmt.Sprint(len(fake.Registrations()))
	default:
		if words[0] == "env" {
			variables, words = nil, words[2:]
		}
		for words[0] != "horseracing" {
			variables, words = append(variables, words[0]), words[1:]
		}
		got := run(t, variables, words[1:]...)
		printed = got.stdout
		for line := range strings.Lines(got.stderr) {
			printed += "! " + line
		}
		if got.status != 0 {
			printed += fmt.Sprintf("status %d\n", got.status)
		}
	}
	equal(t, strings.Join(words, " "), nil, err)
	if printed != "" && !strings.HasSuffix(printed, "\n") {
		printed += "\n"
	}
	return printed
}
