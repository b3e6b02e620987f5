package snapshot

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"

	"sstool/internal/op"
)

// address is a parsed URL.
type address struct {
	name   string // to show: no query, no user
	dir    string // file://
	bucket string // s3://
	query  url.Values
	prefix string
}

// ParseURL checks the URL of a bucket and returns how it is shown: what could
// be secret is left out, of errors too.
func ParseURL(s string) (name string, err error) {
	a, err := parseURL(s)
	if err != nil {
		return "", err
	}
	return a.name, nil
}

func parseURL(s string) (*address, error) {
	forms := "file:///path/of/a/directory, or s3://bucket/prefix?region=eu-central-1"
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" {
		return nil, op.Errorf(op.Usage, "not the URL of a bucket").WithTry("%s", forms)
	}
	if u.User != nil {
		return nil, op.Errorf(op.Usage, "the URL of a bucket must not hold credentials").
			WithTry("give them as AWS's tools take them: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile of ~/.aws, or a role")
	}
	// What is not part of an address is refused, not dropped: the bucket would be
	// another one than the one that was meant.
	if u.Fragment != "" || strings.Contains(s, "#") {
		return nil, op.Errorf(op.Usage, "the URL of a bucket has no part behind a #").WithTry("%%23 stands for a # in a name")
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, op.Errorf(op.Usage, "the settings in the URL cannot be read").WithTry("name=value&name=value, with %%XX for special characters")
	}
	switch u.Scheme {
	case "file":
		if u.Host != "" && u.Host != "." && u.Host != "localhost" || u.Path == "" || len(q) > 0 || u.Opaque != "" {
			return nil, op.Errorf(op.Usage, "a file:// URL is a path and nothing else").WithTry("file:///path/of/a/directory, or file://./path for one below the current directory")
		}
		dir := filepath.FromSlash(u.Path)
		if u.Host == "." {
			dir = strings.TrimPrefix(dir, "/")
		}
		return &address{name: "file://" + strings.TrimPrefix(u.Host, "localhost") + strings.TrimSuffix(u.Path, "/"), dir: filepath.Clean(dir)}, nil
	case "s3":
		for k := range q {
			if !slices.Contains(s3Settings, k) {
				// The value is not shown, nor what does not look like a name: it may be
				// a secret that was put there.
				what := "such a setting"
				if q.Get(k) != "" && isName(k) {
					what = fmt.Sprintf("setting %q", k)
				}
				return nil, op.Errorf(op.Usage, "an s3:// URL has no %s", what).WithTry("known are %s; credentials come from the environment or ~/.aws", strings.Join(s3Settings, ", "))
			}
		}
		if e, err := url.Parse(q.Get("endpoint")); q.Has("endpoint") && (err != nil || e.User != nil || e.Host == "" || e.Scheme != "http" && e.Scheme != "https") {
			return nil, op.Errorf(op.Usage, "the endpoint must be an http(s) URL, without credentials").WithTry("endpoint=https://host:port; credentials come from the environment or ~/.aws")
		}
		if u.Host == "" {
			return nil, op.Errorf(op.Usage, "which bucket?").WithTry("%s", forms)
		}
		prefix := strings.Trim(path.Clean("/"+u.Path), "/")
		return &address{name: strings.TrimSuffix("s3://"+u.Host+"/"+prefix, "/"), prefix: prefix, bucket: u.Host, query: q}, nil
	}
	if u.Opaque != "" { // what stands before the colon may be a user's name, or worse
		return nil, op.Errorf(op.Usage, "not the URL of a bucket").WithTry("%s", forms)
	}
	return nil, op.Errorf(op.Usage, "snapshots are kept in file:// or s3://, not in %s://", u.Scheme).WithTry("%s", forms)
}

// isName says whether s looks like the name of a setting.
func isName(s string) bool {
	return len(s) <= 40 && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && r != '.' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// Open opens the bucket at a URL. Of s3:// nothing is asked yet.
func Open(ctx context.Context, rawURL string, o Options) (*Bucket, error) {
	a, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	if a.bucket == "" {
		if o.Outside != "" && within(a.dir, o.Outside) {
			return nil, op.Errorf(op.Usage, "%s lies in %s, and an application takes what lies there for its own", a.name, o.Outside).WithTry("keep snapshots elsewhere, best on another machine")
		}
		if i, err := os.Stat(a.dir); err == nil && !i.IsDir() {
			return nil, op.Errorf(op.Usage, "%s is a file, not a directory", a.dir)
		}
		b, err := fileblob.OpenBucket(a.dir, &fileblob.Options{CreateDir: o.Create, DirFileMode: 0o750, NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
		if err != nil {
			if os.IsNotExist(err) && o.Absent {
				return newBucket(a.name, a.dir, nil, o), nil
			}
			if os.IsNotExist(err) {
				return nil, op.Errorf(op.NotFound, "there is no directory %s", a.dir)
			}
			return nil, &op.Error{Kind: op.Failed, What: "open " + a.name, Err: err}
		}
		return newBucket(a.name, a.dir, b, o), nil
	}
	b, err := newS3(ctx, a.bucket, a.query)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", a.name, err)
	}
	if a.prefix != "" {
		b = blob.PrefixedBucket(b, a.prefix+"/")
	}
	return newBucket(a.name, "", b, o), nil
}

// within says whether path is dir or lies in it. What is not there yet lies
// where the directories above it are.
func within(path, dir string) bool {
	real := func(p string) string {
		p, _ = filepath.Abs(p)
		rest := ""
		for q := p; ; q = filepath.Dir(q) {
			if r, err := filepath.EvalSymlinks(q); err == nil {
				return filepath.Join(r, rest)
			}
			if q == filepath.Dir(q) {
				return p
			}
			rest = filepath.Join(filepath.Base(q), rest)
		}
	}
	rel, err := filepath.Rel(real(dir), real(path))
	return err == nil && filepath.IsLocal(rel)
}
