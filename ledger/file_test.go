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
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
	"github.com/horseracing-go/horseracing/ledger"
)

// lineAt is a line of the first horse.
func lineAt(sent string, race int, state ledger.State) string {
	return fmt.Sprintf(`{"v":1,"service":%q,"time":%q,"horse":1,"race":%d,"fee":10,"state":%q}`+"\n", service, sent, race, state)
}

// lineOf is a line that was sent at a second of its own.
func lineOf(race int, state ledger.State) string {
	return lineAt(fmt.Sprintf("2000-01-01T00:00:%02dZ", race), race, state)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// Editors, spreadsheets, shells and losses of power leave files like these.
func TestAFileAsPeopleHaveIt(t *testing.T) {
	fake := newFake(t, 0)
	one, two := lineOf(1, ledger.Sending), lineOf(2, ledger.Sending)
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
		"a last line of zeros":      {whole + "\x00\x00\n", whole, ""},
		"zeros in the middle of it": {whole + two[:50] + "\x00\x00" + two[52:], whole, ""},
		"written by hand":           {strings.ReplaceAll(whole, `,`, ` , `), strings.ReplaceAll(whole, `,`, ` , `), ""},

		"a text":                  {"hello\n", "", "line 1: not a line of a ledger"},
		"notes without a newline": {"\n\nhello", "", "line 3: not a line of a ledger"},
		"another version":         {strings.Replace(whole, `"v":1`, `"v":2`, 1), "", "line 1: not a line of a ledger of this version"},
		"a line in between":       {one + "x\n" + two, "", "line 2"},
		"zeros in between":        {one + two[:50] + "\x00\x00" + two[52:] + two, "", "line 2"},
		"an unknown state":        {one + lineOf(2, "paid"), "", "line 2"},
		"no time":                 {strings.Replace(whole, `"time":"2000-01-01T00:00:01Z",`, "", 1), "", "line 1"},
		"no horse":                {strings.Replace(whole, `"horse":1`, `"horse":0`, 1), "", "line 1"},
		"no race":                 {strings.Replace(whole, `"race":1`, `"race":-1`, 1), "", "line 1"},
		"a negative fee":          {strings.Replace(whole, `"fee":10`, `"fee":-10`, 1), "", "line 1"},
		"without a service":       {strings.Replace(whole, service, "", 1), "", "line 1"},
		"of two services":         {one + strings.Replace(two, service, "https://other.example", 1), "", "https://other.example"},
		"UTF-16":                  {"\xff\xfe" + utf16, "", "save it as UTF-8"},
		"UTF-16, the other one":   {"\xfe\xff\x00" + utf16, "", "save it as UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "l")
			write(t, path, test.content)
			l, opened := ledger.Open(path, fake.Client())
			entries, failed := ledger.Read(path)
			double.Equal(t, "file", test.content, read(path))
			if test.problem != "" {
				expectError(t, cmpopts.AnyError, opened, path, test.problem)
				expectError(t, cmpopts.AnyError, failed, path, test.problem)
				return
			}
			must(t, errors.Join(opened, failed))
			double.Equal(t, "entries", 2, len(entries))
			must(t, l.Decide(1, 2, ledger.Absent, ""))
			double.Equal(t, "file with another line", test.keeps+lineOf(2, ledger.Absent), read(path))
			expectStates(t, open(path, fake.Client()), "1 sending", "2 absent")
		})
	}
}

// Whatever a loss of power leaves after the lines that were synced, none of them is lost, and what
// is refused is left as it is.
func TestZerosAndGarbageAfterACutLoseNoLine(t *testing.T) {
	fake, path := newFake(t, 0), filepath.Join(t.TempDir(), "l")
	whole := lineOf(1, ledger.Sending) + lineOf(1, ledger.Entered) + lineOf(2, ledger.Sending) + lineOf(2, ledger.Unknown)
	wanted := [][]string{nil, {"1 sending"}, {"1 entered"}, {"1 entered", "2 sending"}, {"1 entered", "2 unknown"}}
	random := rand.NewChaCha8([32]byte{1})
	for cut := 0; cut <= len(whole); cut += double.Worlds(3, 1, 11) {
		garbage := make([]byte, 1+random.Uint64()%100)
		random.Read(garbage)
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
			} else if !mayRefuse || read(path) != whole[:cut]+tail {
				t.Fatalf("%d bytes and %.60q: %v", cut, tail, err)
			}
		}
	}
}

func TestOpenCreatesALedgerThatOnlyTheUserCanReadAndNamesWhatItCannotOpen(t *testing.T) {
	client, dir := newFake(t, 0).Client(), t.TempDir()
	created, locked, guarded, gone, link := filepath.Join(dir, "new"), filepath.Join(dir, "locked"), filepath.Join(dir, "guarded"), filepath.Join(dir, "gone"), filepath.Join(dir, "link")
	open(created, client)
	if info, err := os.Stat(created); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.Symlink(filepath.Join(dir, "nothing"), link); err != nil {
		t.Skip(err) // not everywhere allowed
	}
	must(t, errors.Join(os.WriteFile(locked, nil, 0o600), os.Mkdir(locked+".lock", 0o700), os.WriteFile(guarded, nil, 0o600), os.WriteFile(guarded+".lock", nil, 0o400), os.WriteFile(gone+".lock", nil, 0o600)))
	problems := map[string]string{
		dir: "not a regular file", os.DevNull: "not a regular file", filepath.Join(dir, "no", "l"): "no such file", locked: locked + ".lock",
		gone: "remove " + gone + ".lock to start an empty ledger", link: "no such file",
	}
	if os.Geteuid() != 0 { // root may write to any file
		problems[guarded] = guarded + ".lock"
	}
	for path, want := range problems {
		l, err := ledger.Open(path, client)
		expectError(t, cmpopts.AnyError, err, path, want)
		double.Equal(t, "returns none", true, l == nil)
	}
	_, err := ledger.Open(created, client, ledger.WithDailyBudget(tokens(1), nil)) // without a location
	expectError(t, horseracing.ErrInvalidArgument, err)
}

func TestAReadOnlyLedgerCreatesWritesAndSendsNothing(t *testing.T) {
	fake, dir := newFake(t, 2), t.TempDir()
	path := filepath.Join(dir, "l")
	l := open(path, fake.Client(), ledger.WithReadOnly(), ledger.WithMaxFee(tokens(10)))
	for files, want := range []error{nil, ledger.ErrEntered} { // while there is no file, and once there is one
		expectError(t, ledger.ErrFee, l.Check(registration(fake, 1), tokens(11)))
		expectError(t, want, l.Check(registration(fake, 1), tokens(10)))
		_, err := register(t, l, fake, 2)
		expectError(t, cmpopts.AnyError, err)
		now, _ := os.ReadDir(dir)
		double.Equal(t, "files", files, len(now))
		expectSent(t, fake, 0)
		write(t, path, lineOf(1, ledger.Entered))
	}
}

func TestAFileSystemWithoutLocksIsNamedWithWhatToDo(t *testing.T) {
	for _, err := range []error{syscall.ENOLCK, syscall.ENOSYS, syscall.ENOTSUP} {
		expectError(t, err, ledger.LockError("/mnt/share/l.lock", err), "/mnt/share/l.lock", "local disk")
	}
}

// What was paid before stays in mind: an editor, a backup that is restored, copytruncate.
func TestNothingIsSentOnceTheFileIsGoneOrCutOrTheLedgerIsClosed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(l *ledger.Ledger, path string) error
		want   string
	}{
		"gone": {func(_ *ledger.Ledger, path string) error { return os.Rename(path, path+".1") }, "no such file"},
		"cut":  {func(_ *ledger.Ledger, path string) error { return os.Truncate(path, 200) }, "changed the file"},
		"swapped": {func(_ *ledger.Ledger, path string) error { // by one that is as long, and has paid for race 3
			return rewrite(path, func(text []byte) []byte { return bytes.ReplaceAll(text, []byte(`"race":2`), []byte(`"race":3`)) })
		}, "changed the file"},
		"closed": {func(l *ledger.Ledger, _ string) error { return l.Close() }, "is closed"},
	} {
		t.Run(name, func(t *testing.T) {
			fake, path, l := newLedger(t, 3)
			lose(t, fake, l, lostResponse, 1)
			fake.Handle("POST "+registerPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
				expectError(t, nil, test.change(l, path))
				return horseracingtest.Response{}, false
			})
			e, err := register(t, l, fake, 2) // it is changed while this is sent
			double.Equal(t, "state", ledger.Entered, e.State)
			expectError(t, cmpopts.AnyError, err, test.want, "it is entered, but this could not be recorded")
			_, err = register(t, l, fake, 3)
			for _, err := range []error{err, l.Check(registration(fake, 3), tokens(10)), l.Decide(fake.Horses(0)[0], 1, ledger.Entered, ""), l.Settle(t.Context())} {
				expectError(t, cmpopts.AnyError, err, path, test.want)
			}
			expectSent(t, fake, 2)
		})
	}
}

func FuzzTheReaderOfTheFile(f *testing.F) {
	whole := lineOf(1, ledger.Sending) + lineOf(1, ledger.Entered) + lineOf(2, ledger.Sending)
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
		double.Equal(t, "entries, bytes and error, read again", []any{entries, size, nil}, []any{again, kept, err})
	})
}

// A slow disk makes 40 registrations, each by a ledger of its own, wait for one another longer than
// they would wait for another process.
func TestOneProcessIsNeverInItsOwnWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, path, _ := newLedger(t, 40)
		began := time.Now()
		var registering sync.WaitGroup
		for race := range 40 {
			l := open(path, fake.Client())
			ledger.SetSync(l, func(*os.File) error { time.Sleep(100 * time.Millisecond); return nil })
			registering.Go(func() {
				_, err := register(t, l, fake, 1+race)
				expectError(t, nil, err)
			})
		}
		registering.Wait()
		double.Equal(t, "registrations", 40, len(fake.Registrations()))
		double.Equal(t, "is slow", true, time.Since(began) >= 8*time.Second)
	})
}

// Log rotation empties or renames files, folders are mounted late, backups are old, and links are lost.
func TestALedgerThatLacksWhatWasWrittenIsNotContinued(t *testing.T) {
	type files struct{ path, link, other string } // a ledger, a link to it, and another one that is empty
	for name, test := range map[string]struct {
		lose func(files) error
		says string // parts of the error, with link or path in place of the path by which the ledger is opened; empty if that is allowed
	}{
		"nothing is lost":          {func(files) error { return nil }, ""},
		"emptied":                  {func(f files) error { return os.Truncate(f.path, 0) }, "path, path.lock"},
		"its end is cut":           {func(f files) error { return rewrite(f.path, func(text []byte) []byte { return text[:len(text)-1] }) }, "path, path.lock"},
		"zeros":                    {func(f files) error { return rewrite(f.path, zeros) }, "path, path.lock"},
		"gone":                     {func(f files) error { return os.Remove(f.path) }, "path, path.lock"},
		"the link is gone":         {func(f files) error { return os.Remove(f.link) }, "link, link.lock"},
		"a new file for the link":  {func(f files) error { return errors.Join(os.Remove(f.link), os.WriteFile(f.link, nil, 0o600)) }, "link, link.lock"},
		"a link to another folder": {func(f files) error { return errors.Join(os.Remove(f.link), os.Symlink(f.other, f.link)) }, "link, link.lock"},
		"the folder is swapped": {func(f files) error {
			return errors.Join(os.Rename(filepath.Dir(f.path), filepath.Dir(f.path)+"-gone"), os.Rename(filepath.Dir(f.other), filepath.Dir(f.path)))
		}, "link, link.lock"},
		"an empty lock file of before":          {func(f files) error { return errors.Join(os.Truncate(f.path+".lock", 0), os.Truncate(f.path, 0)) }, ""},
		"the lock file is removed":              {func(f files) error { return errors.Join(os.Remove(f.path+".lock"), os.Remove(f.path)) }, ""},
		"a lock file of zeros":                  {func(f files) error { return rewrite(f.path+".lock", zeros) }, ""},
		"a crash before the number was written": {func(f files) error { return os.WriteFile(f.path+".lock", []byte("\x00100\n"), 0o600) }, ""},
		"not a number":                          {func(f files) error { return os.WriteFile(f.path+".lock", []byte("hello"), 0o600) }, "path, path.lock, number"},
	} {
		t.Run(name, func(t *testing.T) {
			fake, dir := newFake(t, 3), t.TempDir()
			f := files{filepath.Join(dir, "a", "l"), filepath.Join(dir, "link"), filepath.Join(dir, "b", "l")}
			if err := os.Symlink(f.path, f.link); err != nil {
				t.Skip(err)
			}
			must(t, errors.Join(os.Mkdir(filepath.Dir(f.path), 0o700), os.Mkdir(filepath.Dir(f.other), 0o700), os.WriteFile(f.other, nil, 0o600)))
			path := f.path
			if strings.HasPrefix(test.says, "link") {
				path = f.link
			}
			open(f.path, fake.Client()) // makes the file
			double.Must(register(t, open(path, fake.Client()), fake, 1))
			late := open(path, fake.Client()) // before
			must(t, test.lose(f))
			var want error
			if test.says != "" {
				want = cmpopts.AnyError
			}
			_, err := ledger.Open(path, fake.Client())
			expectError(t, want, err, strings.Split(strings.NewReplacer("path", f.path, "link", f.link).Replace(test.says), ", ")...)
			_, err = register(t, late, fake, 1) // which would be paid a second time
			expectError(t, cmpopts.AnyError, err)
		})
	}
}

func rewrite(path string, change func(text []byte) []byte) error {
	text, err := os.ReadFile(path)
	return errors.Join(err, os.WriteFile(path, change(text), 0o600))
}

// zeros replaces all but the first byte.
func zeros(text []byte) []byte { return append(text[:1], make([]byte, len(text)-1)...) }

func TestARelativePathIsThatOfTheFolderInWhichTheLedgerWasOpened(t *testing.T) {
	fake := newFake(t, 1)
	first, second := t.TempDir(), t.TempDir()
	t.Chdir(first)
	l := open("l", fake.Client())
	t.Chdir(second)
	double.Must(register(t, l, fake, 1))
	expectParts(t, read(filepath.Join(first, "l")), "entered")
	left, _ := os.ReadDir(second)
	double.Equal(t, "files in the second folder", 0, len(left))
}
