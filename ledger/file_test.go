package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

func lineOf(race int, state ledger.State, service string) string {
	return fmt.Sprintf(`{"v":1,"service":%q,"time":"2000-01-01T00:00:%02dZ","horse":1,"race":%d,"fee":10,"state":%q}`+"\n", service, race, race, state)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAFileThatIsNoLedgerIsNamedAndUnchanged(t *testing.T) {
	fake := newFake(t, 1)
	whole := lineOf(1, ledger.Sending, fake.URL) + lineOf(1, ledger.Entered, fake.URL)
	utf16 := func(mark string, text string) string {
		return mark + strings.Join(strings.Split(text, ""), "\x00") + "\x00"
	}
	for name, test := range map[string]struct{ content, want string }{
		"a text":                   {"hello\n", "line 1: not a line of a ledger"},
		"a text without a newline": {"hello", "not a line of a ledger"},
		"notes without a newline":  {"\n\nhello", "line 3: not a line of a ledger"},
		"other JSON Lines":         {`{"id":1}` + "\n", "line 1: not a line of a ledger"},
		"a later version":          {strings.Replace(whole, `"v":1`, `"v":2`, 1), "line 1: not a line of a ledger of this version"},
		"a version below 1":        {strings.Replace(whole, `"v":1`, `"v":0`, 1), "line 1"},
		"a line in between":        {lineOf(1, ledger.Sending, fake.URL) + "x\n" + lineOf(1, ledger.Entered, fake.URL), "line 2"},
		"an unknown state":         {whole + lineOf(2, "paid", fake.URL), "line 3"},
		"no time":                  {strings.Replace(whole, `"time":"2000-01-01T00:00:01Z",`, "", 1), "line 1"},
		"no horse":                 {strings.Replace(whole, `"horse":1`, `"horse":0`, 1), "line 1"},
		"no race":                  {strings.Replace(whole, `"race":1`, `"race":-1`, 1), "line 1"},
		"a negative fee":           {strings.Replace(whole, `"fee":10`, `"fee":-10`, 1), "line 1"},
		"without a service":        {lineOf(1, ledger.Sending, ""), "line 1"},
		"of two services":          {whole + lineOf(1, ledger.Sending, "https://other.example"), "https://other.example"},
		"UTF-16":                   {utf16("\xff\xfe", whole), "UTF-16"},
		"UTF-16, the other one":    {utf16("\xfe\xff", whole), "UTF-16"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "l")
			write(t, path, test.content)
			l, opened := ledger.Open(path, fake.Client())
			entries, failed := ledger.Read(path)
			for _, err := range []error{opened, failed} {
				if l != nil || entries != nil || err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%v; want %q", err, test.want)
				}
			}
			if got := read(t, path); got != test.content {
				t.Errorf("the file was changed to %q", got)
			}
		})
	}
}

// Editors, spreadsheets, shells and losses of power leave files like these.
func TestAFileAsPeopleHaveItIsReadAndWrittenOn(t *testing.T) {
	const service = "http://service.example"
	one, two := lineOf(1, ledger.Sending, service), lineOf(2, ledger.Sending, service)
	fake := newFake(t, 0)
	client, err := horseracing.NewClient(service, fake.APIKey, horseracing.WithHTTPClient(fake.HTTPClient()), horseracing.WithPlainHTTP())
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ content, keeps string }{
		"as it is written":          {one + two, one + two},
		"CRLF":                      {strings.ReplaceAll(one+two, "\n", "\r\n"), strings.ReplaceAll(one+two, "\n", "\r\n")},
		"CRLF, no newline":          {strings.ReplaceAll(one, "\n", "\r\n") + strings.TrimSpace(two) + "\r", strings.ReplaceAll(one, "\n", "\r\n") + strings.TrimSpace(two) + "\r\n"},
		"blank lines":               {"\n" + one + "\n \n" + two + "\n\n", "\n" + one + "\n \n" + two + "\n\n"},
		"a byte order mark":         {"\ufeff" + one + two, "\ufeff" + one + two},
		"a last line without end":   {one + strings.TrimSpace(two), one + two},
		"zeros in place of its end": {one + strings.TrimSpace(two) + "\x00\x00\x00", one + two},
		"zeros after the lines":     {one + two + strings.Repeat("\x00", 4096), one + two},
		"a last line of zeros":      {one + two + "\x00\x00\n", one + two},
		"a last line that is cut":   {one + two + two[:50], one + two},
		"garbage after the lines":   {one + two + "\xff\xfe{", one + two},
		"cut, and zeros":            {one + two + two[:50] + "\x00\x00", one + two},
		"zeros in the middle of it": {one + two + two[:50] + "\x00\x00" + two[52:], one + two},
		"written by hand":           {strings.ReplaceAll(one, `,`, ` , `) + two, strings.ReplaceAll(one, `,`, ` , `) + two},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "l")
			write(t, path, test.content)
			l := open(t, path, client)
			expectStates(t, l, "1 sending", "2 sending")
			if got := read(t, path); got != test.content {
				t.Errorf("Open changed the file to %q", got)
			}
			entries, err := ledger.Read(path)
			if diff := cmp.Diff(slices.Collect(l.Entries()), entries); diff != "" || err != nil {
				t.Errorf("%v; Read differs (-want +got):\n%s", err, diff)
			}
			if err := l.Decide(1, 2, ledger.Absent, ""); err != nil {
				t.Fatal(err)
			}
			if got := read(t, path); !strings.HasPrefix(got, test.keeps+`{"v":1,`) || strings.Count(got, "\n") != strings.Count(test.keeps, "\n")+1 {
				t.Errorf("written on, it holds %q", got)
			}
			expectStates(t, open(t, path, client), "1 sending", "2 absent")
		})
	}
}

// Whatever a loss of power leaves after the lines that were synced, none of them is lost, and what
// is refused is left as it is.
func TestZerosAndGarbageAfterACutLoseNoLine(t *testing.T) {
	fake := newFake(t, 0)
	var whole string
	ends := []int{0}
	for _, line := range []string{lineOf(1, ledger.Sending, fake.URL), lineOf(1, ledger.Entered, fake.URL), lineOf(2, ledger.Sending, fake.URL), lineOf(2, ledger.Unknown, fake.URL)} {
		whole += line
		ends = append(ends, len(whole))
	}
	wanted := [][]string{nil, {"1 sending"}, {"1 entered"}, {"1 entered", "2 sending"}, {"1 entered", "2 unknown"}}
	path := filepath.Join(t.TempDir(), "l")
	check := func(cut int, tail string, mayRefuse bool) {
		t.Helper()
		write(t, path, whole[:cut]+tail)
		lines := 0
		for lines < 4 && (cut >= ends[lines+1] || cut == ends[lines+1]-1 && strings.Trim(tail, "\x00") == "") { // the newline alone lacks
			lines++
		}
		l, err := ledger.Open(path, fake.Client())
		if err == nil {
			expectStates(t, l, wanted[lines]...)
		} else if !mayRefuse || read(t, path) != whole[:cut]+tail {
			t.Fatalf("%d bytes and %.60q: %v", cut, tail, err)
		}
	}
	random, step := rand.New(rand.NewPCG(1, 2)), 3
	if os.Getenv("HORSERACING_DEEP") != "" {
		step = 1
	}
	for cut := 0; cut <= len(whole); cut += step {
		check(cut, "", false)
		for _, zeros := range []int{1, 7, 512, 4096} {
			check(cut, strings.Repeat("\x00", zeros), false)
		}
		garbage := make([]byte, 1+random.IntN(100))
		for i := range garbage {
			garbage[i] = byte(random.Uint32())
		}
		check(cut, string(garbage), true)
		check(cut, strings.ReplaceAll(string(garbage), "\n", "x"), cut < ends[1])
	}
}

func TestANewLedgerIsAnEmptyListThatOnlyTheUserCanRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	if _, err := ledger.Read(path); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("of a file that does not exist: %v", err)
	}
	l := open(t, path, newFake(t, 0).Client())
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
	got, err := ledger.Read(path)
	if text, _ := json.Marshal(got); err != nil || string(text) != "[]" || len(slices.Collect(l.Entries())) != 0 {
		t.Errorf("%s, %v", text, err)
	}
}

func TestWhatCannotBeOpenedIsAnErrorThatNamesIt(t *testing.T) {
	client, dir := newFake(t, 0).Client(), t.TempDir()
	locked, gone, link := filepath.Join(dir, "locked"), filepath.Join(dir, "gone"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(locked, nil, 0o600), os.Mkdir(locked+".lock", 0o700), os.Symlink(filepath.Join(dir, "nothing"), link)); err != nil {
		t.Skip(err) // not everywhere allowed
	}
	open(t, gone, client)
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir: "not a regular file", os.DevNull: "not a regular file", filepath.Join(dir, "no", "l"): "no such file", locked: locked + ".lock",
		gone: "remove " + gone + ".lock to begin anew", link: "no such file",
	} {
		if l, err := ledger.Open(path, client); l != nil || err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if _, err := os.Stat(gone); err == nil {
		t.Error("a ledger that is gone was begun anew")
	}
	if _, err := ledger.Open(filepath.Join(dir, "new"), client, ledger.WithDailyBudget(tokens(1), nil)); !errors.Is(err, horseracing.ErrInvalidArgument) {
		t.Errorf("a daily budget without a location: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
		t.Error("after an invalid argument there is a file")
	}
}

func TestAFileSystemWithoutLocksIsNamedWithWhatToDo(t *testing.T) {
	for _, err := range []error{syscall.ENOLCK, syscall.ENOSYS, syscall.ENOTSUP} {
		if got := ledger.LockError("/mnt/share/l.lock", err); !errors.Is(got, err) || !strings.Contains(got.Error(), "/mnt/share/l.lock") || !strings.Contains(got.Error(), "local disk") {
			t.Error(got)
		}
	}
}

func TestTheFirstRegistrationSentBindsTheLedgerToItsService(t *testing.T) {
	fake := newFake(t, 1)
	clientOf := func(url string) *horseracing.Client {
		c, err := horseracing.NewClient(url, fake.APIKey, horseracing.WithHTTPClient(fake.HTTPClient()))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	path := filepath.Join(t.TempDir(), "l")
	if err := open(t, path, clientOf("http://localhost:1/base")).Check(registration(fake, 1), tokens(10)); err != nil {
		t.Error(err)
	}
	l := open(t, path, fake.Client()) // opening and checking did not bind it
	if _, err := l.Register(t.Context(), registration(fake, 1), tokens(10)); err != nil {
		t.Error(err)
	}
	if _, err := ledger.Open(path, clientOf("http://localhost:1/base")); !errors.Is(err, horseracing.ErrInvalidArgument) || !strings.Contains(err.Error(), fake.URL) {
		t.Errorf("with another service: %v", err)
	}
	open(t, path, clientOf(fake.URL+"//"))
}

// What was paid before stays in mind: an editor, a backup that is restored, copytruncate.
func TestNothingIsSentOnceTheFileIsGoneOrCutOrTheLedgerIsClosed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(l *ledger.Ledger, path string) error
		want   string
	}{
		"gone":       {func(_ *ledger.Ledger, path string) error { return os.Rename(path, path+".1") }, "no such file"},
		"cut":        {func(_ *ledger.Ledger, path string) error { return os.Truncate(path, 200) }, "changed the file"},
		"overwriten": {func(_ *ledger.Ledger, path string) error { return os.WriteFile(path, nil, 0o600) }, "changed the file"},
		"closed":     {func(l *ledger.Ledger, _ string) error { return l.Close() }, "is closed"},
	} {
		t.Run(name, func(t *testing.T) {
			fake, path, l := newLedger(t, 3)
			lose(t, fake, l, lostResponse, 1)
			fake.Handle("POST "+registerPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
				if err := test.change(l, path); err != nil {
					t.Error(err)
				}
				return horseracingtest.Response{}, false
			})
			e, err := l.Register(t.Context(), registration(fake, 2), tokens(10))
			if e.State != ledger.Entered || err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "it is entered, but this could not be recorded") {
				t.Errorf("changed while it was sent: %v, %v", e, err)
			}
			_, err = l.Register(t.Context(), registration(fake, 3), tokens(10))
			for _, err := range []error{err, l.Check(registration(fake, 3), tokens(10)), l.Decide(fake.Horses(0)[0], 1, ledger.Entered, ""), l.Settle(t.Context())} {
				if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), test.want) || posts(fake) != 2 {
					t.Errorf("afterwards: %v; %d sent", err, posts(fake))
				}
			}
		})
	}
}

func FuzzTheReaderOfTheFile(f *testing.F) {
	const service = "https://game.example"
	whole := lineOf(1, ledger.Sending, service) + lineOf(1, ledger.Entered, service) + lineOf(2, ledger.Sending, service)
	for _, seed := range []string{"", whole, whole[:len(whole)-1], whole[:200], "\ufeff\r\n" + whole, "\n", "{}", `{"v":2}` + "\n", "\x00", `{"v":1,"service":"`, "{\"v\":1,\"service\":\"\x00\"}\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, size, err := ledger.Replay(data, service)
		if err != nil {
			return
		}
		rest := string(data[size:])
		if strings.Contains(rest, "\x00") { // of a line of zeros the newline may be there
			rest = strings.TrimSuffix(rest, "\n")
		}
		if strings.Contains(rest, "\n") {
			t.Fatalf("of %q it keeps %d bytes", data, size)
		}
		again, kept, err := ledger.Replay(data[:size], service)
		if err != nil || kept != size {
			t.Fatalf("of what it kept it keeps %d bytes of %d: %v", kept, size, err)
		}
		if diff := cmp.Diff(entries, again); diff != "" {
			t.Fatalf("read again the entries differ (-first +second):\n%s", diff)
		}
		for _, e := range entries {
			if e.Horse < 1 || e.Race < 1 || e.Fee.Cmp(tokens(0)) < 0 {
				t.Errorf("an entry is %v", e)
			}
		}
	})
}
