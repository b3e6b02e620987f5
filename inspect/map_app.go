package inspect

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sstool/internal/op"
	"sstool/internal/streams"
)

// processID is the id the application keeps across restarts; "" when the file
// is not there or says none.
func processID(appDir string) string {
	f, _, err := op.OpenFile(filepath.Join(appDir, streams.ProcessFile))
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4<<10))
	var doc struct {
		ProcessID string `json:"processId"`
	}
	if err != nil || json.Unmarshal(b, &doc) != nil {
		return ""
	}
	return doc.ProcessID
}

// appRemarks are about an application as a whole.
func appRemarks(a *App, m *MapApp, told map[*Store]toldStore) []Remark {
	var out []Remark
	for _, o := range a.Odd {
		out = append(out, Remark{Warning, o.What, o.Path, "move it out of the application's directory"})
	}
	if a.ID != "" && len(a.Tasks) == 0 {
		out = append(out, Remark{Note, "no task: left by a clean-up, harmless", a.Dir, ""})
	}
	if m.Lock.Held != nil && *m.Lock.Held {
		out = append(out, Remark{Note, "an application has it open: rows in its memory are not on disk yet and not counted", a.Dir, ""})
	}
	if other := otherPrefix(a, m); other != "" {
		out = append(out, Remark{Warning, fmt.Sprintf("the offsets speak of application %q: the directory was renamed or copied, or it is not an application's", other), a.Dir,
			"Kafka Streams looks for " + filepath.Join(filepath.Dir(a.Dir), other)})
	}
	return append(out, strayRemarks(a)...)
}

// otherPrefix is the application whose changelogs the offsets name, when none
// of them is this one's.
func otherPrefix(a *App, m *MapApp) string {
	if a.ID == "" {
		return ""
	}
	prefix := ""
	for _, t := range a.Tasks {
		cp := readTaskOffsets(t).checkpoint
		for tp := range cp {
			if _, ok := streams.StoreOfChangelog(a.ID, tp.Topic); ok {
				return ""
			}
			for _, s := range t.Stores {
				if p, ok := strings.CutSuffix(tp.Topic, "-"+s.Name+"-changelog"); ok && len(p) > len(prefix) {
					prefix = p
				}
			}
		}
	}
	for _, s := range m.Stores {
		for _, o := range s.Offsets.List {
			if _, ok := streams.StoreOfChangelog(a.ID, o.Topic); ok {
				return ""
			}
			if p, ok := strings.CutSuffix(o.Topic, "-"+s.Name+"-changelog"); ok && len(p) > len(prefix) {
				prefix = p
			}
		}
	}
	return prefix
}

// strayRemarks find tasks of an older topology: a store belongs to one
// sub-topology, so one that lies in two is stray in one of them. 4.4 opens
// every store of the topology in a stray task's directory.
func strayRemarks(a *App) []Remark {
	type key struct{ topology, store string }
	subs := map[key][]int{}
	stores := map[string][]int{} // sub-topologies of a topology
	for _, t := range a.Tasks {
		if t.ID == nil {
			continue
		}
		if !slices.Contains(stores[t.Topology], t.ID.Subtopology) {
			stores[t.Topology] = append(stores[t.Topology], t.ID.Subtopology)
		}
		for _, s := range t.Stores {
			k := key{t.Topology, s.Name}
			if !slices.Contains(subs[k], t.ID.Subtopology) {
				subs[k] = append(subs[k], t.ID.Subtopology)
			}
		}
	}
	shared := map[string][]string{} // the sub-topologies, and the stores they share
	for k, list := range subs {
		if len(list) < 2 {
			continue
		}
		slices.Sort(list)
		var names []string
		for _, n := range list {
			names = append(names, fmt.Sprint(n))
		}
		at := strings.Join(names, " and ")
		shared[at] = append(shared[at], k.store)
	}
	var out []Remark
	for at, names := range shared {
		slices.Sort(names)
		out = append(out, Remark{Warning, fmt.Sprintf("stray task directories: %s in the tasks of sub-topologies %s, but a store belongs to one; the others are of an older topology", Few(names), at), a.Dir,
			"compare with Topology#describe(), and remove the directories of tasks it does not have while the application is stopped"})
	}
	slices.SortFunc(out, func(x, y Remark) int { return strings.Compare(x.What, y.What) })
	return out
}

// Temporary says why a path does not last: "" when nothing speaks against it.
func Temporary(path string) string {
	for _, dir := range []string{"/tmp", "/var/tmp", os.TempDir(), "/run", "/dev/shm"} {
		if rel, err := filepath.Rel(dir, path); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			return "under " + dir
		}
	}
	if inMemory(path) {
		return "on a file system in memory"
	}
	return ""
}
