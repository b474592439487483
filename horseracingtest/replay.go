package horseracingtest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
)

// recording is a folder of exchanges.
type recording map[string][]replayed // by requestKey, in the order of their files

type replayed struct {
	file string
	response
}

// readRecording reads every file that ends in .json.
func readRecording(files fs.FS) (recording, error) {
	rec := make(recording)
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".json" {
			return err
		}
		if err := rec.read(files, name); err != nil {
			return fmt.Errorf("recording %s: %w", name, err)
		}
		return nil
	})
	if err == nil && len(rec) == 0 {
		err = errors.New("the recording has no file that ends in .json")
	}
	for _, list := range rec {
		slices.SortFunc(list, func(a, b replayed) int { // 0002 is before 10000
			return cmp.Or(cmp.Compare(len(a.file), len(b.file)), cmp.Compare(a.file, b.file))
		})
	}
	return rec, err
}

func (rec recording) read(files fs.FS, name string) error {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	var e exchange
	if err := json.Unmarshal(text, &e); err != nil {
		return err
	}
	if e.Request.Method == "" || e.Request.Path == "" || e.Response.Status < 200 || e.Response.Status > 999 {
		return errors.New("it is no recorded exchange: it needs a request with method and path, and a response with a status from 200 to 999")
	}
	sent, err := e.Request.bytes()
	if err != nil {
		return err
	}
	body, err := e.Response.bytes()
	if err != nil {
		return err
	}
	header := make(http.Header)
	for name, values := range e.Response.Header {
		if name := http.CanonicalHeaderKey(name); !slices.Contains(connectionHeaders, name) && !isSecretHeader(name) {
			header[name] = values
		}
	}
	if header["Content-Type"] == nil {
		header["Content-Type"] = nil // none, instead of the fake's own
	}
	key := requestKey(e.Request.Method, e.Request.Path, sent)
	rec[key] = append(rec[key], replayed{name, response{status: e.Response.Status, header: header, body: body, cut: e.Response.Cut}})
	return nil
}

// connectionHeaders are about how a response was sent, not what it was.
var connectionHeaders = []string{"Connection", "Content-Length", "Keep-Alive", "Trailer", "Transfer-Encoding", "Upgrade", "Alt-Svc"}

// replays are what is left to respond with.
type replays struct {
	mu        sync.Mutex
	recording recording
	served    map[string]int // by requestKey
}

func (p *replays) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.served = make(map[string]int)
}

// link responds with the next recorded response to a request.
func (p *replays) link(next handle) handle {
	return func(c *call) response {
		if p.recording == nil || c.unread != nil {
			return next(c)
		}
		body := c.arrived.Body
		path, _ := pathWithoutKeys(c.request.URL)
		key := requestKey(c.request.Method, path, []byte(secretsOf(nil, body).Text(string(body))))
		p.mu.Lock()
		defer p.mu.Unlock()
		list := p.recording[key]
		if len(list) == 0 {
			return refused(p.unknown(c.request.Method+" "+path, key))
		}
		n := p.served[key]
		p.served[key] = min(n+1, len(list)-1)
		return list[n].response
	}
}

// unknown refuses a request that was not recorded.
func (p *replays) unknown(route, key string) *world.Refusal {
	var bodies []string
	for recorded := range p.recording {
		if body, ok := strings.CutPrefix(recorded, route+" "); ok {
			bodies = append(bodies, cmp.Or(body, "none"))
		}
	}
	if len(bodies) == 0 {
		return world.Refuse(http.StatusNotImplemented, "not_recorded", "the recording has no %.200s", route)
	}
	slices.Sort(bodies)
	return world.Refuse(http.StatusNotImplemented, "not_recorded", "the recording has %.200s, but not with the body %.200s; recorded are: %.1000s",
		route, cmp.Or(strings.TrimPrefix(key, route+" "), "none"), strings.Join(bodies, ", "))
}
