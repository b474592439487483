package horseracing_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Doc comments link to sections of docs/service.md, by the anchors that a forge
// makes of headings.
func TestEveryLinkToTheAPIReferenceLeadsToASection(t *testing.T) {
	reference, err := os.ReadFile("docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	dropped := regexp.MustCompile(`[^a-z0-9 -]`)
	for line := range strings.Lines(string(reference)) {
		if _, title, ok := strings.Cut(line, "# "); ok && line[0] == '#' {
			anchor := dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			anchors[strings.ReplaceAll(anchor, " ", "-")] = true
		}
	}
	link := regexp.MustCompile(`docs/service\.md#([\w-]*)`)
	links := 0
	for _, pattern := range []string{"*.go", "*/*.go"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range link.FindAllStringSubmatch(string(text), -1) {
				if links++; !anchors[found[1]] {
					t.Errorf("%s: no section #%s", file, found[1])
				}
			}
		}
	}
	if links < 20 {
		t.Errorf("only %d links", links)
	}
}
