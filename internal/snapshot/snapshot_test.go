package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"sstool/internal/op"
)

// memory is a bucket in memory that several sides open.
func memory(t *testing.T) *blob.Bucket {
	t.Helper()
	b := memblob.OpenBucket(nil)
	t.Cleanup(func() { b.Close() })
	return b
}

func open(b *blob.Bucket, o Options) *Bucket {
	if o.lease == 0 {
		o.lease = time.Minute // longer than any machine stands still
	}
	o.pause = time.Millisecond
	return newBucket("mem://b", "", b, o)
}

// state is a task directory in memory.
type state map[string]string

func (s state) manifest(app string) *Manifest {
	m := &Manifest{ID: NewID(time.Now()), ApplicationID: app, Created: time.Now(), Tasks: []Task{{Name: "0_0", Stores: []Store{{Name: "st"}}}}}
	for name, data := range s {
		sum := sha256.Sum256([]byte(data))
		st := &m.Tasks[0].Stores[0]
		st.Files = append(st.Files, File{Path: "rocksdb/st/" + name, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:]), Modified: time.Unix(1e9, 0)})
	}
	return m
}

func (s state) open(_ *Task, f *File) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(s[filepath.Base(f.Path)])), nil
}

func mustPush(t *testing.T, b *Bucket, s state, o PushOptions) (*Manifest, *Pushed) {
	t.Helper()
	m := s.manifest("app")
	p, err := b.Push(t.Context(), m, s.open, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m, p
}

// whole fails unless every object of every manifest is there and right.
func whole(t *testing.T, b *Bucket, key Key) {
	t.Helper()
	ms, err := b.Manifests(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	v, err := b.Verify(context.Background(), ms, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Damages) > 0 {
		t.Fatalf("damaged: %+v", v.Damages)
	}
}

func keys(t *testing.T, b *Bucket, prefix string) (out []string) {
	t.Helper()
	if err := b.list(context.Background(), prefix, func(o object) { out = append(out, o.key) }); err != nil {
		t.Fatal(err)
	}
	return out
}

func fetchAll(t *testing.T, b *Bucket, m *Manifest, key Key) (string, error) {
	t.Helper()
	dir := t.TempDir()
	var targets []Target
	m.AllFiles(func(_ *Task, f *File) {
		p := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		targets = append(targets, Target{m, f, p})
	})
	_, err := b.Fetch(t.Context(), targets, key, nil)
	return dir, err
}

func TestPushAgainUploadsOnlyWhatIsNew(t *testing.T) {
	b := open(memory(t), Options{})
	s := state{"000001.sst": "one", "000002.sst": "two", "CURRENT": "MANIFEST-000005\n", "same.sst": "one"}
	m, p := mustPush(t, b, s, PushOptions{})
	if p.Files != 4 || p.New != 3 {
		t.Errorf("first push: %+v, want 4 files, 3 of them uploaded", p)
	}
	s["000003.sst"] = "three"
	delete(s, "000001.sst")
	_, p = mustPush(t, b, s, PushOptions{})
	if p.New != 1 || p.NewBytes != 5 {
		t.Errorf("second push: %+v, want one new file of 5 bytes", p)
	}
	if got := keys(t, b, "pending/"); len(got) > 0 {
		t.Errorf("markers stayed: %v", got)
	}
	whole(t, b, Key{})
	dir, err := fetchAll(t, b, m, Key{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "rocksdb/st/000001.sst"))
	if err != nil || string(data) != "one" {
		t.Errorf("pulled %q, %v", data, err)
	}
	if i, err := os.Stat(filepath.Join(dir, "rocksdb/st/000001.sst")); err != nil || !i.ModTime().Equal(time.Unix(1e9, 0)) {
		t.Errorf("the file's time is lost: %v", err)
	}
}

func TestAStoppedPushLeavesTheLastOneWhole(t *testing.T) {
	dead := errors.New("killed")
	for _, point := range []string{"marked", "listed", "uploaded"} {
		b := open(memory(t), Options{})
		s := state{"1.sst": "one"}
		mustPush(t, b, s, PushOptions{})
		s["2.sst"] = "two"
		_, err := b.Push(t.Context(), s.manifest("app"), s.open, PushOptions{reached: func(p string) error {
			if p == point {
				return dead
			}
			return nil
		}}, nil)
		if !errors.Is(err, dead) {
			t.Fatalf("%s: %v", point, err)
		}
		ms, err := b.Manifests(t.Context(), "app")
		if err != nil || len(ms) != 1 {
			t.Errorf("%s: %d snapshots, %v", point, len(ms), err)
		}
		whole(t, b, Key{})
		_, p := mustPush(t, b, s, PushOptions{})
		if want := map[bool]int{true: 0, false: 1}[point == "uploaded"]; p.New != want {
			t.Errorf("%s: the next push uploaded %d files, want %d", point, p.New, want)
		}
	}
}

func TestAFileThatChangesMeanwhileIsNotPushed(t *testing.T) {
	b := open(memory(t), Options{})
	s := state{"1.sst": "one"}
	m := s.manifest("app")
	s["1.sst"] = "eno"
	if _, err := b.Push(t.Context(), m, s.open, PushOptions{}, nil); op.KindOf(err) != op.Precondition {
		t.Errorf("%v, want a precondition", err)
	}
	if got := append(keys(t, b, "objects/"), keys(t, b, "snapshots/")...); len(got) > 0 {
		t.Errorf("written: %v", got)
	}
}

func TestPruneByCountAndAge(t *testing.T) {
	b := open(memory(t), Options{})
	s := state{"1.sst": "one"}
	var ids []string
	for i := range 4 {
		s[fmt.Sprint(i, ".sst")] = fmt.Sprint("v", i)
		delete(s, fmt.Sprint(i-1, ".sst"))
		m, _ := mustPush(t, b, s, PushOptions{})
		ids = append(ids, m.ID)
		time.Sleep(2 * time.Millisecond) // ids name milliseconds
	}
	prune := func(p Policy) *Pruned {
		t.Helper()
		plan, err := b.PlanPrune(t.Context(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		done, err := plan.Apply(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		whole(t, b, Key{})
		return done
	}
	if p := prune(Policy{Keep: 1, Within: time.Hour, Grace: time.Hour}); len(p.Drop) != 0 {
		t.Errorf("young snapshots go: %+v", p.Drop)
	}
	p := prune(Policy{Keep: 2, Grace: time.Hour})
	if len(p.Drop) != 2 || p.Drop[0].ID != ids[1] || p.Deleted != 0 || p.Waiting != 3 {
		t.Errorf("first look: %+v", p)
	}
	if p = prune(Policy{Keep: 2, Grace: time.Hour}); p.Deleted != 0 || p.Waiting != 3 {
		t.Errorf("within the grace period: %+v", p)
	}
	if p = prune(Policy{Keep: 2, Grace: time.Nanosecond}); p.Deleted != 3 || p.Waiting != 0 {
		t.Errorf("after it: %+v", p)
	}
	if n := len(keys(t, b, "objects/")); n != 2 {
		t.Errorf("%d objects are left, want 2", n)
	}
	if p = prune(Policy{Keep: 1, Grace: 0}); p.Deleted != 1 {
		t.Errorf("without grace: %+v", p)
	}
}

func TestPruneKeepsTheNewestOfEveryTask(t *testing.T) {
	now := time.Now()
	of := func(id string, age time.Duration, tasks ...string) *Manifest {
		m := &Manifest{ID: id, ApplicationID: "app", Created: now.Add(-age)}
		for _, n := range tasks {
			m.Tasks = append(m.Tasks, Task{Name: n})
		}
		return m
	}
	ms := []*Manifest{of("e", 1, "0_0"), of("d", 2, "0_1"), of("c", time.Hour, "0_0", "0_1"), of("b", 2*time.Hour, "0_2"), of("a", 3*time.Hour, "0_2")}
	why := Policy{Keep: 1}.decide(ms, now)
	var kept []string
	for i, w := range why {
		if w != "" {
			kept = append(kept, ms[i].ID)
		}
	}
	if !slices.Equal(kept, []string{"e", "d", "b"}) {
		t.Errorf("kept %v", kept)
	}
}

// TestPruneSparesWhatAPushReuses stops a push after it has seen that an object
// is there, and prunes.
func TestPruneSparesWhatAPushReuses(t *testing.T) {
	for _, point := range []string{"marked", "listed", "uploaded"} {
		bucket := memory(t)
		b := open(bucket, Options{})
		old := state{"1.sst": "old"}
		mustPush(t, b, old, PushOptions{})
		time.Sleep(2 * time.Millisecond)
		mustPush(t, b, state{"2.sst": "new"}, PushOptions{})
		_, err := b.Push(t.Context(), old.manifest("app"), old.open, PushOptions{reached: func(p string) error {
			if p != point {
				return nil
			}
			plan, err := b.PlanPrune(t.Context(), Policy{Keep: 1}, nil)
			if err != nil {
				return err
			}
			done, err := plan.Apply(t.Context(), nil)
			if err == nil && (done.Deleted != 0 || len(done.Drop) != 1) {
				t.Errorf("%s: the prune deleted %d objects and %d snapshots", point, done.Deleted, len(done.Drop))
			}
			return err
		}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		whole(t, b, Key{})
	}
}

// TestPushWaitsForAPrune: the push begins after the prune has read the markers.
func TestPushWaitsForAPrune(t *testing.T) {
	b := open(memory(t), Options{})
	s := state{"1.sst": "one"}
	m := s.manifest("app")
	m.Space = plainSpace
	var all []string
	for k := range m.contents() {
		all = append(all, k)
	}
	l, err := b.hold(t.Context(), pruningDir, marker{NewID(time.Now()), "h", all})
	if err != nil {
		t.Fatal(err)
	}
	listed := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		_, err := b.Push(t.Context(), m, s.open, PushOptions{reached: func(p string) error {
			if p == "listed" {
				close(listed)
			}
			return nil
		}}, nil)
		done <- err
	}()
	select {
	case <-listed:
		t.Error("the push did not wait")
	case <-time.After(300 * time.Millisecond):
	}
	l.release(t.Context(), true)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	whole(t, b, Key{})
}

// A prune that was killed holds a push up for a lease, not for ever; a push that
// was killed holds objects for a lease.
func TestMarkersOfTheDeadExpire(t *testing.T) {
	t.Parallel()
	const lease = 4 * time.Second // a request is given a quarter of it
	b := open(memory(t), Options{lease: lease})
	s := state{"1.sst": "one"}
	m := s.manifest("app")
	m.Space = plainSpace
	var all []string
	for k := range m.contents() {
		all = append(all, k)
	}
	for _, dir := range []string{pruningDir, pendingDir} {
		l, err := b.hold(t.Context(), dir, marker{NewID(time.Now()), "h", all})
		if err != nil {
			t.Fatal(err)
		}
		l.release(t.Context(), false)
	}
	begun := time.Now()
	if _, err := b.Push(t.Context(), m, s.open, PushOptions{}, nil); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begun); d < lease {
		t.Errorf("waited only %s for a prune that may be alive", d)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(lease / 8) {
		plan, err := b.PlanPrune(t.Context(), Policy{Keep: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plan.Apply(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		got := append(keys(t, b, pendingDir), keys(t, b, pruningDir)...)
		if len(got) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("markers of the dead stay: %v", got)
		}
	}
	whole(t, b, Key{})
}

// A push that was held up for longer than its marker counts looks at everything
// again before it writes its manifest.
func TestAPushThatSleptLooksAgain(t *testing.T) {
	t.Parallel()
	b := open(memory(t), Options{lease: 4 * time.Second})
	b.o.tick = time.Hour // nobody rewrites the marker
	s := state{"1.sst": "one"}
	slept := false
	m := s.manifest("app")
	_, err := b.Push(t.Context(), m, s.open, PushOptions{reached: func(p string) error {
		if p == "uploaded" && !slept {
			slept = true
			// As if nobody had rewritten the marker, and a prune had come by.
			for _, k := range append(keys(t, b, pendingDir), keys(t, b, "objects/")...) {
				if err := b.remove(t.Context(), k); err != nil {
					return err
				}
			}
			time.Sleep(2100 * time.Millisecond) // more than half a lease
			return nil
		}
		return nil
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole(t, b, Key{})
}

// TestPushesAndPrunesTogether is a model: whatever the order, every snapshot in
// the bucket is whole.
func TestPushesAndPrunesTogether(t *testing.T) {
	b := open(memory(t), Options{})
	var wg sync.WaitGroup
	stop := time.Now().Add(3 * time.Second)
	for range 4 {
		wg.Go(func() {
			for time.Now().Before(stop) {
				s := state{}
				for range 4 {
					n := rand.N(8)
					s[fmt.Sprint(n, ".sst")] = fmt.Sprint("content ", n)
				}
				if _, err := b.Push(t.Context(), s.manifest("app"), s.open, PushOptions{}, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for time.Now().Before(stop) {
				plan, err := b.PlanPrune(t.Context(), Policy{Keep: 1}, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := plan.Apply(t.Context(), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	whole(t, b, Key{})
}

// ageKeys are a recipient and its identity.
func ageKeys(t *testing.T) (Seal, Key) {
	t.Helper()
	const secret = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
	seal, err := NewSeal([]string{"age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj"})
	if err != nil {
		t.Fatal(err)
	}
	key, err := NewKey(strings.NewReader(secret))
	if err != nil {
		t.Fatal(err)
	}
	return seal, key
}

func TestEncryptedContentIsReadableWithTheKeyOnly(t *testing.T) {
	b := open(memory(t), Options{})
	seal, key := ageKeys(t)
	s := state{"1.sst": "a secret of the user's"}
	mustPush(t, b, s, PushOptions{}) // plain content is not reused
	m, p := mustPush(t, b, s, PushOptions{Seal: seal})
	if p.New != 1 {
		t.Errorf("%+v: plain content was reused", p)
	}
	if _, p := mustPush(t, b, s, PushOptions{Seal: seal}); p.New != 0 {
		t.Errorf("%+v: uploaded again", p)
	}
	for _, k := range keys(t, b, "objects/age-") {
		data, err := b.getSmall(t.Context(), k, 1<<20)
		if err != nil || bytes.Contains(data, []byte("secret")) {
			t.Errorf("%s can be read: %v", k, err)
		}
	}
	whole(t, b, key)
	if _, err := fetchAll(t, b, m, Key{}); op.KindOf(err) != op.Precondition {
		t.Errorf("without a key: %v", err)
	}
	if _, err := fetchAll(t, b, m, key); err != nil {
		t.Error(err)
	}
	for _, k := range keys(t, b, "objects/age-") {
		data, _ := b.getSmall(t.Context(), k, 1<<20)
		data[len(data)-1] ^= 1
		if err := b.putSmall(t.Context(), k, data, false); err != nil {
			t.Fatal(err)
		}
	}
	if dir, err := fetchAll(t, b, m, key); op.KindOf(err) != op.Corrupt {
		t.Errorf("damaged: %v", err)
	} else if _, err := os.Stat(filepath.Join(dir, "rocksdb/st/1.sst")); err == nil {
		t.Error("a wrong file has its final name")
	}
}

func TestLimitHolds(t *testing.T) {
	b := open(memory(t), Options{Limit: 1 << 20})
	s := state{"1.sst": strings.Repeat("a", 300<<10), "2.sst": strings.Repeat("b", 300<<10)}
	begun := time.Now()
	mustPush(t, b, s, PushOptions{})
	if d := time.Since(begun); d < 450*time.Millisecond || d > time.Minute {
		t.Errorf("600 KiB at 1 MiB/s took %s", d)
	}
}

func TestURLs(t *testing.T) {
	for url, want := range map[string]string{
		"file:///a/b":                              "file:///a/b",
		"file://./b":                               "file://./b",
		"s3://bucket/p/q/?region=eu-central-1":     "s3://bucket/p/q",
		"s3://bucket?endpoint=http://127.0.0.1:12": "s3://bucket",
	} {
		if got, err := ParseURL(url); err != nil || got != want {
			t.Errorf("%s: %q, %v", url, got, err)
		}
	}
	for _, url := range []string{"", "bucket", "http://x", "file://host/x", "file:///x?create_dir=1", "s3://", "s3://u:geheim@b", "s3://b?token=geheim", "s3://geheim:%zz",
		"file:///x#1", "s3://b/p#geheim", "s3://b?region=eu;token=geheim", "s3://b?region=eu&geheim", "s3://b?sEcr3T/geheim=1", "s3://b?x=%zz",
		"geheim:s3://b", "s3://b?endpoint=https://u:geheim@h:1", "s3://b?endpoint=u:geheim@h:1", "s3://b?endpoint=geheim"} {
		if _, err := ParseURL(url); op.KindOf(err) != op.Usage || err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func FuzzDecodeManifest(f *testing.F) {
	m := state{"1.sst": "one"}.manifest("app")
	m.Space = plainSpace
	good, err := m.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(bytes.ReplaceAll(good, []byte("rocksdb/st/1.sst"), []byte("rocksdb/st/../../../x")))
	f.Add(bytes.ReplaceAll(good, []byte(`"size": 3`), []byte(`"size": 9223372036854775807`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := DecodeManifest(data)
		if err != nil {
			return
		}
		m.AllFiles(func(task *Task, file *File) {
			if !filepath.IsLocal(filepath.Join(task.Name, filepath.FromSlash(file.Path))) || file.Size < 0 || len(file.SHA256) != 64 {
				t.Errorf("believed %q of %q", file.Path, task.Name)
			}
		})
		if _, err := m.encode(); err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}

func TestHostileManifests(t *testing.T) {
	m := state{"1.sst": "one", "2.sst": "two"}.manifest("app")
	m.Space = plainSpace
	good, err := m.encode()
	if err != nil {
		t.Fatal(err)
	}
	for what, edit := range map[string][2]string{
		"traversal":      {"rocksdb/st/1.sst", "rocksdb/st/../../../../etc/passwd"},
		"absolute":       {"rocksdb/st/1.sst", "/etc/passwd"},
		"other store":    {"rocksdb/st/1.sst", "rocksdb/other/1.sst"},
		"twice":          {"rocksdb/st/1.sst", "rocksdb/st/2.sst"},
		"file and dir":   {"rocksdb/st/1.sst", "rocksdb/st/2.sst/x"},
		"backslash":      {"rocksdb/st/1.sst", `rocksdb/st/..\\x`},
		"control":        {"rocksdb/st/1.sst", `rocksdb/st/\u001bx`},
		"negative":       {`"size": 3`, `"size": -3`},
		"huge":           {`"size": 3`, `"size": 9000000000000000000`},
		"bad hash":       {`"sha256": "`, `"sha256": "../`},
		"task":           {`"task": "0_0"`, `"task": "../x"`},
		"application":    {`"application_id": "app"`, `"application_id": ".."`},
		"space":          {`"space": "plain"`, `"space": "../x"`},
		"newer":          {`"version": 1`, `"version": 2`},
		"something else": {`snapshot.manifest`, `deployment`},
	} {
		bad := strings.Replace(string(good), edit[0], edit[1], 1)
		if bad == string(good) {
			t.Fatalf("%s: nothing to edit", what)
		}
		if _, err := DecodeManifest([]byte(bad)); err == nil {
			t.Errorf("%s was believed", what)
		}
	}
}

// TestASumThatOverflows is more than any state has, too.
func TestASumThatOverflows(t *testing.T) {
	m := state{}.manifest("app")
	m.Space = plainSpace
	for i := range 1 << 14 {
		st := &m.Tasks[0].Stores[0]
		st.Files = append(st.Files, File{Path: fmt.Sprintf("rocksdb/st/%d", i), Size: maxFileSize, SHA256: strings.Repeat("0", 64)})
	}
	if _, err := m.encode(); op.KindOf(err) != op.Corrupt || err == nil {
		t.Error(err)
	}
}
