package restore

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sstool/internal/kafka"
	"sstool/internal/streams"
)

// shareModel is a group without a broker: what is committed, who is in it, and
// the directories of all places.
type shareModel struct {
	t          testing.TB
	root       string
	rand       *rand.Rand
	tasks      []streams.TaskID
	offsets    map[kafka.GroupPartition]offsetRecord
	workers    []*modelWorker            // alive
	dead       []*modelWorker            // whose sessions have not expired
	dirs       map[place]map[string]bool // what stands in the directories
	excused    map[string]bool           // lost by a worker that had noted them as final, when the others were about to end
	runs       int
	generation int
}

type modelWorker struct {
	*share
	m *shareModel
}

func (w *modelWorker) Leave()     {}
func (w *modelWorker) Rebalance() { w.m.rebalance() }
func (w *modelWorker) Commit(_ context.Context, offsets []kafka.GroupOffset) error {
	if w.m.rand.IntN(8) == 0 {
		return kafka.ErrDividing
	}
	for _, o := range offsets {
		r, err := parseShareRecord(o.Metadata)
		if err != nil {
			w.m.t.Fatal(err)
		}
		w.m.offsets[kafka.GroupPartition{Topic: o.Topic, Partition: o.Partition}] = offsetRecord{o, r}
	}
	return nil
}

// start starts a worker at a place, which finds what its directory holds.
func (m *shareModel) start(at place) {
	m.runs++
	p := &Plan{Options: Options{ApplicationID: app, Into: "/" + at.Into}}
	for _, id := range m.tasks {
		t := &TaskPlan{Task: id, Known: true}
		for _, store := range []string{"a", "b"} {
			t.Units = append(t.Units, &Unit{Request: StoreRequest{Store: kv(store)}, Topic: streams.ChangelogTopic(app, store), Task: t,
				Parts: []PartRange{{Partition: int32(id.Partition), To: 100, Bytes: int64(10 + id.Partition)}}})
		}
		t.Done = m.dirs[at][t.Name()]
		p.Tasks = append(p.Tasks, t)
	}
	s, err := p.newShare(ShareOptions{Group: "g", Host: at.Host}, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	s.run = fmt.Sprintf("run-%d", m.runs)
	s.read = func(context.Context) (map[kafka.GroupPartition]offsetRecord, error) {
		return maps.Clone(m.offsets), nil
	}
	s.total = func(int64) {}
	s.root = m.root
	for _, t := range s.tasks {
		s.held[t.Name] = t.plan.Done
	}
	w := &modelWorker{share: s, m: m}
	s.group = w
	m.workers = append(m.workers, w)
	m.rebalance()
}

// rebalance divides among all that the broker takes for members, as the
// coordinator lets it be done: dead ones are until their sessions expire.
func (m *shareModel) rebalance() {
	if len(m.workers) == 0 {
		return
	}
	if len(m.dead) > 0 {
		m.dead = nil // they do not join again
	}
	m.generation++
	for _, o := range m.offsets {
		if m.excused[o.Task] && !o.Ended {
			delete(m.excused, o.Task) // the run goes on, and the worker is missed
		}
	}
	var members []kafka.GroupMember
	for i, w := range m.workers {
		members = append(members, kafka.GroupMember{ID: fmt.Sprintf("m-%02d", i), Data: w.tell(), Owned: slices.Collect(maps.Keys(w.assigned))})
	}
	divided, err := m.workers[m.rand.IntN(len(m.workers))].divide(m.t.Context(), members)
	if err != nil {
		m.t.Fatal(err)
	}
	got := map[string]int{}
	for i, w := range m.workers {
		mine := divided[fmt.Sprintf("m-%02d", i)]
		for _, t := range mine {
			got[t]++
		}
		w.assign(mine)
	}
	for t, n := range got {
		if n > 1 {
			m.t.Fatalf("task %s went to %d workers", t, n)
		}
	}
}

// die kills a worker; its directory may go with it.
func (m *shareModel) die(w *modelWorker, withDisk bool) {
	m.workers = slices.DeleteFunc(m.workers, func(x *modelWorker) bool { return x == w })
	m.dead = append(m.dead, w)
	if !withDisk {
		return
	}
	for _, o := range m.offsets {
		if o.Final && o.place == w.self {
			m.excused[o.Task] = true
		}
	}
	delete(m.dirs, w.self)
}

// work lets a worker begin a task, or finish one.
func (m *shareModel) work(w *modelWorker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.order) > 0 && m.rand.IntN(2) == 0 {
		a := w.order[m.rand.IntN(len(w.order))]
		name := a.task.Name
		w.end(a)
		if a.ctx.Err() == nil {
			w.held[name] = true
			if m.dirs[w.self] == nil {
				m.dirs[w.self] = map[string]bool{}
			}
			m.dirs[w.self][name] = true
		}
		return
	}
	if t := w.next(); t != nil && len(w.order) < 2 {
		if err := w.begin(m.t.Context(), t); err != nil {
			m.t.Fatal(err)
		}
		w.begun[t].todo = nil // its stores are at work
	}
}

// finish takes a finished worker out; what it relies on must be there.
func (m *shareModel) finish(w *modelWorker) {
	for _, id := range m.tasks {
		there := m.excused[id.String()]
		for _, dir := range m.dirs {
			there = there || dir[id.String()]
		}
		if !there {
			m.t.Fatalf("%s at %v is done, and nobody has task %s\n%s", w.run, w.self, id, m)
		}
	}
	for _, o := range m.offsets {
		if o.place == w.self && o.complete() && !m.dirs[w.self][o.Task] {
			m.t.Fatalf("%s at %v is done without its task %s\n%s", w.run, w.self, o.Task, m)
		}
	}
	m.workers = slices.DeleteFunc(m.workers, func(x *modelWorker) bool { return x == w })
	m.rebalance()
}

func (m *shareModel) String() string {
	var b strings.Builder
	for at, o := range m.offsets {
		fmt.Fprintf(&b, "%s-%d: %s %s %v final=%v %s\n", at.Topic, at.Partition, o.Task, o.State, o.place, o.Final, o.Run)
	}
	for at, dir := range m.dirs {
		fmt.Fprintf(&b, "%v holds %v\n", at, slices.Sorted(maps.Keys(dir)))
	}
	return b.String()
}

// TestShareModel: whatever joins, dies, loses its disk and comes back, a worker
// is done only when every task is in some directory, no task is divided twice,
// and when nobody dies any more everybody gets done.
func TestShareModel(t *testing.T) {
	for seed := range uint64(300) {
		m := &shareModel{t: t, root: t.TempDir(), rand: rand.New(rand.NewPCG(seed, 0)), offsets: map[kafka.GroupPartition]offsetRecord{},
			dirs: map[place]map[string]bool{}, excused: map[string]bool{}}
		for i := range 2 + m.rand.IntN(8) {
			m.tasks = append(m.tasks, streams.TaskID{Partition: i})
		}
		places := make([]place, 1+m.rand.IntN(4))
		for i := range places {
			places[i] = place{fmt.Sprintf("host-%d", i), "/state"}
		}
		free := func() []place {
			return slices.DeleteFunc(slices.Clone(places), func(p place) bool {
				return slices.ContainsFunc(m.workers, func(w *modelWorker) bool { return w.self == p })
			})
		}
		finished := 0
		for step := 0; ; step++ {
			stormy := step < 200
			switch f := free(); {
			case stormy && m.rand.IntN(12) == 0 && len(m.workers) > 0:
				m.die(m.workers[m.rand.IntN(len(m.workers))], m.rand.IntN(2) == 0)
			case (stormy && m.rand.IntN(10) == 0 || len(m.workers) == 0 && finished == 0) && len(f) > 0:
				m.start(f[m.rand.IntN(len(f))])
			case len(m.dead) > 0 && m.rand.IntN(10) == 0:
				m.rebalance() // their sessions expire
			}
			if len(m.workers) > 0 {
				w := m.workers[m.rand.IntN(len(m.workers))]
				m.work(w)
				if err := w.step(t.Context()); err != nil && err != kafka.ErrDividing {
					t.Fatal(err)
				}
				if w.finished {
					m.finish(w)
					finished++
				}
			}
			if !stormy && len(m.workers) == 0 {
				break
			}
			if step > 20_000 {
				t.Fatalf("seed %d: no end\n%s", seed, m)
			}
		}
	}
}

// Tasks go by size to whoever has the least, and stay where work would be lost.
func TestDivide(t *testing.T) {
	for seed := range uint64(500) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var tasks []*shareTask
		records := map[string]shareRecord{}
		var largest int64
		for i := range 1 + rnd.IntN(30) {
			x := &shareTask{GroupTask: kafka.GroupTask{Name: fmt.Sprintf("0_%d", i)}, weight: 1 + rnd.Int64N(100)}
			tasks = append(tasks, x)
			largest = max(largest, x.weight)
			if rnd.IntN(4) == 0 {
				records[x.Name] = shareRecord{Task: x.Name, State: shareComplete, Ended: rnd.IntN(2) == 0, place: place{fmt.Sprintf("h%d", rnd.IntN(6)), "/s"}, Run: "r"}
			}
		}
		var members []dividing
		for i := range 1 + rnd.IntN(5) {
			m := dividing{id: fmt.Sprintf("m%d", i), shareMember: shareMember{place: place{fmt.Sprintf("h%d", i), "/s"}}}
			for _, x := range tasks {
				switch rnd.IntN(12) {
				case 0:
					m.Held = append(m.Held, x.Name)
				case 1:
					m.Working = append(m.Working, x.Name)
				}
				if rnd.IntN(3) == 0 {
					m.owned = append(m.owned, x.Name)
				}
			}
			members = append(members, m)
		}
		got := divide(tasks, records, members)
		load := map[string]int64{}
		for _, x := range tasks {
			var who []dividing
			for _, m := range members {
				if slices.Contains(got[m.id], x.Name) {
					who = append(who, m)
				}
			}
			held := slices.ContainsFunc(members, func(m dividing) bool { return slices.Contains(m.Held, x.Name) })
			working := slices.ContainsFunc(members, func(m dividing) bool { return slices.Contains(m.Working, x.Name) })
			r, ok := records[x.Name]
			counts := ok && stands(r, members)
			switch {
			case len(who) > 1:
				t.Fatalf("seed %d: %s has %d workers", seed, x.Name, len(who))
			case len(who) == 0 && (held || !counts):
				t.Fatalf("seed %d: nobody has %s", seed, x.Name)
			case len(who) == 1 && !held && counts:
				t.Fatalf("seed %d: %s is restored though its completion stands", seed, x.Name)
			case len(who) == 0:
			case held && !slices.Contains(who[0].Held, x.Name), !held && working && !slices.Contains(who[0].Working, x.Name):
				t.Fatalf("seed %d: work on %s is lost", seed, x.Name)
			case !held && !working:
				load[who[0].id] += x.weight
			}
		}
		// Of two workers that got nothing but new tasks the one with more would not
		// have more by giving its smallest one away.
		var least, most int64 = 1 << 62, 0
		for _, m := range members {
			if len(m.Working) == 0 && len(m.Held) == 0 {
				least, most = min(least, load[m.id]), max(most, load[m.id])
			}
		}
		if most-least > largest && least < 1<<62 {
			t.Fatalf("seed %d: loads from %d to %d", seed, least, most)
		}
	}
}

// A completion of a finished run stands until somebody at its place has it no
// longer, or its host is lost; any other needs its worker.
func TestStands(t *testing.T) {
	r := shareRecord{Task: "0_1", State: shareComplete, Final: true, Ended: true, place: place{"h", "/s"}, Run: "1"}
	at := func(host string, held ...string) dividing {
		return dividing{shareMember: shareMember{place: place{host, "/s"}, Held: held}}
	}
	lost := at("x")
	lost.Lost = []string{"h"}
	early := r
	early.Ended = false
	for _, c := range []struct {
		name    string
		r       shareRecord
		members []dividing
		want    bool
	}{
		{"nobody there", r, nil, true},
		{"another place", r, []dividing{at("x")}, true},
		{"its place, with the task", r, []dividing{at("h", "0_1")}, true},
		{"its place, without it", r, []dividing{at("h", "0_2")}, false},
		{"declared lost", r, []dividing{lost}, false},
		{"of a run that was not finished", early, nil, false},
	} {
		if got := stands(c.r, c.members); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func FuzzShareRecord(f *testing.F) {
	f.Add(`{"sstool":1,"app":"a","task":"0_1","store":"s","state":"complete","host":"h","into":"/s","run":"1","at":"2026-11-30T12:00:00Z"}`)
	f.Add(`{"sstool":1,"state":"waiting"}`)
	f.Add(`{"sstool":1,"host":"h","held":["0_1"]}`)
	f.Add("consumer-1-c0ffee")
	f.Fuzz(func(t *testing.T, s string) {
		if r, err := parseShareRecord(s); err == nil {
			if r.Task == "" || r.App == "" || r.Run == "" {
				t.Fatal(s)
			}
			again, err := parseShareRecord(string(encode(r)))
			if err != nil || again.Task != r.Task || again.State != r.State {
				t.Fatal(s, err)
			}
		}
		_, _ = parseShareMember([]byte(s))
	})
}
