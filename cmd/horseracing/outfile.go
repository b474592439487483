package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing"
)

// lookback is how long before the newest race others may still appear.
const lookback = time.Hour

// outFile is the file of -o, in which each finished race is once. It is its own position: a
// run continues from lookback before its newest race, and leaves out the races that it has.
type outFile struct {
	locked
	file   *os.File
	origin origin
	size   int64 // of the lines that were read and written
	lost   int64 // the size that it had before it lost races, until these are fetched again
	synced time.Time

	newest time.Time // when the newest race starts, zero if there is none
	has    map[raceKey]bool
}

// raceKey distinguishes the races of a file.
type raceKey struct {
	id    horseracing.RaceID
	start int64 // in milliseconds
}

func keyOf(r *horseracing.Race) raceKey { return raceKey{r.MainRaceID, r.StartTime.UnixMilli()} }

// raceOf reads the id and the start of a race. It reports whether the line is one.
func raceOf(line []byte) (*horseracing.Race, bool) {
	var race struct {
		ID    horseracing.Number    `json:"main_race_id"` // 7.0, too
		Start horseracing.Timestamp `json:"start_time"`
	}
	err := json.Unmarshal(bytes.TrimPrefix(line, byteOrderMark), &race)
	id, isWhole := race.ID.Int64()
	return &horseracing.Race{MainRaceID: horseracing.RaceID(id), StartTime: race.Start}, err == nil && isWhole && id > 0 && !race.Start.IsZero()
}

// openOut opens or creates the file at path, and cuts off an incomplete last line. With an
// error nothing is changed.
func openOut(p *program, path string, from origin) (*outFile, error) {
	file, err := lockFile("-o", path)
	if err != nil {
		return nil, err
	}
	f := &outFile{locked: file, origin: from, synced: time.Now()}
	_, missing := os.Stat(f.path)
	if f.file, err = os.OpenFile(f.path, os.O_RDWR|os.O_CREATE, 0o666); err == nil {
		err = f.begin(p, missing == nil)
	}
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// close lets other processes use the file.
func (f *outFile) close() (err error) {
	if f.file != nil {
		err = f.file.Close()
	}
	return errors.Join(err, f.locked.close())
}

// begin reads the file, compares its origin with that of this run, and cuts it. If the file was
// removed, the run may start a new one.
func (f *outFile) begin(p *program, existed bool) error {
	if err := f.read(time.Now()); err != nil {
		return err
	}
	stored, err := f.readOrigin()
	switch {
	case err != nil:
		return err
	case f.size == 0 && (!existed || stored.Size == 0): // whatever it was for
	case stored.Service != "":
		if err := stored.check(f.origin, f.path); err != nil {
			return err
		}
		f.origin = f.origin.from(stored, p, f.path)
		if f.size < stored.Size {
			p.say(fmt.Sprintf("%s has %d bytes of races, of %d that were written: what is missing is fetched again", f.path, f.size, stored.Size))
			f.lost, f.newest = stored.Size, time.Time{}
		}
		return f.file.Truncate(f.size)
	case f.size == 0:
	default:
		f.origin.Since = time.Time{}
		p.say(fmt.Sprintf("%s.lock does not say where %[1]s comes from: it is taken for tier %d of %s from now on", f.path, f.origin.Tier, f.origin.Service))
	}
	return errors.Join(f.writeOrigin(), f.file.Truncate(f.size))
}

// readOrigin reads the origin from the lock file. It is zero in one of an older version.
func (f *outFile) readOrigin() (stored origin, err error) {
	text, err := f.readNote()
	if err == nil && len(text) > 0 && json.Unmarshal(text, &stored) != nil {
		err = fmt.Errorf("%s is damaged: remove it", f.lock.Path())
	}
	return stored, err
}

func (f *outFile) writeOrigin() error {
	text, err := lineOf(f.origin)
	if err != nil {
		return err
	}
	return f.writeNote(text)
}

// sync syncs the file, and then notes its size.
func (f *outFile) sync() error {
	f.synced = time.Now()
	if err := f.file.Sync(); err != nil {
		return err
	}
	f.origin.Size = max(f.size, f.lost)
	return f.writeOrigin()
}

// read reads the races of the file, and finds the end of the last whole line. A file that does
// not look like one of -o is an error.
func (f *outFile) read(now time.Time) error {
	f.has = map[raceKey]bool{}
	lines := bufio.NewReader(f.file)
	head, _ := lines.Peek(2) // an error comes again
	if _, err := withoutMark(head); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) || bytes.ContainsRune(line, 0) {
			return f.checkEnd(line)
		}
		if err != nil {
			return err
		}
		f.size += int64(len(line))
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		race, isRace := raceOf(line)
		if !isRace {
			return f.isOther("a line that is not a race as JSON: %.40q", line)
		}
		f.has[keyOf(race)] = true
		if start := race.StartTime.Time; start.After(f.newest) && !start.After(now) { // a start in the future would hide races
			f.newest = start
		}
	}
}

// checkEnd checks what follows the last whole line and is cut off: the begin of a race, or the
// zeros that a loss of power leaves.
func (f *outFile) checkEnd(rest []byte) error {
	begun, others, _ := bytes.Cut(rest, []byte{0})
	switch {
	case !isBegun(begun):
		return f.isOther("a last line that is not a race: %.40q", begun)
	case f.size == 0 && len(bytes.Trim(others, "\x00")) > 0:
		return f.isOther("zeros in its first line")
	}
	return nil
}

// isBegun reports whether a text is a race, the beginning of an object, or nothing.
func isBegun(text []byte) bool {
	text = bytes.TrimPrefix(text, byteOrderMark)
	_, isRace := raceOf(text)
	err := json.NewDecoder(bytes.NewReader(text)).Decode(new(json.RawMessage))
	return len(text) == 0 || isRace || text[0] == '{' && errors.Is(err, io.ErrUnexpectedEOF)
}

func (f *outFile) isOther(format string, args ...any) error {
	return fmt.Errorf("%s was not written by -o, so it is not changed: it has "+format, append([]any{f.path}, args...)...)
}

// append appends a line, unless something else has replaced or changed the file: what is
// written to a file that was cut comes after a gap of zeros.
func (f *outFile) append(line []byte) error {
	ours, err := f.file.Stat()
	if err != nil {
		return err
	}
	if named, err := os.Stat(f.path); err != nil || !os.SameFile(named, ours) || ours.Size() != f.size {
		return fmt.Errorf("%s was changed by something else: nothing more is written to it", f.path)
	}
	if _, err := f.file.WriteAt(line, f.size); err != nil {
		return err
	}
	if f.size += int64(len(line)); time.Since(f.synced) > saveInterval {
		return f.sync()
	}
	return nil
}

// query selects the races that the file may lack.
func (f *outFile) query(o *listingOptions) horseracing.FollowQuery {
	history := time.UnixMilli(1) // the whole one
	since := slices.MaxFunc([]time.Time{f.origin.Since, f.newest.Add(-lookback), history}, time.Time.Compare)
	return horseracing.FollowQuery{Tier: f.origin.Tier, Since: since, Lookback: lookback, Interval: o.interval, Concurrency: o.concurrency}
}

// keepResults appends the races to the file of -o that it lacks.
func (p *program) keepResults(ctx context.Context, s *service, o *listingOptions) error {
	f, err := openOut(p, o.out, origin{Service: s.BaseURL(), Tier: o.tier(), Since: o.since.Time})
	if err != nil {
		return err
	}
	added, reached := 0, p.progressOf("race", false)
	err = each(ctx, p, o, loop(ctx, o, s.Races.Follow(f.query(o))), func(e horseracing.Entry[horseracing.Race]) error {
		if f.has[keyOf(e.Value)] {
			return nil
		}
		line, err := p.line(jsonOf(e))
		if err == nil {
			err = f.append(line)
		}
		if err == nil {
			added++
			reached(e.Value.StartTime.Time)
		}
		return err
	})
	if err == nil {
		f.lost = 0
	}
	if err != nil && f.size == 0 {
		p.say("nothing was written to " + o.out + " yet")
	} else {
		p.say(fmt.Sprintf("races added to %s: %d", o.out, added))
		o.sayHowToContinue(ctx, p, err)
	}
	return errors.Join(err, f.sync(), f.close())
}
