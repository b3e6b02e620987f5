package cmd

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sstool/internal/s3test"
)

// TestRestoreSnapshotS3 restores from snapshots in a real S3 server, through a
// proxy that makes faults: never a wrong store, always a clear end, and the same
// command again goes on.
func TestRestoreSnapshotS3(t *testing.T) {
	if rocksVersion() == "" {
		t.Skip("built without RocksDB")
	}
	s3test.Slow(t)
	endpoint, _ := s3test.Start(t)
	k := newSnapshotKill(t, s3test.URL(endpoint, "streams"))
	r := &restoreS3{k, endpoint}
	t.Run("faults that pass", r.pass)
	t.Run("faults that stay", r.stay)
}

type restoreS3 struct {
	k        *snapshotKill
	endpoint string
}

// proxied is a proxy with a fault, and the flag that sends a command there.
func (r *restoreS3) proxied(t *testing.T, fault func(*http.Request) s3test.Fault) (*s3test.Proxy, string) {
	p := s3test.NewProxy(t, r.endpoint)
	p.Break(fault)
	return p, "--from-snapshot=" + s3test.URL(p.Endpoint, "streams")
}

func (r *restoreS3) pass(t *testing.T) {
	objects, manifests := s3test.Below("objects", http.MethodGet), s3test.Below("snapshots", http.MethodGet)
	type passes struct {
		fault func(*http.Request) s3test.Fault
		flag  string
	}
	together(t, map[string]passes{
		"503":           {s3test.First(3, objects, s3test.Fault{Status: 503}), "--parallel=1"},
		"503 manifests": {s3test.First(2, manifests, s3test.Fault{Status: 503}), "--parallel=4"},
		"cut":           {s3test.First(3, objects, s3test.Fault{Cut: true}), "--parallel=4"},
		"cut in":        {s3test.First(3, objects, s3test.Fault{CutIn: true}), "--parallel=4"},
		"wrong once":    {s3test.First(1, objects, s3test.Fault{Wrong: true}), "--parallel=4"},
		"slow":          {s3test.First(-1, objects, s3test.Fault{Delay: 200 * time.Millisecond}), "--limit=3MB"},
		"sticks":        {s3test.First(1, objects, s3test.Fault{Stick: true}), "--stall-timeout=4s"},
	}, func(t *testing.T, _ string, c passes) {
		p, url := r.proxied(t, c.fault)
		r.k.complete(t, filepath.Join(t.TempDir(), "state"), url, c.flag)
		if p.Hit() == 0 {
			t.Error("no request was hit")
		}
	})
}

func (r *restoreS3) stay(t *testing.T) {
	objects, manifests := s3test.Below("objects", http.MethodGet), s3test.Below("snapshots", http.MethodGet)
	type stays struct {
		match func(*http.Request) bool
		fault s3test.Fault
		flag  string
		code  int
		says  string // on stderr
		full  int    // how many stores are restored in full; -1: any
	}
	cases := map[string]stays{
		"503":              {objects, s3test.Fault{Status: 503}, "", 13, "tried 5 times", 0},
		"503 manifests":    {manifests, s3test.Fault{Status: 503}, "", 13, "tried 5 times", 0},
		"403":              {objects, s3test.Fault{Status: 403}, "", 13, "check the credentials", 0},
		"cut":              {objects, s3test.Fault{Cut: true}, "", 13, "run the same command again to go on", 0},
		"sticks":           {objects, s3test.Fault{Stick: true}, "--stall-timeout=1s", 13, "no progress for 1s", 0},
		"gone":             {objects, s3test.Fault{CutIn: true}, "", 13, "run the same command again to go on", 0},
		"missing":          {objects, s3test.Fault{Status: 404}, "--require-snapshot", 10, "cannot come from snapshot", 0},
		"missing, in full": {objects, s3test.Fault{Status: 404}, "", 0, "", 4},
		"one is missing":   {same(objects), s3test.Fault{Status: 404}, "", 0, "", -1},
		"wrong":            {objects, s3test.Fault{Wrong: true}, "--require-snapshot", 12, "the manifest says", 0},
		"summed":           {objects, s3test.Fault{Wrong: true, Summed: true}, "", 0, "", 4},
		"wrong, in full":   {objects, s3test.Fault{Wrong: true}, "", 0, "", 4},
		"one is wrong":     {same(objects), s3test.Fault{Wrong: true}, "", 0, "", -1},
		"wrong manifests":  {manifests, s3test.Fault{Wrong: true}, "", -1, "", -1},
		"some, then gone":  {after(3, objects), s3test.Fault{CutIn: true}, "", 13, "run the same command again to go on", 0},
	}
	if os.Getenv("SSTOOL_MATRIX") != "full" { // each takes half a minute to be given up
		for _, name := range []string{"503", "503 manifests", "gone"} {
			delete(cases, name)
		}
	}
	together(t, cases, func(t *testing.T, name string, c stays) {
		p, url := r.proxied(t, s3test.First(-1, c.match, c.fault))
		into := filepath.Join(t.TempDir(), "state")
		args := []string{url}
		if c.flag != "" {
			args = append(args, c.flag)
		}
		code, out, diag := runToEnd(t, r.k.command(into, args...))
		r.k.honest(t, into)
		if c.code >= 0 && code != c.code || !strings.Contains(diag, c.says) && !strings.Contains(diag, quoted(c.says)) {
			t.Errorf("code %d, stderr %s", code, diag)
		}
		if p.Hit() == 0 {
			t.Error("no request was hit")
		}
		if code == 0 && c.full != 0 {
			var doc fromSnapshotDoc
			if err := json.Unmarshal([]byte(out), &doc); err != nil {
				t.Fatal(err)
			}
			if n := doc.inFull(); n == 0 || c.full > 0 && n != c.full {
				t.Errorf("%d stores in full, want %d", n, c.full)
			}
		}
		p.Break(nil) // it is back
		left := size(r.k.pulled(into))
		fetched := r.k.complete(t, into, url)
		if code == 13 && fetched != r.k.fetched-left {
			t.Errorf("%d bytes were downloaded: of %d there were %d", fetched, r.k.fetched, left)
		}
		if name == "some, then gone" && left == 0 {
			t.Error("nothing had arrived")
		}
	})
}

// same matches the path that matched first, and no other.
func same(match func(*http.Request) bool) func(*http.Request) bool {
	path := ""
	return func(r *http.Request) bool {
		if path == "" && match(r) {
			path = r.URL.Path
		}
		return r.URL.Path == path
	}
}

// after matches everything once n requests have matched.
func after(n int, match func(*http.Request) bool) func(*http.Request) bool {
	return func(r *http.Request) bool {
		if n > 0 && match(r) {
			n--
			return false
		}
		return n == 0
	}
}

// TestRestoreSnapshotS3Refused: what is wrong with the bucket or the credentials
// is said before anything is made.
func TestRestoreSnapshotS3Refused(t *testing.T) {
	if rocksVersion() == "" {
		t.Skip("built without RocksDB")
	}
	s3test.Slow(t)
	endpoint, _ := s3test.Start(t)
	k := newSnapshotKill(t, s3test.URL(endpoint, "streams"))
	for _, c := range s3Refusals(endpoint) {
		if c.slow {
			continue
		}
		into := filepath.Join(k.dir, "no-"+strings.ReplaceAll(c.name, " ", "-"))
		cmd := k.command(into, "--from-snapshot="+c.url)
		cmd.Env = append(cmd.Env, c.env...)
		code, _, diag := runToEnd(t, cmd)
		if code != c.code || !strings.Contains(diag, quoted(c.says)) {
			t.Errorf("%s: code %d, stderr %s", c.name, code, diag)
		}
		if rows, _ := k.state(t, into); len(rows) > 0 {
			t.Errorf("%s: %v", c.name, rows)
		}
	}
}

// quoted is a text as JSON has it.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return strings.Trim(string(b), `"`)
}

// fromSnapshotDoc is what of a restore's document the tests look at.
type fromSnapshotDoc struct {
	Snapshot struct {
		Fetched int64 `json:"fetched_bytes"`
		Stores  []struct {
			Task, Store string
			InFull      string `json:"in_full_because"`
		}
	}
}

func (d *fromSnapshotDoc) inFull() (n int) {
	for _, s := range d.Snapshot.Stores {
		if s.InFull != "" {
			n++
		}
	}
	return n
}
