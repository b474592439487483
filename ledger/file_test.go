package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

func lineOf(race int, state ledger.State, service string) string {
	return fmt.Sprintf(`{"v":1,"service":%q,"time":"2000-01-01T00:00:00Z","horse":1,"race":%d,"fee":10,"state":%q}`+"\n", service, race, state)
}

func TestAFileThatCannotBeOpenedIsNamedAndUnchanged(t *testing.T) {
	fake := newFake(t, 1)
	client := fake.Client()
	whole := lineOf(1, ledger.Sending, fake.URL) + lineOf(1, ledger.Entered, fake.URL)
	for name, test := range map[string]struct {
		content string
		want    string
		is      error
	}{
		"a text":                   {"hello\n", "line 1: not a line of a ledger", nil},
		"a text without a newline": {"hello", "not a line of a ledger", nil},
		"other JSON Lines":         {`{"id":1}` + "\n", "line 1: not a line of a ledger", nil},
		"a later version":          {strings.Replace(whole, `"v":1`, `"v":2`, 1), "line 1: not a line of a ledger of this version", nil},
		"a version below 1":        {strings.Replace(whole, `"v":1`, `"v":0`, 1), "line 1", nil},
		"a line in between":        {lineOf(1, ledger.Sending, fake.URL) + "x\n" + lineOf(1, ledger.Entered, fake.URL), "line 2", nil},
		"an unknown state":         {whole + lineOf(2, "paid", fake.URL), "line 3", nil},
		"no time":                  {strings.Replace(whole, `"time":"2000-01-01T00:00:00Z",`, "", 1), "line 1", nil},
		"no horse":                 {strings.Replace(whole, `"horse":1`, `"horse":0`, 1), "line 1", nil},
		"no race":                  {strings.Replace(whole, `"race":1`, `"race":-1`, 1), "line 1", nil},
		"a negative fee":           {strings.Replace(whole, `"fee":10`, `"fee":-10`, 1), "line 1", nil},
		"without a service":        {lineOf(1, ledger.Sending, ""), "line 1", nil},
		"of another service":       {lineOf(1, ledger.Sending, "https://other.example"), "https://other.example", horseracing.ErrInvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "l")
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the first leaves it unlocked
				l, err := ledger.Open(path, client)
				if l != nil || err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), test.want) || !errors.Is(err, test.is) && test.is != nil {
					t.Errorf("%v; want %q", err, test.want)
				}
			}
			if got, err := ledger.Read(path); name != "of another service" && (got != nil || err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("Read: %v, %v; want %q", got, err, test.want)
			}
			if got := read(t, path); got != test.content {
				t.Errorf("the file was changed to %q", got)
			}
		})
	}
	if n := fake.RequestCount(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestAPathThatCannotBeOpenedIsAnErrorThatNamesIt(t *testing.T) {
	client := newFake(t, 0).Client()
	dir := t.TempDir()
	locked := filepath.Join(dir, "locked")
	if err := errors.Join(os.WriteFile(locked, nil, 0o600), os.MkdirAll(locked+".lock", 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"a folder":                        dir,
		"in a folder that does not exist": filepath.Join(dir, "no", "l"),
		"the lock cannot be made":         locked,
	} {
		if l, err := ledger.Open(path, client); l != nil || err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInvalidArgumentsAreRefusedBeforeAFileIsCreated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	if _, err := ledger.Open(path, newFake(t, 0).Client(), ledger.WithDailyBudget(tokens(1), nil)); !errors.Is(err, horseracing.ErrInvalidArgument) {
		t.Errorf("a daily budget without a location: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a file: %v", err)
	}
}

// What a loss of power leaves after the lines that were synced: nothing, or zeros in place
// of what was written last. Whatever is there, no complete line is lost, and what is refused
// is left as it is.
func TestZerosAndGarbageAfterACutLoseNoLine(t *testing.T) {
	fake := newFake(t, 0)
	client, service := fake.Client(), fake.URL
	var whole string
	ends := []int{0} // of the lines
	for _, line := range []string{lineOf(1, ledger.Sending, service), lineOf(1, ledger.Entered, service), lineOf(2, ledger.Sending, service), lineOf(2, ledger.Unknown, service)} {
		whole += line
		ends = append(ends, len(whole))
	}
	wanted := [][]string{nil, {"1 unknown"}, {"1 entered"}, {"1 entered", "2 unknown"}, {"1 entered", "2 unknown"}}
	path := filepath.Join(t.TempDir(), "l")
	files, opened := 0, 0
	check := func(cut int, tail string, mayRefuse bool) {
		t.Helper()
		files++
		content := whole[:cut] + tail
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		complete := sort.SearchInts(ends, cut+1) - 1
		if cut < len(whole) && whole[cut] == '\n' && strings.Trim(tail, "\x00") == "" { // the newline alone lacks
			complete++
		}
		if got, err := ledger.Read(path); !mayRefuse && (err != nil || len(got) != len(wanted[complete])) {
			t.Fatalf("%d bytes and %.60q: Read returns %v, %v", cut, tail, got, err)
		}
		l, err := ledger.Open(path, client)
		if err != nil {
			if got := read(t, path); !mayRefuse || got != content {
				t.Fatalf("%d bytes and %.60q: %v; the file holds %q", cut, tail, err, got)
			}
			return
		}
		opened++
		defer l.Close()
		got := states(l)
		slices.Sort(got) // the lines have the same time
		if diff := cmp.Diff(wanted[complete], got); diff != "" {
			t.Fatalf("%d bytes and %.60q: the entries differ (-want +got):\n%s", cut, tail, diff)
		}
		if got := read(t, path); strings.TrimSuffix(got, "\n") != strings.TrimSuffix(whole[:ends[complete]], "\n") {
			t.Fatalf("%d bytes and %.60q: the file holds %q", cut, tail, got)
		}
		if tail == "" && (cut%50 == 0 || slices.Contains(ends, cut+1)) { // what is written next is whole
			addRaces(fake, 1000+cut, 1000+cut)
			if _, err := l.Register(t.Context(), registration(fake, 1000+cut), tokens(10)); err != nil {
				t.Fatal(err)
			}
			l.Close()
			want := append(got, fmt.Sprintf("%d entered", 1000+cut))
			l = open(t, path, client)
			got = states(l)
			l.Close()
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%d bytes, and written again: the entries differ (-want +got):\n%s", cut, diff)
			}
		}
	}
	for cut := range len(whole) + 1 {
		check(cut, "", false)
	}
	random := rand.New(rand.NewPCG(1, 2))
	rounds, step := 1, 3
	if os.Getenv("HORSERACING_DEEP") != "" { // 10,665 files
		rounds, step = 9, 1
	}
	for cut := 0; cut <= len(whole); cut += step {
		for _, zeros := range []int{1, 7, 512, 4096} {
			check(cut, strings.Repeat("\x00", zeros), false)
		}
		end := cut + strings.IndexByte(whole[cut:], '\n') + 1
		if zeros := min(40, end-1-cut); zeros > 0 { // a block within the line is zeros
			check(cut, strings.Repeat("\x00", zeros)+whole[cut+zeros:end], cut < len(`{"v":1,"service":"`))
		}
		for range rounds {
			garbage := make([]byte, 1+random.IntN(100))
			for i := range garbage {
				garbage[i] = byte(random.Uint32())
			}
			check(cut, string(garbage), true)
			check(cut, strings.ReplaceAll(string(garbage), "\n", "x"), cut < ends[1])
		}
	}
	t.Logf("%d files, %d of them could be opened", files, opened)
}

func TestANewLedgerIsAnEmptyListThatOnlyTheUserCanRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	l := open(t, path, newFake(t, 0).Client())
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
	got, err := ledger.Read(path)
	if text, _ := json.Marshal(got); err != nil || string(text) != "[]" || len(slices.Collect(l.Entries())) != 0 {
		t.Errorf("%s, %v", text, err)
	}
}

// A line that was synced is lost with its file, if power fails before the folder is.
func TestALedgerWhoseFolderCannotBeSyncedIsNotOpened(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("a folder that can be written and not opened: not on Windows, nor for root")
	}
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o300); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(folder, 0o700)
	if _, err := ledger.Open(filepath.Join(folder, "l"), newFake(t, 0).Client()); !errors.Is(err, os.ErrPermission) {
		t.Errorf("got %v", err)
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
	l := open(t, path, clientOf("http://localhost:1/base"))
	if err := l.Check(registration(fake, 1), tokens(10)); err != nil {
		t.Error(err)
	}
	l.Close()
	l = open(t, path, fake.Client()) // opening and checking did not bind it
	if _, err := l.Register(t.Context(), registration(fake, 1), tokens(10)); err != nil {
		t.Error(err)
	}
	l.Close()
	if _, err := ledger.Open(path, clientOf("http://localhost:1/base")); !errors.Is(err, horseracing.ErrInvalidArgument) || !strings.Contains(err.Error(), fake.URL) {
		t.Errorf("with another service: %v", err)
	}
	open(t, path, clientOf(fake.URL+"//"))
}

func TestALedgerThatIsGoneIsNotBegunAnew(t *testing.T) {
	client := newFake(t, 0).Client()
	path := filepath.Join(t.TempDir(), "l")
	open(t, path, client).Close()
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Open(path, client); err == nil || !strings.Contains(err.Error(), path+".lock") {
		t.Errorf("renamed: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a new one was created")
	}
	if err := errors.Join(os.Rename(path+".1", path), os.Remove(path+".lock")); err != nil {
		t.Fatal(err)
	}
	open(t, path, client).Close() // as of a first run that was killed before it had the lock
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Skip("not everywhere allowed")
	}
	open(t, link, client).Close()
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Open(link, client); err == nil || !strings.Contains(err.Error(), "remove "+link+" to begin anew") {
		t.Errorf("the target of a symbolic link renamed: %v", err)
	}
}

func TestALedgerThatIsGoneOrCutBetweenCallsSendsNothing(t *testing.T) {
	for want, change := range map[string]func(path string) error{
		".lock":              func(path string) error { return os.Rename(path, path+".1") },
		"by another program": func(path string) error { return os.Truncate(path, 0) },
	} {
		fake, path, l := newLedger(t, 2)
		lose(t, fake, l, lostResponse, 1)
		if err := change(path); err != nil {
			t.Fatal(err)
		}
		_, sent := l.Register(t.Context(), registration(fake, 2), tokens(10))
		for _, err := range []error{sent, l.Check(registration(fake, 2), tokens(10))} {
			if err == nil || !strings.Contains(err.Error(), want) || posts(fake) != 1 {
				t.Errorf("%v, want %q; %d sent", err, want, posts(fake))
			}
		}
		if info, err := os.Stat(path); err == nil && info.Size() > 0 || err == nil && want == ".lock" {
			t.Errorf("a new one was created: %v", info)
		}
	}
}

// What another process paid through a shared ledger is not forgotten with its file, even by
// a process that has read nothing of it.
func TestALedgerThatIsGoneBeforeItsFirstCallSendsNothing(t *testing.T) {
	fake, path, first := newLedger(t, 2)
	second := open(t, path, fake.Client())
	if _, err := second.Register(t.Context(), registration(fake, 1), tokens(10)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, err := first.Register(t.Context(), registration(fake, 1), tokens(10))
	if err == nil || !strings.Contains(err.Error(), "it is gone") || posts(fake) != 1 {
		t.Errorf("%v; %d sent", err, posts(fake))
	}
}

// A lock file that was removed, hard links, a network drive without locks.
func TestAtMostOneProcessSendsIfTheLockKeepsNobodyOut(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a locked file cannot be removed there")
	}
	for round := range 30 {
		fake, path, first := newLedger(t, 1)
		if err := os.Remove(path + ".lock"); err != nil {
			t.Fatal(err)
		}
		var entered, refused atomic.Int64
		var all sync.WaitGroup
		for _, l := range []*ledger.Ledger{first, open(t, path, fake.Client())} {
			all.Go(func() {
				if e, err := l.Register(t.Context(), registration(fake, 1), tokens(10)); err == nil {
					entered.Add(1)
				} else if e.State != ledger.Unknown && strings.Contains(err.Error(), "changed by another program") {
					refused.Add(1)
				}
			})
		}
		all.Wait()
		if n := posts(fake); n > 1 || n == 0 && refused.Load() != 2 {
			t.Fatalf("round %d: %d sent, %d entered, %d refused", round, n, entered.Load(), refused.Load())
		}
	}
}

func TestAClosedOrBrokenLedgerSendsNothingUntilOpenedAgain(t *testing.T) {
	for words, stop := range map[string]func(*ledger.Ledger, string){
		"closed":                func(l *ledger.Ledger, _ string) { l.Close() },
		"open the ledger again": func(l *ledger.Ledger, path string) { l.MoveTo(path + "/none") },
	} {
		fake, path, l := newLedger(t, 2)
		lose(t, fake, l, lostRequest, 1)
		stopped := horseracing.OnSend(func() error { stop(l, path); return nil })
		l.Register(t.Context(), registration(fake, 2), tokens(10), stopped)
		_, err := l.Register(t.Context(), registration(fake, 2), tokens(10))
		decided := l.Decide(fake.Horses(0)[0], 1, ledger.Entered, "")
		soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		settled := l.Settle(soon)
		cancel()
		for _, err := range []error{err, l.Check(registration(fake, 2), tokens(10)), decided, settled} {
			if err == nil || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", words, err)
			}
		}
		if got := states(l); posts(fake) != 1 || slices.Contains(got, "2 sending") {
			t.Errorf("%s: %d sent, entries %v", words, posts(fake), got)
		}
		l.Close()
		if e, err := open(t, path, fake.Client()).Register(t.Context(), registration(fake, 2), tokens(10)); err != nil {
			t.Errorf("%s: opened again: %v, %v", words, e, err)
		}
	}
}

// An editor, a backup that is restored, copytruncate.
func TestNothingIsSentOnceAnotherProgramHasChangedTheFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be replaced there")
	}
	write := func(path string, text string) error { return os.WriteFile(path, []byte(text), 0o600) }
	for name, test := range map[string]struct {
		change func(path, text string) error
		want   string
	}{
		"replaced": {func(path, text string) error {
			return errors.Join(write(path+"2", text+text), os.Rename(path+"2", path))
		}, "changed"},
		"removed":            {func(path, _ string) error { return os.Remove(path) }, "no such file"},
		"truncated":          {func(path, _ string) error { return os.Truncate(path, 0) }, "changed"},
		"written by another": {func(path, text string) error { return write(path, text+text) }, "changed"},
	} {
		t.Run(name, func(t *testing.T) {
			fake, path := newFake(t, 4), filepath.Join(t.TempDir(), "l")
			l := open(t, path, fake.Client())
			lose(t, fake, l, lostResponse, 1)
			fake.Handle("POST "+registerPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
				if err := test.change(path, read(t, path)); err != nil {
					t.Error(err)
				}
				_ = l.Check(registration(fake, 3), tokens(10)) // does not read what has changed
				return horseracingtest.Response{}, false
			})
			if e, err := l.Register(t.Context(), registration(fake, 2), tokens(10)); e.State != ledger.Entered || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("changed while it was sent: %v, %v", e, err)
			}
			for race := 3; race <= 4; race++ {
				if e, err := l.Register(t.Context(), registration(fake, race), tokens(10)); err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("afterwards: %v, %v", e, err)
				}
			}
			if n := posts(fake); n != 2 {
				t.Errorf("%d sent", n)
			}
		})
	}
}

func TestNothingIsSentBeforeItsLineIsOnDisk(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a file that can be written and not synced: /dev/null of Linux")
	}
	fake, _, l := newLedger(t, 1)
	moved := horseracing.OnSend(func() error { l.MoveTo(os.DevNull); return nil })
	if _, err := l.Register(t.Context(), registration(fake, 1), tokens(10), moved); err == nil || !strings.Contains(err.Error(), "sync") || posts(fake) != 0 {
		t.Errorf("%v; %d sent", err, posts(fake))
	}
}

func TestAnOutcomeThatCannotBeWrittenIsUnknownAtTheNextStart(t *testing.T) {
	for name, test := range map[string]struct {
		response horseracingtest.Response
		state    ledger.State
		is       error
	}{
		"accepted": {horseracingtest.Response{Body: "{}"}, ledger.Entered, nil},
		"refused":  {horseracingtest.Response{Status: 403}, ledger.Refused, horseracing.ErrForbidden},
		"unknown":  {horseracingtest.Response{Status: 500}, ledger.Unknown, horseracing.ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			fake, path, l := newLedger(t, 2)
			fake.Handle("POST "+registerPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
				l.MoveTo(path + "/none") // a full disk, for another registration
				l.Register(t.Context(), registration(fake, 2), tokens(10))
				l.MoveTo(path)
				return test.response, true
			})
			e, err := l.Register(t.Context(), registration(fake, 1), tokens(10))
			if err == nil || !strings.Contains(err.Error(), "is "+string(test.state)) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "could not be recorded") || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("Register: %v", err)
			}
			if e.State != test.state {
				t.Errorf("the entry is %v", e)
			}
			if _, err := l.Register(t.Context(), registration(fake, 2), tokens(10)); err == nil || posts(fake) != 1 {
				t.Errorf("the next: %v; %d sent", err, posts(fake))
			}
			l.Close()
			l = open(t, path, fake.Client())
			expectStates(t, l, []string{"1 unknown"})
			if _, err := l.Register(t.Context(), registration(fake, 1), tokens(10)); !errors.Is(err, ledger.ErrUnsettled) {
				t.Errorf("the same pair: %v", err)
			}
		})
	}
}

func TestReadReturnsTheEntriesWhileTheLedgerIsOpen(t *testing.T) {
	fake := newFake(t, 2)
	path := filepath.Join(t.TempDir(), "l")
	if _, err := ledger.Read(path); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("of a file that does not exist: %v", err)
	}
	l := open(t, path, fake.Client())
	fake.Inject(horseracingtest.Fault{Path: registerPath, Status: 400})
	l.Register(t.Context(), registration(fake, 2), tokens(10))
	fake.Handle("POST "+registerPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
		got, err := ledger.Read(path)
		if err != nil || len(got) == 0 || got[len(got)-1].State != ledger.Sending {
			t.Errorf("while a registration is sent: %v, %v", got, err)
		}
		return horseracingtest.Response{}, false
	})
	for _, race := range []int{1, 2} {
		if _, err := l.Register(t.Context(), registration(fake, race), tokens(10)); err != nil {
			t.Fatal(err)
		}
	}
	want := slices.Collect(l.Entries())
	for _, torn := range []string{"", `{"v":1,"servi`, "\x00\x00"} {
		whole := read(t, path) + torn
		if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ledger.Read(path)
		if diff := cmp.Diff(want, got); diff != "" || err != nil || len(got) != 2 {
			t.Errorf("%v; the entries differ (-want +got):\n%s", err, diff)
		}
		if read(t, path) != whole {
			t.Error("Read changed the file")
		}
	}
}

func FuzzTheReaderOfTheFile(f *testing.F) {
	const service = "https://game.example"
	whole := lineOf(1, ledger.Sending, service) + lineOf(1, ledger.Unknown, "") + lineOf(1, ledger.Absent, "") +
		lineOf(1, ledger.Sending, service) + lineOf(1, ledger.Entered, service) + lineOf(2, ledger.Sending, service)
	for _, seed := range []string{"", whole, whole[:len(whole)-1], whole[:200], "\n", "{}", `{"v":2}` + "\n", "\x00", `{"v":1,"service":"`, "{\"v\":1,\"service\":\"\x00\"}\n"} {
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
		if strings.Contains(rest, "\n") || size > 0 && !strings.ContainsAny(string(data[size-1]), "\n}") {
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
			if e.Horse < 1 || e.Race < 1 || e.Fee.Cmp(tokens(0)) < 0 || !slices.Contains([]ledger.State{ledger.Sending, ledger.Entered, ledger.Refused, ledger.Unknown, ledger.Absent}, e.State) {
				t.Errorf("an entry is %v", e)
			}
		}
	})
}

// Its end would never come.
func TestADeviceIsNoLedger(t *testing.T) {
	_, opened := ledger.Open(os.DevNull, newFake(t, 0).Client())
	_, read := ledger.Read(os.DevNull)
	for _, err := range []error{opened, read} {
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Error(err)
		}
	}
	if _, err := os.Stat(os.DevNull + ".lock"); err == nil {
		t.Error("it has a lock")
	}
}
