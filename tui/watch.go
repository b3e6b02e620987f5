package tui

import (
	"path/filepath"
	"strings"

	"github.com/fsnotify/fsnotify"

	"sstool/inspect"
)

// watcher tells that files changed somewhere below a map's directories.
type watcher struct {
	fs      *fsnotify.Watcher
	changed chan struct{}
	broken  string // why changes are not seen; ""
	done    chan struct{}
}

func newWatcher() *watcher {
	w := &watcher{changed: make(chan struct{}, 1), done: make(chan struct{})}
	var err error
	if w.fs, err = fsnotify.NewWatcher(); err != nil {
		w.broken = err.Error()
		close(w.done)
		return w
	}
	go w.listen()
	return w
}

func (w *watcher) close() {
	if w.fs != nil {
		w.fs.Close()
	}
	<-w.done
}

func (w *watcher) listen() {
	defer close(w.done)
	for {
		select {
		case e, ok := <-w.fs.Events:
			if !ok {
				return
			}
			if telling(e) {
				select {
				case w.changed <- struct{}{}:
				default:
				}
			}
		case _, ok := <-w.fs.Errors:
			if !ok {
				return
			}
			// Events were lost: something changed.
			select {
			case w.changed <- struct{}{}:
			default:
			}
		}
	}
}

// telling leaves out what says nothing of the state: RocksDB's own log, and
// files that are being written.
func telling(e fsnotify.Event) bool {
	name := filepath.Base(e.Name)
	if e.Op == fsnotify.Chmod || name == "LOG" || strings.HasPrefix(name, "LOG.old") || strings.HasSuffix(name, ".tmp") || strings.HasSuffix(name, ".dbtmp") {
		return false
	}
	if e.Has(fsnotify.Write) && strings.HasSuffix(name, ".sst") {
		return false // its MANIFEST is written when it is complete
	}
	return true
}

// watch follows the directories of a map; it returns why some are not seen.
func (w *watcher) watch(m *inspect.Map, databases []string) string {
	if w.fs == nil {
		return w.broken
	}
	want := map[string]bool{m.Path: true}
	for _, a := range m.Apps {
		if a.Dir != "" {
			want[a.Dir] = true
		}
		for _, t := range a.Tasks {
			if t.Dir != "" {
				want[t.Dir] = true
			}
		}
		for i := range a.Stores {
			s := &a.Stores[i]
			want[s.Dir], want[filepath.Dir(s.Dir)] = true, true
		}
	}
	for _, dir := range databases {
		want[dir] = true
	}
	w.broken = ""
	watched := w.fs.WatchList() // without what was removed or renamed, and may be there anew
	for _, dir := range watched {
		if want[dir] {
			delete(want, dir)
			continue
		}
		_ = w.fs.Remove(dir) // it may be gone already
	}
	for dir := range want {
		if dir == "" {
			continue
		}
		if err := w.fs.Add(dir); err != nil {
			w.broken = err.Error()
		}
	}
	return w.broken
}
