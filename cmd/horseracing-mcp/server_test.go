package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// tools are those that a host is offered, by name.
func (s session) tools() map[string]*mcp.Tool {
	s.t.Helper()
	all := map[string]*mcp.Tool{}
	for tool, err := range s.Tools(s.t.Context(), nil) {
		double.NoError(s.t, err)
		all[tool.Name] = tool
	}
	return all
}

func TestWithoutALedgerNothingCanPayAndHintsAndTheBundleAreTrue(t *testing.T) {
	_, reader := open(t, settings{})
	_, payer := open(t, allowed(t))
	if problem := reader.call("register", map[string]any{"plan": payer.plan(1).Plan}, nil); !strings.HasPrefix(problem, "protocol: ") {
		t.Errorf("register without a ledger: %q", problem)
	}
	reading, all := reader.tools(), payer.tools() // after the error, too
	var bundle struct {
		Version string
		Tools   []struct{ Name string }
	}
	data, err := os.ReadFile("manifest.json")
	double.NoError(t, errors.Join(err, json.Unmarshal(data, &bundle)))
	var bundled []string
	for _, tool := range bundle.Tools {
		bundled = append(bundled, tool.Name)
	}
	slices.Sort(bundled)
	double.Equal(t, "the tools of the bundle", slices.Sorted(maps.Keys(reading)), bundled)
	double.Equal(t, "how many read, and the version of the bundle", []any{8, horseracing.Version}, []any{len(reading), bundle.Version})
	var hints strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		tool := all[name]
		annotations, err := json.Marshal(tool.Annotations)
		fmt.Fprintf(&hints, "%s %s\n", name, annotations)
		if err != nil || tool.Title == "" || tool.Description == "" || tool.OutputSchema == nil || tool.InputSchema == nil {
			t.Errorf("%s: %+v, %v", name, tool, err)
		}
	}
	double.Golden(t, "testdata/hints.txt", hints.String())
}
