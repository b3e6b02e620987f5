package monitor

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sstool/internal/op"
)

// Access is how endpoints are asked.
type Access struct {
	User, Password string         // basic authentication, when User is set
	Token          string         // a bearer token, when set
	Roots          *x509.CertPool // whom to trust with https; nil for the system's
	Timeout        time.Duration  // of one scrape; default 10 s
	Stdin          io.Reader      // what the target - reads; nil: it is a file's name
}

// Stdin is the target that is standard input.
const Stdin = "-"

// maxBody bounds a scrape, unpacked: large applications show some 10 MB.
const maxBody = 64 << 20

// maxRedirects is how often an endpoint may send us on.
const maxRedirects = 3

// Source is one place that shows metrics: an endpoint, or a file.
type Source struct {
	// Name is the instance that the source's metrics belong to, unless they
	// say themselves.
	Name string

	target  string // as it was given
	url     *url.URL
	stdin   io.Reader // the source is standard input
	access  Access
	client  *http.Client
	catalog catalog
}

// Open makes sources of URLs and paths of files; nothing is asked or read yet.
func Open(targets []string, access Access) ([]*Source, error) {
	if access.Timeout == 0 {
		access.Timeout = 10 * time.Second
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: access.Roots, MinVersion: tls.VersionTLS12}
	client := &http.Client{Transport: transport, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		return nil
	}}
	names := map[string]int{}
	out := make([]*Source, len(targets))
	for i, t := range targets {
		s := &Source{target: t, access: access, client: client, catalog: newCatalog(), Name: filepath.Base(t)}
		if t == Stdin && access.Stdin != nil {
			if slices.Contains(targets[:i], Stdin) {
				return nil, op.Errorf(op.Usage, "%s, standard input, can be read only once", Stdin)
			}
			s.Name, s.stdin = "stdin", access.Stdin
		}
		if isURL(t) {
			u, err := url.Parse(t)
			if err != nil || u.Hostname() == "" {
				return nil, op.Errorf(op.Usage, "%q is no URL", withoutUser(t)).WithTry("http://HOST:9404/metrics")
			}
			if u.User != nil { // not into any message
				s.access.User = u.User.Username()
				s.access.Password, _ = u.User.Password()
				u.User = nil
			}
			s.url, s.target, s.Name = u, u.String(), u.Host
		}
		names[s.Name]++
		out[i] = s
	}
	for _, s := range out {
		if names[s.Name] > 1 {
			s.Name = s.target
		}
	}
	return out, nil
}

func isURL(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// withoutUser is a URL, one that cannot be parsed too, without credentials: a
// password may hold any character, an @ or a slash as well.
func withoutUser(s string) string {
	i := strings.LastIndex(s, "@")
	if i < 0 {
		return s
	}
	scheme, _, _ := strings.Cut(s, "://")
	return scheme + "://…@" + s[i+1:]
}

// Target is the source as it was given, without credentials.
func (s *Source) Target() string { return s.target }

// IsFile says whether the source is a file: it shows the same again and again.
func (s *Source) IsFile() bool { return s.url == nil }

// Scrape reads what the source shows now.
func (s *Source) Scrape(ctx context.Context) (*Scrape, error) {
	if s.url == nil {
		return s.file()
	}
	ctx, cancel := context.WithTimeout(ctx, s.access.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.String(), nil)
	if err != nil {
		return nil, op.Errorf(op.Usage, "%s: %w", s.target, err)
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4, */*;q=0.1")
	switch {
	case s.access.Token != "":
		req.Header.Set("Authorization", "Bearer "+s.access.Token)
	case s.access.User != "":
		req.SetBasicAuth(s.access.User, s.access.Password)
	}
	at := time.Now()
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, s.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	if err := s.refused(resp); err != nil {
		return nil, err
	}
	out, err := read(&bounded{r: resp.Body, left: maxBody}, s.Name, at, s.catalog)
	if err != nil && ctx.Err() != nil {
		return nil, s.unreachable(ctx, err)
	}
	return out, err
}

// unreachable is the error of an endpoint that does not answer. The client's own
// error begins with method and URL, which are told already.
func (s *Source) unreachable(ctx context.Context, err error) error {
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return op.Errorf(op.Unreachable, "%s did not answer within %s", s.target, short(s.access.Timeout)).WithTry("a longer --timeout")
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", s.target, ctx.Err())
	}
	return op.Errorf(op.Unreachable, "%s: %w", s.target, err)
}

// refused says why an answer is no page of metrics.
func (s *Source) refused(resp *http.Response) error {
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return op.Errorf(op.Unreachable, "%s answers %s", s.target, resp.Status).WithTry("--user with --password-file, or --bearer-token-file")
	case code == http.StatusNotFound:
		return op.Errorf(op.NotFound, "%s answers %s", s.target, resp.Status).
			WithTry("the path of the metrics: /metrics of the JMX exporter, /actuator/prometheus of Spring Boot")
	case code != http.StatusOK:
		return op.Errorf(op.Failed, "%s answers %s", s.target, resp.Status)
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || kind == "text/plain" || kind == "application/openmetrics-text" || kind == "application/octet-stream" {
		return nil
	}
	return op.Errorf(op.Usage, "%s answers with %s, which is no page of metrics", s.target, kind).
		WithTry("the path of the metrics: /metrics of the JMX exporter, /actuator/prometheus of Spring Boot")
}

// file reads a saved scrape, packed or not.
func (s *Source) file() (*Scrape, error) {
	if s.stdin != nil {
		return s.saved(s.stdin, time.Now())
	}
	f, _, err := op.OpenFile(s.target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e := op.Errorf(op.NotFound, "%s: no such file", s.target)
		if strings.Contains(s.target, ":") {
			return nil, e.WithTry("http://%s, if it is an endpoint", s.target)
		}
		return nil, e
	case errors.Is(err, op.ErrNotRegular):
		return nil, op.Errorf(op.Usage, "saved scrape: %w", err).WithTry("- reads standard input")
	case err != nil:
		return nil, op.Errorf(op.Usage, "saved scrape: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("saved scrape: %w", err)
	}
	return s.saved(f, st.ModTime())
}

// saved reads a page, packed or not.
func (s *Source) saved(r io.Reader, at time.Time) (*Scrape, error) {
	in := bufio.NewReader(r)
	var text io.Reader = in
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" {
		var err error
		if text, err = gzip.NewReader(in); err != nil {
			return nil, op.Errorf(op.Usage, "%s: %w", s.Name, err)
		}
	}
	return read(&bounded{r: text, left: maxBody}, s.Name, at, s.catalog)
}

// bounded is a reader that fails when there is too much.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return 0, op.Errorf(op.Usage, "more than %d MiB of metrics", maxBody>>20)
	}
	return n, err
}
