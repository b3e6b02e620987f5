package snapshot

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sstool/internal/op"
	"sstool/internal/s3test"
)

// s3State is big enough for several parts of an upload.
func s3State() state {
	big := make([]byte, 20<<20)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(big)
	return state{"000001.sst": string(big), "CURRENT": "MANIFEST-000005\n", "empty.log": "", "000002.sst": "small"}
}

func openS3(t *testing.T, endpoint, prefix string, o Options) *Bucket {
	t.Helper()
	o.pause = 20 * time.Millisecond
	b, err := Open(t.Context(), s3test.URL(endpoint, prefix), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func TestS3(t *testing.T) {
	endpoint, dir := s3test.Start(t)
	b := openS3(t, endpoint, "a/b", Options{})
	s := s3State()
	m, p := mustPush(t, b, s, PushOptions{})
	if p.New != 4 {
		t.Errorf("%+v", p)
	}
	if _, err := os.Stat(filepath.Join(dir, "a", "b", "snapshots", "app", m.ID+".json")); err != nil {
		t.Errorf("the manifest is not where the prefix says: %v", err)
	}
	s["000003.sst"] = "more"
	if _, p = mustPush(t, b, s, PushOptions{}); p.New != 1 {
		t.Errorf("second push: %+v", p)
	}
	whole(t, b, Key{})
	got, err := fetchAll(t, b, m, Key{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range s3State() {
		if data, err := os.ReadFile(filepath.Join(got, "rocksdb/st", name)); err != nil || string(data) != want {
			t.Errorf("%s: other content, %v", name, err)
		}
	}
	// Conditional: no manifest is ever replaced.
	err = b.putSmall(t.Context(), manifestKey("app", m.ID), []byte("x"), true)
	if err == nil {
		t.Error("a manifest was replaced")
	}
	plan, err := b.PlanPrune(t.Context(), Policy{Keep: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Apply(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	whole(t, b, Key{})
	if n := len(keys(t, b, "snapshots/")); n != 1 {
		t.Errorf("%d snapshots are left", n)
	}
	// What the listing of more than a page says.
	for i := range 1100 {
		if err := os.MkdirAll(filepath.Join(dir, "many"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "many", fmt.Sprint(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(keys(t, openS3(t, endpoint, "", Options{}), "many/")); n != 1100 {
		t.Errorf("%d objects were listed, want 1100", n)
	}
}

// together runs subtests at the same time.
func together[C any](t *testing.T, cases map[string]C, run func(t *testing.T, name string, c C)) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, name, c)
		})
	}
}

func TestS3Faults(t *testing.T) {
	s3test.Slow(t)
	endpoint, dir := s3test.Start(t)
	all, get, put := s3test.Below("objects", ""), s3test.Below("objects", http.MethodGet), s3test.Below("objects", http.MethodPut)
	manifest := s3test.Below("snapshots", http.MethodPut)
	t.Run("faults that pass", func(t *testing.T) {
		together(t, map[string]func(r *http.Request) s3test.Fault{
			"503":              s3test.First(3, all, s3test.Fault{Status: 503}),
			"cut":              s3test.First(3, get, s3test.Fault{Cut: true}),
			"cut in":           s3test.First(3, all, s3test.Fault{CutIn: true}),
			"slow":             s3test.First(5, all, s3test.Fault{Delay: 300 * time.Millisecond}),
			"hangs":            s3test.First(1, all, s3test.Fault{Hang: true}),
			"sticks":           s3test.First(1, get, s3test.Fault{Stick: true}),
			"wrong once":       s3test.First(1, get, s3test.Fault{Wrong: true}),
			"answer lost":      s3test.First(2, put, s3test.Fault{Lost: true}),
			"manifest's lost":  s3test.First(1, manifest, s3test.Fault{Lost: true}),
			"manifest's 503":   s3test.First(2, manifest, s3test.Fault{Status: 503}),
			"markers' answers": s3test.First(2, s3test.Below("pending", ""), s3test.Fault{Lost: true}),
		}, func(t *testing.T, what string, fault func(r *http.Request) s3test.Fault) {
			proxy := s3test.NewProxy(t, endpoint)
			b := openS3(t, proxy.Endpoint, url.PathEscape(what), Options{Stall: 8 * time.Second})
			s := s3State()
			mustPush(t, b, s, PushOptions{})
			proxy.Break(fault)
			s["new.sst"] = what
			m, _ := mustPush(t, b, s, PushOptions{Rewrite: true})
			if dir, err := fetchAll(t, b, m, Key{}); err != nil {
				t.Error(err)
			} else if data, _ := os.ReadFile(filepath.Join(dir, "rocksdb/st/000001.sst")); !bytes.Equal(data, []byte(s["000001.sst"])) {
				t.Error("a wrong file")
			}
			if proxy.Hit() == 0 {
				t.Error("no request was hit")
			}
			proxy.Break(nil)
			whole(t, b, Key{})
		})
	})
	t.Run("faults that stay", func(t *testing.T) {
		type stays struct {
			f     s3test.Fault
			match func(r *http.Request) bool
			push  op.Kind
			pull  op.Kind
		}
		together(t, map[string]stays{
			"503":    {s3test.Fault{Status: 503}, all, op.Unreachable, op.Unreachable},
			"403":    {s3test.Fault{Status: 403}, all, op.Unreachable, op.Unreachable},
			"cut":    {s3test.Fault{Cut: true}, get, -1, op.Unreachable},
			"wrong":  {s3test.Fault{Wrong: true}, get, -1, op.Corrupt},
			"summed": {s3test.Fault{Wrong: true, Summed: true}, get, -1, op.Corrupt},
			"404":    {s3test.Fault{Status: 404}, get, -1, op.NotFound},
			"sticks": {s3test.Fault{Stick: true}, get, -1, op.Unreachable},
			"hang":   {s3test.Fault{Hang: true}, all, op.Unreachable, op.Unreachable},
			"cut in": {s3test.Fault{CutIn: true}, all, op.Unreachable, op.Unreachable},
		}, func(t *testing.T, what string, c stays) {
			proxy := s3test.NewProxy(t, endpoint)
			b := openS3(t, proxy.Endpoint, "stays/"+url.PathEscape(what), Options{Stall: 3 * time.Second, Tries: 2, Parallel: 8})
			direct := openS3(t, endpoint, "stays/"+url.PathEscape(what), Options{}) // is given up by nobody
			s := s3State()
			old, _ := mustPush(t, direct, s, PushOptions{})
			proxy.Break(s3test.First(-1, c.match, c.f))
			if c.push >= 0 {
				s["new.sst"] = what
				if _, err := b.Push(t.Context(), s.manifest("app"), s.open, PushOptions{}, nil); op.KindOf(err) != c.push || err == nil {
					t.Errorf("push: %v", err)
				}
			}
			got, err := fetchAll(t, b, old, Key{})
			if op.KindOf(err) != c.pull || err == nil {
				t.Errorf("pull: kind %v: %v", op.KindOf(err), err)
			}
			left, _ := filepath.Glob(filepath.Join(got, "rocksdb/st/*"))
			for _, f := range left {
				if data, _ := os.ReadFile(f); string(data) != s3State()[filepath.Base(f)] {
					t.Errorf("%s is wrong", f)
				}
			}
			proxy.Break(nil)
			if n := len(keys(t, direct, "snapshots/")); n != 1 {
				t.Error("a broken push left a snapshot")
			}
			whole(t, direct, Key{})
		})
	})
	t.Run("an object that is lost or wrong in the store", func(t *testing.T) {
		b := openS3(t, endpoint, "p", Options{})
		old, _ := mustPush(t, b, s3State(), PushOptions{})
		names, err := filepath.Glob(filepath.Join(dir, "p", "objects", "plain", "*", "*"))
		if err != nil || len(names) < 2 {
			t.Fatal(names, err)
		}
		var big string
		old.AllFiles(func(_ *Task, f *File) {
			if f.Size > 1<<20 {
				big = filepath.Join(dir, "p", filepath.FromSlash(objectKey(plainSpace, f.SHA256)))
			}
		})
		data, err := os.ReadFile(big)
		if err != nil {
			t.Fatal(err)
		}
		data[1<<20] ^= 1
		if err := os.WriteFile(big, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := fetchAll(t, b, old, Key{}); op.KindOf(err) != op.Corrupt {
			t.Errorf("wrong bytes: kind %v, %v", op.KindOf(err), err)
		}
		ms, err := b.Manifests(t.Context(), "app")
		if err != nil {
			t.Fatal(err)
		}
		if v, err := b.Verify(t.Context(), ms, Key{}, nil); err != nil || len(v.Damages) != 1 || v.Damages[0].What != "wrong" {
			t.Errorf("%+v, %v", v, err)
		}
		if err := os.Remove(big); err != nil {
			t.Fatal(err)
		}
		if _, err := fetchAll(t, b, old, Key{}); op.KindOf(err) != op.NotFound {
			t.Errorf("lost: %v", err)
		}
		if v, err := b.Verify(t.Context(), ms, Key{}, nil); err != nil || len(v.Damages) != 1 || v.Damages[0].What != "missing" {
			t.Errorf("%+v, %v", v, err)
		}
		// The next push makes it whole.
		mustPush(t, b, s3State(), PushOptions{})
		whole(t, b, Key{})
	})
}

func TestS3SaysWhatIsWrong(t *testing.T) {
	endpoint, _ := s3test.Start(t)
	for what, c := range map[string]struct {
		url  string
		kind op.Kind
	}{
		"no bucket":   {strings.Replace(s3test.URL(endpoint, ""), s3test.Bucket, "another", 1), op.NotFound},
		"bad name":    {strings.Replace(s3test.URL(endpoint, ""), s3test.Bucket, "b", 1), op.Failed},
		"nobody":      {s3test.URL("http://127.0.0.1:1", ""), op.Unreachable}, // the SDK's own tries take their time
		"credentials": {s3test.URL(endpoint, ""), op.Unreachable},
	} {
		t.Run(what, func(t *testing.T) {
			if what == "credentials" {
				t.Setenv("AWS_SECRET_ACCESS_KEY", "geheim")
			}
			b, err := Open(t.Context(), c.url, Options{Tries: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			_, err = b.Manifests(t.Context(), "")
			if op.KindOf(err) != c.kind || err == nil || strings.Contains(err.Error(), "geheim") || len(op.Tries(err)) == 0 && c.kind != op.NotFound {
				t.Errorf("kind %v, %v, try %q", op.KindOf(err), err, op.Tries(err))
			}
			t.Log(err)
		})
	}
}
