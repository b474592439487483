package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/horseracing-go/horseracing/cmd/internal/connection"
	"github.com/horseracing-go/horseracing/cmd/internal/profile"
)

// profileName returns the name of the profile that the command line or the environment chooses.
func (p *program) profileName() string {
	return cmp.Or(p.profile, os.Getenv("HORSERACING_PROFILE"), profile.Default)
}

func (p *program) loginCommand() *cobra.Command {
	return p.command("login", "Save the address of the service, and the keys", cobra.NoArgs, func(c *cobra.Command, _ []string) error {
		if _, err := profile.Load(); err != nil { // before anything is typed
			return err
		}
		var set profile.Profile
		var err error
		input := bufio.NewReader(p.stdin)
		for _, part := range []struct {
			name     string
			isSecret bool
			value    *string
		}{{"base URL", false, &set.BaseURL}, {"API key", true, &set.APIKey}, {"user key, or nothing", true, &set.UserKey}} {
			if *part.value, err = p.ask(c.Context(), input, part.name, part.isSecret); err != nil {
				return err
			}
		}
		if err := p.try(c.Context(), set); err != nil {
			return err
		}
		err = profile.Change(func(all profile.All) error {
			all[p.profileName()] = set
			return nil
		})
		if err != nil {
			return err
		}
		path, err := profile.Path()
		p.say(fmt.Sprintf("profile %s is saved in %s", p.profileName(), path))
		return err
	})
}

// ask reads a line of standard input, until ctx ends. On a terminal it asks for it, and shows no
// key.
func (p *program) ask(ctx context.Context, input *bufio.Reader, name string, isSecret bool) (string, error) {
	read := func() (string, error) { return input.ReadString('\n') }
	if file, isFile := p.stdin.(*os.File); isFile && isTerminal(file) {
		fmt.Fprintf(p.stderr, "%s: ", name)
		if isSecret {
			terminal := int(file.Fd())
			if shown, err := term.GetState(terminal); err == nil {
				defer func() { _ = term.Restore(terminal, shown) }()
			}
			read = func() (string, error) {
				text, err := term.ReadPassword(terminal)
				return string(text), err
			}
			defer fmt.Fprintln(p.stderr)
		}
	}
	var line string
	var err error
	isRead := make(chan struct{})
	go func() {
		line, err = read()
		close(isRead)
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-isRead:
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSpace(line), err
}

// try sends one request with the settings: with a user key one that needs it.
func (p *program) try(ctx context.Context, set profile.Profile) error {
	s, err := connection.Connect(set, connection.Sources{BaseURL: "the base URL", APIKey: "the API key", UserKey: "the user key"}, p.options()...)
	if err != nil {
		return usageError(err.Error())
	}
	defer s.Close()
	p.use(s)
	if s.UserKey != "" {
		_, err = s.Horses.Owned(ctx, s.UserKey)
	} else {
		_, err = s.Missions.Catalogue(ctx)
	}
	return err
}

func (p *program) logoutCommand() *cobra.Command {
	return p.command("logout", "Remove saved settings", cobra.NoArgs, func(*cobra.Command, []string) error {
		return profile.Change(func(all profile.All) error {
			name := p.profileName()
			if _, isSaved := all[name]; !isSaved {
				return usageError(fmt.Sprintf("there is no profile %q", name))
			}
			delete(all, name)
			return nil
		})
	})
}

// savedProfile is a line of the command profiles. It has no keys.
type savedProfile struct {
	Name       string `json:"name"`
	BaseURL    string `json:"base_url"`
	HasUserKey bool   `json:"has_user_key"`
}

func (p *program) profilesCommand() *cobra.Command {
	var v *view[savedProfile]
	c := p.command("profiles", "List the saved settings, without keys", cobra.NoArgs, func(*cobra.Command, []string) error {
		all, err := profile.Load()
		if err != nil {
			return err
		}
		var saved []savedProfile
		for _, name := range all.Names() {
			saved = append(saved, savedProfile{name, all[name].BaseURL, all[name].UserKey != ""})
		}
		return v.printValues(saved, nil)
	})
	v = newView(p, c, layout[savedProfile]{fields: []field[savedProfile]{
		words("NAME", func(s *savedProfile) string { return s.Name }),
		words("BASE URL", func(s *savedProfile) string { return s.BaseURL }),
		words("USER KEY", func(s *savedProfile) string { return map[bool]string{true: "yes", false: "no"}[s.HasUserKey] }),
	}})
	return c
}
