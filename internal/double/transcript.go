package double

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write anew what the tests compare with files of testdata")

// Golden compares a text with that of a file.
func Golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		Equal(t, "writing "+path, nil, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	Equal(t, "reading "+path, nil, err)
	Equal(t, path+", which go test -update accepts", string(want), got)
}

// Transcript performs the commands of a file one after another, and compares the text that each
// returns with the lines that follow it, in which an … stands for any text of a line. The line of
// a command begins with "$ ", and a comment with "# ". With -update it writes what differs.
func Transcript(t *testing.T, path string, perform func(command string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	Equal(t, "reading "+path, nil, err)
	var after strings.Builder
	for _, block := range regexp.MustCompile(`(?m)^[$#] .*\n(?:(?:[^$#\n]|[$#][^ ]).*\n|\n)*`).FindAllString(string(text), -1) {
		line, want, _ := strings.Cut(block, "\n")
		if command, isCommand := strings.CutPrefix(line, "$ "); isCommand {
			got := perform(command)
			if got != "" && !strings.HasSuffix(got, "\n") {
				got += "\n"
			}
			pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*")
			switch {
			case regexp.MustCompile("^" + pattern + "$").MatchString(got):
			case *update:
				want = got
			default:
				Equal(t, path+": "+line, want, got)
			}
		}
		after.WriteString(line + "\n" + want)
	}
	if after.String() != string(text) { // it is updated, or a line of it belongs to no command
		Golden(t, path, after.String())
	}
}
