package horseracingtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/horseracing-go/horseracing/internal/redact"
)

// Record wraps a transport so that every response is written to dir with its
// request, one JSON file each, for [WithRecording]:
//
//	client, err := horseracing.NewClient(url, key, horseracing.WithTransportWrapper(horseracingtest.Record("recorded")))
//
// A file is named after its request, has mode 0600 and is never overwritten. File names
// depend only on the requests, so that two recordings made into empty directories can
// be compared with diff -r. The API key, user_key in bodies and queries, echoes of
// both, and cookies are redacted; a body that contains a key in another encoding is
// omitted. Of a request's headers only Content-Type is kept. A response is written,
// with up to 64 MiB of its body, before it is returned.
//
// If dir cannot be written to, later requests fail before they are sent.
func Record(dir string) func(http.RoundTripper) http.RoundTripper {
	r := &recorder{dir: dir, keys: redact.New(), counts: make(map[string]int)}
	return func(next http.RoundTripper) http.RoundTripper { return &recordingTransport{next, r} }
}

// WithRecording makes the fake replay the responses that [Record] wrote, byte for byte,
// instead of simulating the service. A request that was not recorded with the same body
// gets status 501 and a message that names the recorded ones. The order of JSON members
// does not matter, and any keys are accepted. Repeated requests get the recorded
// responses in order, and then the last one again.
//
// Faults, limits, latency and handlers work as without a recording.
func WithRecording(files fs.FS) Option { return func(s *settings) { s.recorded = files } }

type recordingTransport struct {
	next     http.RoundTripper
	recorder *recorder
}

func (t *recordingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	err := t.recorder.ready()
	var body []byte
	if r.Body != nil && r.Body != http.NoBody {
		if err == nil {
			body, err = io.ReadAll(r.Body)
		}
		r.Body.Close()
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	if err != nil {
		return nil, err
	}
	response, err := t.next.RoundTrip(r)
	if err != nil || response.StatusCode < 200 {
		return response, err
	}
	kept := *response // as it is now: its owner may change it
	kept.Header = response.Header.Clone()
	got, err := io.ReadAll(io.LimitReader(response.Body, maxRecorded))
	t.recorder.write(r, body, &kept, got, err == nil && len(got) < maxRecorded)
	// If it could not be read to its end, reading on gives the error again, or the rest.
	response.Body = &readBody{Reader: io.MultiReader(bytes.NewReader(got), response.Body), Closer: response.Body}
	return response, nil
}

const maxRecorded = 64 << 20 // bytes of a body

// readBody is a body of which the beginning was read.
type readBody struct {
	io.Reader
	io.Closer
}

// recorder writes the files of one directory.
type recorder struct {
	dir    string
	mu     sync.Mutex
	keys   redact.Keys // all that were seen: a later response may repeat them
	counts map[string]int
	made   bool
	failed error
}

// ready makes the directory, and reports whether recording has failed.
func (r *recorder) ready() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil && !r.made {
		if err := os.MkdirAll(r.dir, 0o777); err != nil {
			return fmt.Errorf("horseracingtest: Record: %w", err)
		}
		r.made = true
	}
	return r.failed
}

func (r *recorder) write(request *http.Request, sent []byte, got *http.Response, body []byte, whole bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	path, inQuery := pathWithoutKeys(request.URL)
	for _, keys := range []redact.Keys{secretsOf(request.Header, sent), inQuery, secretsOf(got.Header, body)} {
		for _, key := range keys() {
			if !slices.Contains(r.keys(), key) {
				r.keys = r.keys.And(key)
			}
		}
	}
	if encoding := got.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		// It cannot be searched for keys.
		body, whole = []byte("[body in Content-Encoding "+encoding+" not recorded]"), true
		got.Header.Del("Content-Encoding")
	}
	e := exchange{
		Request: recordedRequest{
			Method: request.Method, Path: r.keys.Text(path),
			Header: http.Header{}, content: newContent([]byte(r.keys.Text(string(sent)))),
		},
		Response: recordedResponse{Status: got.StatusCode, Header: r.keys.Header(got.Header), content: newContent([]byte(r.keys.Text(string(body)))), Cut: !whole},
	}
	if types := request.Header.Values("Content-Type"); types != nil {
		e.Request.Header["Content-Type"] = types
	}
	for name, values := range e.Response.Header {
		if isSecretHeader(name) {
			for i := range values {
				values[i] = redact.Placeholder
			}
		}
	}
	if err := r.save(&e, sent); err != nil && r.failed == nil {
		r.failed = fmt.Errorf("horseracingtest: Record: %w", err)
	}
}

// save writes a file under the next free name.
func (r *recorder) save(e *exchange, sent []byte) error {
	text, err := e.marshal()
	if err != nil {
		return err
	}
	name := strings.Trim(unsafeInNames.ReplaceAllString(e.Request.Path, "-"), "-")
	name = e.Request.Method + "-" + name[:min(len(name), 80)]
	if len(sent) > 0 {
		redacted, err := e.Request.bytes()
		if err != nil {
			return err
		}
		hash := sha256.Sum256([]byte(requestKey("", "", redacted)))
		name += "-" + hex.EncodeToString(hash[:4])
	}
	for {
		r.counts[name]++
		file, err := os.OpenFile(filepath.Join(r.dir, fmt.Sprintf("%s-%04d.json", name, r.counts[name])), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return err
		}
		_, err = file.Write(text)
		return errors.Join(err, file.Close())
	}
}

var unsafeInNames = regexp.MustCompile(`[^A-Za-z0-9.]+`)

// isSecretHeader reports whether the values of a header are secrets, as far as
// its name says.
func isSecretHeader(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"cookie", "auth", "token", "secret", "key", "session"}, func(word string) bool { return strings.Contains(name, word) })
}

// secretsOf returns the keys that a message shows by itself: in its headers,
// and as user_key or an API key in its body.
func secretsOf(header http.Header, body []byte) redact.Keys {
	var secrets []string
	for name, values := range header {
		if !isSecretHeader(name) {
			continue
		}
		for _, value := range values {
			secrets = append(secrets, headerSecrets(name, value)...)
		}
	}
	var value any
	if json.Unmarshal(body, &value) == nil {
		secrets = appendSecrets(secrets, value)
	} else {
		for _, match := range secretMember.FindAllSubmatch(body, -1) {
			secrets = append(secrets, string(match[1]))
		}
	}
	return redact.New(secrets...)
}

// pathWithoutKeys returns a path with its query, in which the keys are redacted,
// and the keys.
func pathWithoutKeys(u *url.URL) (string, redact.Keys) {
	path, query, found := strings.Cut(u.RequestURI(), "?")
	if !found {
		return path, redact.New()
	}
	var secrets []string
	members := strings.Split(query, "&")
	for i, member := range members {
		name, value, _ := strings.Cut(member, "=")
		if plain, err := url.QueryUnescape(name); err == nil && secretName.MatchString(plain) {
			members[i] = name + "=" + redact.Placeholder
			secret, _ := url.QueryUnescape(value)
			secrets = append(secrets, value, secret)
		}
	}
	return path + "?" + strings.Join(members, "&"), redact.New(secrets...)
}

// headerSecrets returns the secrets in a header: the API key, the values of
// cookies, and otherwise every word. Short ones are flags, whose redaction would
// leave holes everywhere.
func headerSecrets(name, value string) []string {
	var secrets []string
	switch http.CanonicalHeaderKey(name) {
	case "X-Api-Key":
		return []string{value}
	case "Set-Cookie":
		value, _, _ = strings.Cut(value, ";") // attributes follow
		fallthrough
	case "Cookie":
		for cookie := range strings.SplitSeq(value, ";") {
			_, secret, _ := strings.Cut(cookie, "=")
			secrets = append(secrets, strings.Trim(secret, `" `))
		}
	default:
		secrets = append(strings.Fields(value), value)
	}
	return slices.DeleteFunc(secrets, func(s string) bool { return len(s) < 8 })
}

// appendSecrets appends the keys in a JSON value.
func appendSecrets(secrets []string, value any) []string {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			secrets = appendSecrets(secrets, element)
		}
	case map[string]any:
		for name, member := range value {
			if secretName.MatchString(name) {
				if text, ok := member.(string); ok {
					secrets = append(secrets, text)
				} else if b, err := json.Marshal(member); err == nil && len(b) > 3 && member != nil {
					secrets = append(secrets, string(b))
				}
				continue
			}
			secrets = appendSecrets(secrets, member)
		}
	}
	return secrets
}

var (
	secretName   = regexp.MustCompile(`(?i)^(user|api|app|application|x[-_]api)[-_ ]?key$`)
	secretMember = regexp.MustCompile(`(?i)(?:user|api)[-_]?key["'\s:=]+([^\s"'&,;}<]+)`)
)
