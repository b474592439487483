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

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// A token is at least two bytes of JSON, mostly three or four.
const tenThousandTokens = 25_000

// transcript calls the tools that a file of testdata names, with the arguments after the name, and
// compares the texts that they return. $PLAN1 is the latest plan for race 1.
//
// Other commands are fault JSON, which injects a fault into the fake, race NUMBER JSON, which adds
// a race with these members, posts, which prints how many registrations were sent, and sleep TIME.
func transcript(t *testing.T, fake *horseracingtest.Server, s session, name string) {
	t.Helper()
	plans := map[string]string{}
	double.Transcript(t, filepath.Join("testdata", name+".txt"), func(command string) string {
		name, text, _ := strings.Cut(command, " ")
		text = os.Expand(text, func(name string) string { return plans[name] })
		var err error
		printed := ""
		switch name {
		case "fault":
			var fault horseracingtest.Fault
			err = json.Unmarshal([]byte(text), &fault)
			fake.Inject(fault)
		case "race":
			var id horseracing.RaceID
			_, err = fmt.Sscan(text, &id)
			_, members, _ := strings.Cut(text, " ")
			addRace(t, fake, id, func(r *horseracing.Race) { double.Equal(t, command, nil, json.Unmarshal([]byte(members), r)) })
		case "sleep":
			var d time.Duration
			d, err = time.ParseDuration(text)
			time.Sleep(d)
		case "posts":
			printed = fmt.Sprint(posts(fake))
		default:
			printed = s.textOf(name, json.RawMessage(text))
			for _, plan := range regexp.MustCompile(`"plan":"(1-(\d+)-[^"]+)"`).FindAllStringSubmatch(printed, -1) {
				plans["PLAN"+plan[2]] = plan[1]
			}
			for name, plan := range plans {
				printed = strings.ReplaceAll(printed, plan, "$"+name)
			}
		}
		double.Equal(t, command, nil, err)
		return printed
	})
}

// textOf returns the text of a result, which is not large, and has what the structured result has.
func (s session) textOf(tool string, args any) string {
	s.t.Helper()
	result, err := s.CallTool(s.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "protocol: " + err.Error()
	}
	text := result.Content[0].(*mcp.TextContent).Text
	if !result.IsError {
		var repeated any
		err = json.Unmarshal([]byte(text), &repeated)
		double.Equal(s.t, tool, result.StructuredContent, repeated)
	}
	if len(result.Content) != 1 || len(text) > tenThousandTokens || err != nil {
		s.t.Errorf("%s: %d bytes, %v, %d contents", tool, len(text), err, len(result.Content))
	}
	return text
}
