package horseracingtest

import (
	"bytes"
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
	"unicode/utf8"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
)

// exchange is a recorded request with its response: a file of a recording.
type exchange struct {
	Request  recordedRequest  `json:"request"`
	Response recordedResponse `json:"response"`
}

type recordedRequest struct {
	Method string      `json:"method"`
	Path   string      `json:"path"` // escaped, with the query if there is one
	Header http.Header `json:"header,omitempty"`
	content
}

type recordedResponse struct {
	Status int         `json:"status"`
	Header http.Header `json:"header,omitempty"`
	content
	Cut bool `json:"cut,omitempty"` // the body did not come to its end, or was not read to it
}

// content is a body: as JSON where that gives its bytes back, which people can
// read and diff, or else as text or in base64.
type content struct {
	JSON   json.RawMessage `json:"body,omitempty"`
	Text   string          `json:"text,omitempty"`
	Base64 []byte          `json:"base64,omitempty"`
}

func newContent(body []byte) content {
	var compact bytes.Buffer
	switch {
	case !utf8.Valid(body):
		return content{Base64: body}
	case bytes.ContainsAny(body, "\u2028\u2029"): // an encoder may escape them within JSON
	case json.Compact(&compact, body) == nil && bytes.Equal(compact.Bytes(), body):
		return content{JSON: body}
	}
	return content{Text: string(body)}
}

// bytes returns the body as it was.
func (c *content) bytes() ([]byte, error) {
	switch {
	case c.JSON != nil:
		var compact bytes.Buffer
		err := json.Compact(&compact, c.JSON)
		return compact.Bytes(), err
	case c.Text != "":
		return []byte(c.Text), nil
	}
	return c.Base64, nil
}

// marshal writes the file of an exchange.
func (e *exchange) marshal() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(e)
	return b.Bytes(), err
}

// requestKey is what two requests must share to be the same request: method,
// path and body, in which the order of JSON members and white space do not
// count.
func requestKey(method, path string, body []byte) string {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(&value) == nil && !decoder.More() {
		if canonical, err := json.Marshal(value); err == nil {
			body = canonical
		}
	}
	return method + " " + path + " " + string(body)
}

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

// WithRecording makes the fake replay the responses that [Record] wrote, byte for byte,
// instead of simulating the service. A request that was not recorded with the same body
// gets status 501 and a message that names the recorded ones. The order of JSON members
// does not matter, and any keys are accepted. Repeated requests get the recorded
// responses in order, and then the last one again.
//
// Faults, limits, latency and handlers work as without a recording.
func WithRecording(files fs.FS) Option { return func(s *settings) { s.recorded = files } }

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

// replay responds with the next recorded response to a request.
func (s *Server) replay(r *http.Request, body []byte) response {
	path, _ := pathWithoutKeys(r.URL)
	key := requestKey(r.Method, path, []byte(secretsOf(nil, body).Text(string(body))))
	s.replays.mu.Lock()
	defer s.replays.mu.Unlock()
	list := s.replays.recording[key]
	if len(list) == 0 {
		return refused(s.replays.unknown(r.Method+" "+path, key))
	}
	n := s.replays.served[key]
	s.replays.served[key] = min(n+1, len(list)-1)
	return list[n].response
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
