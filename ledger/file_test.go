package ledger_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
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

// Editors, spreadsheets, shells and losses of power leave files like these.
func TestAFileAsPeopleHaveIt(t *testing.T) {
	fake := newFake(t, 0)
	one, two := lineOf(1, ledger.Sending, fake.URL), lineOf(2, ledger.Sending, fake.URL)
	whole, bare := one+two, one+strings.TrimSpace(two)
	crlf := strings.ReplaceAll(whole, "\n", "\r\n")
	utf16 := strings.Join(strings.Split(whole, ""), "\x00") + "\x00"
	for name, test := range map[string]struct{ content, keeps, problem string }{
		"as it is written":          {whole, whole, ""},
		"CRLF":                      {crlf, crlf, ""},
		"CRLF, no newline":          {strings.TrimSuffix(crlf, "\n"), crlf, ""},
		"blank lines":               {"\n" + one + "\n \n" + two + "\n\n", "\n" + one + "\n \n" + two + "\n\n", ""},
		"a byte order mark":         {"\ufeff" + whole, "\ufeff" + whole, ""},
		"a last line without end":   {bare, whole, ""},
		"zeros in place of its end": {bare + "\x00\x00\x00", whole, ""},
		"zeros after the lines":     {whole + strings.Repeat("\x00", 4096), whole, ""},
		"a last line of zeros":      {whole + "\x00\x00\n", whole, ""},
		"a last line that is cut":   {whole + two[:50], whole, ""},
		"garbage after the lines":   {whole + "\xff\xfe{", whole, ""},
		"zeros in the middle of it": {whole + two[:50] + "\x00\x00" + two[52:], whole, ""},
		"written by hand":           {strings.ReplaceAll(whole, `,`, ` , `), strings.ReplaceAll(whole, `,`, ` , `), ""},

		"a text":                  {"hello\n", "", "line 1: not a line of a ledger"},
		"notes without a newline": {"\n\nhello", "", "line 3: not a line of a ledger"},
		"another version":         {strings.Replace(whole, `"v":1`, `"v":2`, 1), "", "line 1: not a line of a ledger of this version"},
		"a line in between":       {one + "x\n" + two, "", "line 2"},
		"an unknown state":        {one + lineOf(2, "paid", fake.URL), "", "line 2"},
		"no time":                 {strings.Replace(whole, `"time":"2000-01-01T00:00:01Z",`, "", 1), "", "line 1"},
		"no horse":                {strings.Replace(whole, `"horse":1`, `"horse":0`, 1), "", "line 1"},
		"no race":                 {strings.Replace(whole, `"race":1`, `"race":-1`, 1), "", "line 1"},
		"a negative fee":          {strings.Replace(whole, `"fee":10`, `"fee":-10`, 1), "", "line 1"},
		"without a service":       {lineOf(1, ledger.Sending, ""), "", "line 1"},
		"of two services":         {one + lineOf(1, ledger.Sending, "https://other.example"), "", "https://other.example"},
		"UTF-16":                  {"\xff\xfe" + utf16, "", "UTF-16"},
		"UTF-16, the other one":   {"\xfe\xff\x00" + utf16, "", "UTF-16"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "l")
			write(t, path, test.content)
			l, opened := ledger.Open(path, fake.Client())
			entries, failed := ledger.Read(path)
			if got := read(t, path); got != test.content {
				t.Errorf("reading changed the file to %q", got)
			}
			if test.problem != "" {
				for _, err := range []error{opened, failed} {
					if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), test.problem) {
						t.Errorf("%v; want %q", err, test.problem)
					}
				}
				return
			}
			if opened != nil || failed != nil || len(entries) != 2 {
				t.Fatalf("Open: %v, Read: %v, %v", opened, entries, failed)
			}
			if err := l.Decide(1, 2, ledger.Absent, ""); err != nil {
				t.Fatal(err)
			}
			if got := read(t, path); !strings.HasPrefix(got, test.keeps+`{"v":1,`) || strings.Count(got, "\n") != strings.Count(test.keeps, "\n")+1 {
				t.Errorf("written on, it holds %q", got)
			}
			expectStates(t, open(t, path, fake.Client()), "1 sending", "2 absent")
		})
	}
}

// Whatever a loss of power leaves after the lines that were synced, none of them is lost, and what
// is refused is left as it is.
func TestZerosAndGarbageAfterACutLoseNoLine(t *testing.T) {
	fake, path := newFake(t, 0), filepath.Join(t.TempDir(), "l")
	whole := lineOf(1, ledger.Sending, fake.URL) + lineOf(1, ledger.Entered, fake.URL) + lineOf(2, ledger.Sending, fake.URL) + lineOf(2, ledger.Unknown, fake.URL)
	wanted := [][]string{nil, {"1 sending"}, {"1 entered"}, {"1 entered", "2 sending"}, {"1 entered", "2 unknown"}}
	random := rand.New(rand.NewPCG(1, 2))
	for cut := 0; cut <= len(whole); cut += double.Worlds(3, 1, 3) {
		garbage := make([]byte, 1+random.IntN(100))
		for i := range garbage {
			garbage[i] = byte(random.Uint32())
		}
		for _, tail := range []string{"", "\x00", strings.Repeat("\x00", 4096), string(garbage), strings.ReplaceAll(string(garbage), "\n", "x")} {
			write(t, path, whole[:cut]+tail)
			lines, isGarbage := strings.Count(whole[:cut], "\n"), strings.Trim(tail, "\x00") != ""
			mayRefuse := isGarbage && (lines == 0 || strings.Contains(tail, "\n"))
			if !isGarbage && strings.HasPrefix(whole[cut:], "\n") { // it alone lacks
				lines++
			}
			l, err := ledger.Open(path, fake.Client())
			if err == nil {
				expectStates(t, l, wanted[lines]...)
			} else if !mayRefuse || read(t, path) != whole[:cut]+tail {
				t.Fatalf("%d bytes and %.60q: %v", cut, tail, err)
			}
		}
	}
}

func TestOpenCreatesALedgerThatOnlyTheUserCanReadAndNamesWhatItCannotOpen(t *testing.T) {
	client, dir := newFake(t, 0).Client(), t.TempDir()
	created, locked, guarded, gone, link := filepath.Join(dir, "new"), filepath.Join(dir, "locked"), filepath.Join(dir, "guarded"), filepath.Join(dir, "gone"), filepath.Join(dir, "link")
	open(t, created, client)
	if info, err := os.Stat(created); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
	if err := errors.Join(os.WriteFile(locked, nil, 0o600), os.Mkdir(locked+".lock", 0o700), os.WriteFile(guarded, nil, 0o600), os.WriteFile(guarded+".lock", nil, 0o400), os.WriteFile(gone+".lock", nil, 0o600), os.Symlink(filepath.Join(dir, "nothing"), link)); err != nil {
		t.Skip(err) // not everywhere allowed
	}
	problems := map[string]string{
		dir: "not a regular file", os.DevNull: "not a regular file", filepath.Join(dir, "no", "l"): "no such file", locked: locked + ".lock",
		gone: "remove " + gone + ".lock to start an empty ledger", link: "no such file",
	}
	if os.Geteuid() != 0 { // root may write to any file
		problems[guarded] = guarded + ".lock"
	}
	for path, want := range problems {
		if l, err := ledger.Open(path, client); l != nil || err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if _, err := ledger.Open(created, client, ledger.WithDailyBudget(tokens(1), nil)); !errors.Is(err, horseracing.ErrInvalidArgument) {
		t.Errorf("a daily budget without a location: %v", err)
	}
}

func TestAReadOnlyLedgerCreatesWritesAndSendsNothing(t *testing.T) {
	fake, dir := newFake(t, 2), t.TempDir()
	path := filepath.Join(dir, "l")
	l := open(t, path, fake.Client(), ledger.WithReadOnly(), ledger.WithMaxFee(tokens(10)))
	for files := range 2 { // while there is no file, and once there is one
		if err := l.Check(registration(fake, 1), tokens(11)); !errors.Is(err, ledger.ErrFee) {
			t.Error(err)
		}
		if err := l.Check(registration(fake, 1), tokens(10)); errors.Is(err, ledger.ErrEntered) != (files > 0) {
			t.Error(err)
		}
		_, err := l.Register(t.Context(), registration(fake, 2), tokens(10))
		if now, _ := os.ReadDir(dir); err == nil || posts(fake) > 0 || len(now) != files {
			t.Errorf("%v, %d sent, %v", err, posts(fake), now)
		}
		write(t, path, lineOf(1, ledger.Entered, fake.URL))
	}
}

func TestAFileSystemWithoutLocksIsNamedWithWhatToDo(t *testing.T) {
	for _, err := range []error{syscall.ENOLCK, syscall.ENOSYS, syscall.ENOTSUP} {
		if got := ledger.LockError("/mnt/share/l.lock", err); !errors.Is(got, err) || !strings.Contains(got.Error(), "/mnt/share/l.lock") || !strings.Contains(got.Error(), "local disk") {
			t.Error(got)
		}
	}
}

// What was paid before stays in mind: an editor, a backup that is restored, copytruncate.
func TestNothingIsSentOnceTheFileIsGoneOrCutOrTheLedgerIsClosed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(l *ledger.Ledger, path string) error
		want   string
	}{
		"gone":    {func(_ *ledger.Ledger, path string) error { return os.Rename(path, path+".1") }, "no such file"},
		"cut":     {func(_ *ledger.Ledger, path string) error { return os.Truncate(path, 200) }, "changed the file"},
		"emptied": {func(_ *ledger.Ledger, path string) error { return os.WriteFile(path, nil, 0o600) }, "changed the file"},
		"swapped": {func(_ *ledger.Ledger, path string) error { // by one that is as long, and has paid for race 3
			return rewrite(path, func(text []byte) []byte { return bytes.ReplaceAll(text, []byte(`"race":2`), []byte(`"race":3`)) })
		}, "changed the file"},
		"closed": {func(l *ledger.Ledger, _ string) error { return l.Close() }, "is closed"},
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
	})
}
