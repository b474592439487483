package control

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/horseracing-go/horseracing"
)

// operation handles a request whose response is a value.
type operation func(*http.Request) (any, error)

// object is a JSON object of a response.
type object map[string]any

// act is the operation that calls f.
func act(f func()) operation {
	return func(*http.Request) (any, error) {
		f()
		return object{}, nil
	}
}

// list is the operation that calls f with the array in the request body; want says
// what that has.
func list[T any](want string, f func(...T)) operation {
	return func(r *http.Request) (any, error) {
		var values []T
		if err := read(r, &values, "an array of "+want); err != nil {
			return nil, err
		}
		return object{"count": len(values)}, attempt(func() { f(values...) })
	}
}

func (c *control) info(*http.Request) (any, error) {
	users := make([]object, c.fake.NumUsers())
	for i := range users {
		users[i] = object{"user_key": string(c.fake.UserKey(i)), "horses": c.fake.Horses(i)}
	}
	_, still := c.clock.state()
	return object{"url": c.fake.URL, "api_key": c.fake.APIKey, "now": c.fake.Now(), "still": still, "users": users}, nil
}

func (c *control) removeRace(r *http.Request) (any, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not a main_race_id", r.PathValue("id"))
	}
	c.fake.RemoveRaces(horseracing.RaceID(id))
	return object{}, nil
}

func (c *control) addHorses(r *http.Request) (any, error) {
	user := int64(-1) // nobody
	if name := r.PathValue("user"); name != "" {
		var err error
		if user, err = strconv.ParseInt(name, 10, 32); err != nil || user < 0 {
			return nil, fmt.Errorf("%q is not a user: users are numbered from 0", name)
		}
	}
	return list("horses", func(horses ...horseracing.Horse) { c.fake.AddHorses(int(user), horses...) })(r)
}

func (c *control) setCatalogue(r *http.Request) (any, error) {
	var catalogue horseracing.MissionCatalogue
	if err := read(r, &catalogue, "a mission catalogue"); err != nil {
		return nil, err
	}
	return object{}, attempt(func() { c.fake.SetCatalogue(catalogue) })
}

// keys are those in the body of a request.
var keys = regexp.MustCompile(`"user_key"\s*:\s*"[^"]*`)

// requests returns what was requested, with keys in part: somebody may have used a real one.
func (c *control) requests(*http.Request) (any, error) {
	all := []object{}
	for _, r := range c.fake.Requests() {
		header := r.Header.Clone()
		if key := header.Get("X-Api-Key"); key != "" {
			header.Set("X-Api-Key", part(key))
		}
		body := keys.ReplaceAllStringFunc(string(r.Body), func(member string) string {
			i := strings.LastIndexByte(member, '"') + 1
			return member[:i] + part(member[i:])
		})
		all = append(all, object{"time": r.Time, "method": r.Method, "path": r.Path, "header": header, "body": body, "status": r.Status})
	}
	return all, nil
}

// part returns enough of a key to distinguish the fake's keys.
func part(key string) string { return key[:min(len(key)/2, 12)] + "…" }

func (c *control) registrations(*http.Request) (any, error) {
	all := []object{}
	for _, r := range c.fake.Registrations() {
		all = append(all, object{"time": r.Time, "user": r.User, "horse_number": r.Horse, "main_race_id": r.Race, "entry_fee": r.Fee})
	}
	return all, nil
}
