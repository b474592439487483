package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	_ "image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing/examples/internal/programtest"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

func TestEveryChartIsDrawnInEveryFormat(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(400))
	defer fake.Close()
	t.Setenv("HORSERACING_BASE_URL", fake.URL)
	t.Setenv("HORSERACING_API_KEY", fake.APIKey)
	out := filepath.Join(t.TempDir(), "new", "pictures")
	var stdout, stderr strings.Builder
	for _, format := range []string{"png", "svg"} {
		if err := run(t.Context(), []string{"-out", out, "-format", format}, &stdout, &stderr); err != nil {
			t.Fatal(err)
		}
	}
	labels := map[string][]string{
		"times": {"all 400 races of tier Omega, DATES (UTC)", "hippodrome (totals)"},
		"fees":  {"entry fee (tokens, log scale)", "1000"},
	}
	for name, labels := range labels {
		data, err := os.ReadFile(filepath.Join(out, name+".png"))
		if err != nil {
			t.Fatal(err)
		}
		picture, _, err := image.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s.png: %v", name, err)
		}
		if n := colours(picture); n < 20 {
			t.Errorf("%s.png has only %d colours: it is empty", name, n)
		}
		texts, err := svgTexts(filepath.Join(out, name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			texts[i] = regexp.MustCompile(`\d+ \w+ \d+ to \d+ \w+ \d+`).ReplaceAllString(text, "DATES")
		}
		for _, label := range labels {
			if !slices.Contains(texts, label) {
				t.Errorf("%s.svg does not hold %q but %q", name, label, texts)
			}
		}
	}
	if got := strings.Count(stdout.String(), "\n"); got != 2*len(labels) {
		t.Errorf("it named %d files:\n%s", got, stdout.String())
	}
}

func colours(picture image.Image) int {
	seen := map[any]bool{}
	for y := picture.Bounds().Min.Y; y < picture.Bounds().Max.Y; y++ {
		for x := picture.Bounds().Min.X; x < picture.Bounds().Max.X; x++ {
			seen[picture.At(x, y)] = true
		}
	}
	return len(seen)
}

// svgTexts returns the texts in a picture; the file must be well-formed XML.
func svgTexts(path string) (texts []string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for decoder := xml.NewDecoder(file); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return texts, nil
		} else if err != nil {
			return nil, err
		}
		if data, ok := token.(xml.CharData); ok {
			if s := strings.TrimSpace(string(data)); s != "" {
				texts = append(texts, s)
			}
		}
	}
}

func TestTheLastMonthOfTheEmbeddedFakeIsDrawn(t *testing.T) {
	out := t.TempDir()
	r := programtest.Run(t, nil, "-out", out, "-since", "30d", "-format", "svg")
	if files, err := os.ReadDir(out); r.Status != 0 || len(files) != 2 || err != nil {
		t.Errorf("exit status %d, %d files, error %v\n%s", r.Status, len(files), err, r.Stderr)
	}
	for name := range strings.Lines(r.Stdout) {
		texts, err := svgTexts(strings.TrimSpace(name))
		if err != nil || !strings.HasPrefix(texts[len(texts)-1], "Invented by the embedded fake: all ") {
			t.Errorf("%s shows %q (%v)", name, texts, err)
		}
	}
}

func TestItStartsAndEndsAsEveryExample(t *testing.T) {
	programtest.ExpectUsage(t)
	programtest.ExpectErrors(t, "-out", t.TempDir())
	for _, args := range [][]string{{"-format", "gif"}, {"-newest", "0"}, {"-since", "yesterday"}} {
		programtest.Run(t, nil, args...).ExpectSentence(t, 2, args[0])
	}
}
