// Package profile keeps settings of the programs in a file of the user: where the service is, and
// the keys.
package profile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/gofrs/flock"
)

// Default is the name of the profile that is used if no other is named.
const Default = "default"

// Profile is where a service is, and the keys for it.
type Profile struct {
	BaseURL string `json:"base_url"`
	APIKey  string `json:"api_key"`
	UserKey string `json:"user_key,omitempty"` // of the horses' owner
}

// All are the profiles by their names.
type All map[string]Profile

// Names returns the names of the profiles, sorted.
func (a All) Names() []string { return slices.Sorted(maps.Keys(a)) }

// Flag returns a function for a flag that takes the name of a profile. An empty one is a mistake, as from a variable
// that is not set.
func Flag(name *string) func(string) error {
	return func(text string) error {
		if *name = text; text == "" {
			return errors.New("want the name of a profile")
		}
		return nil
	}
}

// Path returns the file of the profiles, of which a link may name another one.
func Path() (string, error) {
	folder, err := os.UserConfigDir()
	path := filepath.Join(folder, "horseracing", "profiles.json")
	if named, failed := filepath.EvalSymlinks(path); failed == nil {
		path = named
	}
	return path, err
}

// Load reads the profiles. There are none if there is no file, or no folder for it. A file that
// others can read is an error.
func Load() (All, error) {
	path, err := Path()
	if err != nil {
		return nil, nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("%s holds keys, and others can read or write it (mode %04o): run chmod 600 %[1]s, and replace the keys if somebody may have read them", path, mode)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all All
	if json.Unmarshal(text, &all) != nil { // its error could show a part of a key
		return nil, fmt.Errorf("%s is damaged: correct it, or remove it and run horseracing login", path)
	}
	return all, nil
}

// Change replaces the profiles by what change makes of them. Other programs that change them wait.
func Change(change func(All) error) error {
	path, err := Path()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	lock := flock.New(path + ".lock")
	if err := lock.Lock(); err != nil {
		return err
	}
	defer lock.Close()
	all, err := Load()
	if all == nil {
		all = All{}
	}
	if err = cmp.Or(err, change(all)); err != nil {
		return err
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), "profiles-*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		os.Remove(file.Name())
	}
	return err
}
