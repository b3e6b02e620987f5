package snapshot

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"sstool/internal/op"
)

// condemnedKey is where a prune leaves what it found unnamed.
const condemnedKey = "condemned.json"

// condemned is the first look of the next prune.
type condemned struct {
	Since map[string]time.Time `json:"since"` // by key; the store's time
}

// Policy says which snapshots stay. The newest of every task always stays.
type Policy struct {
	ApplicationID string        // only its snapshots go; "": those of all
	Keep          int           // the newest so many that hold a task, of every task
	Within        time.Duration // those younger than this
	Grace         time.Duration // objects go when they are unnamed for so long
}

// Pruned is a plan, and what became of it.
type Pruned struct {
	Keep     []Kept     `json:"keep"`
	Drop     []Dropped  `json:"drop"`
	Objects  int        `json:"objects"` // in the bucket
	Bytes    int64      `json:"bytes"`
	Unnamed  int        `json:"unnamed"` // by any manifest or push, once the snapshots are gone
	Waiting  int        `json:"waiting"` // unnamed, but not for the grace period
	Deleted  int        `json:"deleted"` // or, in a plan, to be deleted
	Freed    int64      `json:"freed_bytes"`
	Pending  int        `json:"pending_pushes"`
	Dead     []string   `json:"dead_markers"`
	Partial  []string   `json:"partial_files"` // of a directory: what a killed push or prune was writing
	Next     *time.Time `json:"next_useful"`   // when a prune may delete what waits; null: nothing waits
	Warnings []string   `json:"warnings"`

	b      *Bucket
	policy Policy
	// What the plan saw: objects that nothing named.
	candidates map[string]object
}

// Kept is a snapshot that stays, and why.
type Kept struct {
	ID            string    `json:"id"`
	ApplicationID string    `json:"application_id"`
	Created       time.Time `json:"created"`
	Why           string    `json:"why"`
}

// Dropped is a snapshot that goes.
type Dropped struct {
	ID            string    `json:"id"`
	ApplicationID string    `json:"application_id"`
	Created       time.Time `json:"created"`
	Tasks         int       `json:"tasks"`
	Bytes         int64     `json:"bytes"` // of its files; others may share them
}

// decide says of every snapshot, newest first, why it stays, or "".
func (p Policy) decide(ms []*Manifest, now time.Time) []string {
	held := map[string]int{} // snapshots that stay, by application and task
	out := make([]string, len(ms))
	for i, m := range ms {
		if p.ApplicationID != "" && m.ApplicationID != p.ApplicationID {
			out[i] = "another application's"
			continue
		}
		why := ""
		if p.Within > 0 && now.Sub(m.Created) < p.Within {
			why = "young"
		}
		for _, t := range m.Tasks {
			if n := held[m.ApplicationID+"/"+t.Name]; n < max(p.Keep, 1) {
				why = fmt.Sprintf("number %d of task %s", n+1, t.Name)
				break
			}
		}
		if out[i] = why; why == "" {
			continue
		}
		for _, t := range m.Tasks {
			held[m.ApplicationID+"/"+t.Name]++
		}
	}
	return out
}

// PlanPrune looks at the bucket and decides. It changes nothing.
func (b *Bucket) PlanPrune(ctx context.Context, policy Policy, sink op.Sink) (*Pruned, error) {
	sink.Emit(op.Event{Type: op.Phase, Name: "look", Message: "reading manifests and listing objects"})
	p := &Pruned{Keep: []Kept{}, Drop: []Dropped{}, Dead: []string{}, Partial: []string{}, Warnings: []string{}, b: b, policy: policy, candidates: map[string]object{}}
	now := time.Now()
	err := b.list(ctx, "objects/", func(o object) {
		if _, _, ok := parseObjectKey(o.key); ok {
			p.Objects++
			p.Bytes += o.size
			p.candidates[o.key] = o
		}
	})
	if err != nil {
		return nil, err
	}
	named, pending, dead, err := b.pendingNames(ctx, now)
	if err != nil {
		return nil, err
	}
	p.Pending, p.Dead = pending, append(p.Dead, dead...)
	ms, err := b.Manifests(ctx, "")
	if err != nil {
		return nil, err
	}
	if p.Partial, err = b.partial(ctx, now.Add(-max(policy.Grace, 2*b.o.lease))); err != nil {
		return nil, err
	}
	for i, why := range policy.decide(ms, now) {
		m := ms[i]
		if why == "" {
			_, n := m.Size()
			p.Drop = append(p.Drop, Dropped{m.ID, m.ApplicationID, m.Created, len(m.Tasks), n})
			continue
		}
		p.Keep = append(p.Keep, Kept{m.ID, m.ApplicationID, m.Created, why})
		for k := range m.contents() {
			named[k] = true
		}
	}
	for k := range named {
		delete(p.candidates, k)
	}
	c, err := b.condemned(ctx)
	if err != nil {
		return nil, err
	}
	p.count(c, now)
	return p, nil
}

// partial lists what was being written to a directory when a push or prune was
// killed, and not since a time: fileblob writes beside the file. A store that is
// not a directory shows no such thing.
func (b *Bucket) partial(ctx context.Context, before time.Time) ([]string, error) {
	out := []string{}
	if b.dir == "" {
		return out, nil
	}
	for _, dir := range []string{"objects/", snapshotsDir, pendingDir, pruningDir} {
		err := b.list(ctx, dir, func(o object) {
			if partialName(o.key) && o.time.Before(before) {
				out = append(out, o.key)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// partialName says whether a key is one of ours with fileblob's ending.
func partialName(key string) bool {
	rest, ok := strings.CutSuffix(key, ".tmp")
	i := strings.LastIndexByte(rest, '.')
	if !ok || i < 0 || !hexOf(rest[i+1:], len(rest)-i-1) {
		return false
	}
	_, _, object := parseObjectKey(rest[:i])
	_, _, manifest := parseManifestKey(rest[:i])
	return object || manifest || strings.HasPrefix(key, pendingDir) || strings.HasPrefix(key, pruningDir)
}

// ripe says since when an object is known to be unnamed long enough.
func (p *Pruned) ripe(c *condemned, key string, now time.Time) bool {
	since, ok := c.Since[key]
	return (ok || p.policy.Grace == 0) && now.Sub(since) >= p.policy.Grace
}

// count says what the candidates come to.
func (p *Pruned) count(c *condemned, now time.Time) {
	p.Unnamed, p.Waiting, p.Deleted, p.Freed, p.Next = len(p.candidates), 0, 0, 0, nil
	for k, o := range p.candidates {
		if p.ripe(c, k, now) {
			p.Deleted++
			p.Freed += o.size
			continue
		}
		p.Waiting++
		since, ok := c.Since[k]
		if !ok {
			since = now
		}
		if at := since.Add(p.policy.Grace).UTC(); p.Next == nil || at.Before(*p.Next) {
			p.Next = &at
		}
	}
}

// pendingNames are the keys that pushes under way name, and the markers of dead
// ones.
func (b *Bucket) pendingNames(ctx context.Context, now time.Time) (named map[string]bool, alive int, dead []string, err error) {
	named = map[string]bool{}
	found, err := b.markers(ctx, pendingDir)
	if err != nil {
		return nil, 0, nil, err
	}
	for _, o := range found {
		if now.Sub(o.time) > b.o.lease {
			dead = append(dead, o.key)
			continue
		}
		m, err := b.marker(ctx, o.key)
		if err != nil {
			return nil, 0, nil, err
		}
		if m == nil {
			continue // done: its manifest is read next
		}
		alive++
		for _, k := range m.Objects {
			named[k] = true
		}
	}
	return named, alive, dead, nil
}

func (b *Bucket) condemned(ctx context.Context) (*condemned, error) {
	c := &condemned{Since: map[string]time.Time{}}
	data, err := b.getSmall(ctx, condemnedKey, maxManifest)
	if err != nil && op.KindOf(err) == op.NotFound {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, c); err != nil || c.Since == nil {
		return &condemned{Since: map[string]time.Time{}}, nil // as if nobody had looked
	}
	return c, nil
}

// Steps says what Apply will do.
func (p *Pruned) Steps() []string {
	out := []string{}
	for _, d := range p.Drop {
		out = append(out, fmt.Sprintf("delete snapshot %s of %s", d.ID, d.ApplicationID))
	}
	if p.Deleted > 0 {
		out = append(out, fmt.Sprintf("delete %d objects that no snapshot names, %d bytes", p.Deleted, p.Freed))
	}
	if len(p.Partial) > 0 {
		out = append(out, fmt.Sprintf("delete %d files that a killed push or prune has left half-written", len(p.Partial)))
	}
	if p.Waiting > 0 {
		out = append(out, fmt.Sprintf("note %d objects that no snapshot names then; a prune after %s deletes them", p.Waiting, p.Next.Format(time.RFC3339)))
	}
	return out
}

// Apply carries the plan out. Objects are looked at once more, under a marker:
// see the package comment. It may be stopped at any point.
func (p *Pruned) Apply(ctx context.Context, sink op.Sink) (*Pruned, error) {
	b := p.b
	sink.Emit(op.Event{Type: op.Phase, Name: "prune", Message: "deleting snapshots"})
	for _, d := range p.Drop {
		if err := b.remove(ctx, manifestKey(d.ApplicationID, d.ID)); err != nil {
			return nil, err
		}
	}
	host, _ := os.Hostname()
	l, err := b.hold(ctx, pruningDir, marker{NewID(time.Now()), host, slices.Sorted(maps.Keys(p.candidates))})
	if err != nil {
		return nil, err
	}
	certain := true
	defer func() { l.release(ctx, certain) }()
	now, err := b.written(ctx, l.key) // the store's time
	if err != nil {
		return nil, err
	}
	done := *p
	done.Warnings, done.Dead = slices.Clone(p.Warnings), []string{}
	c, err := done.lookAgain(ctx, now)
	if err != nil {
		return nil, err
	}
	if err := done.sweep(ctx, l, c, now, sink); err != nil {
		certain = false
		return nil, err
	}
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	if err := b.putSmall(ctx, condemnedKey, data, false); err != nil {
		return nil, err
	}
	for _, k := range slices.Concat(done.Dead, done.Partial) {
		if err := b.remove(ctx, k); err != nil {
			return nil, err
		}
	}
	return &done, nil
}

// lookAgain leaves out of the candidates what is named by now. Markers of
// pushes are read before manifests.
func (p *Pruned) lookAgain(ctx context.Context, now time.Time) (*condemned, error) {
	b := p.b
	named, alive, dead, err := b.pendingNames(ctx, now)
	if err != nil {
		return nil, err
	}
	p.Pending, p.Dead = alive, append(p.Dead, dead...)
	ms, err := b.Manifests(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, m := range ms {
		for k := range m.contents() {
			named[k] = true
		}
	}
	p.candidates = maps.Clone(p.candidates)
	for k := range named {
		delete(p.candidates, k)
	}
	old, err := b.condemned(ctx)
	if err != nil {
		return nil, err
	}
	c := &condemned{Since: map[string]time.Time{}}
	for k := range p.candidates {
		since, ok := old.Since[k]
		if !ok || since.After(now) {
			since = now
		}
		c.Since[k] = since
	}
	dead, err = b.deadPrunes(ctx, now)
	p.Dead = append(p.Dead, dead...)
	return c, err
}

// deadPrunes are markers of prunes that were killed long ago.
func (b *Bucket) deadPrunes(ctx context.Context, now time.Time) (dead []string, err error) {
	found, err := b.markers(ctx, pruningDir)
	for _, o := range found {
		if now.Sub(o.time) > 2*b.o.lease {
			dead = append(dead, o.key)
		}
	}
	return dead, err
}

// sweep deletes the candidates that are ripe.
func (p *Pruned) sweep(ctx context.Context, l *lease, c *condemned, now time.Time, sink op.Sink) error {
	p.count(c, now)
	total, freed := p.Deleted, int64(0)
	n := 0
	sink.Emit(op.Event{Type: op.Phase, Name: "sweep", Message: fmt.Sprintf("deleting %d objects", total)})
	var throttle op.Throttle
	for _, k := range slices.Sorted(maps.Keys(p.candidates)) {
		if !p.ripe(c, k, now) {
			continue
		}
		if !l.fresh() {
			return op.Errorf(op.Failed, "the prune was held up for too long after %d objects", n).WithTry("run the same command again: it goes on")
		}
		brief, cancel := l.brief(ctx)
		err := p.b.remove(brief, k)
		cancel()
		if err != nil {
			return err
		}
		n++
		freed += p.candidates[k].size
		delete(c.Since, k)
		if throttle.Ready(time.Now()) {
			sink.Emit(op.Event{Type: op.Progress, Done: int64(n), Total: int64(total), Unit: "objects"})
		}
	}
	p.Deleted, p.Freed = n, freed
	return nil
}

// Remarks says in words what waits.
func (p *Pruned) Remarks() string {
	if p.Waiting == 0 {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%d objects are named by no snapshot and wait for the grace period: a prune after %s deletes them", p.Waiting, p.Next.Format(time.RFC3339)))
}
