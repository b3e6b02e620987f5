package verify

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"sstool/inspect"
	"sstool/internal/human"
	"sstool/internal/streams"
)

// Place is what printed commands need besides the result.
type Place struct {
	Server, Config string // --bootstrap-server, --command-config
	Guarantee      string // --processing-guarantee, "" when not stated
}

// repair says what would make the store and its changelog agree. Nothing is run.
func (v *view) repair(p Place) []Step {
	r := v.res
	var out []Step
	var bad, extra []string
	replaced := int64(0)
	for i := range r.Tasks {
		t := &r.Tasks[i]
		replaced += t.Replaced
		if t.Findings() == 0 && t.Verdict != OutOfRange {
			continue
		}
		bad = append(bad, t.Task)
		for _, d := range t.Differences {
			if d.What == Extra && d.Offset == nil {
				extra = append(extra, d.KeyHex)
			}
		}
	}
	if len(bad) == 0 {
		return nil
	}
	if n := r.Total.Findings(); replaced == n && n > 0 {
		out = append(out, Step{"start the application", "each of these rows has a later record in the changelog, which replaces it when the store goes on from its offset", ""})
	}
	what, stop := "restore the store of "+tasks(bad)+" from the changelog", ""
	if r.Running == nil || *r.Running {
		stop = "stop the application first; "
	}
	if r.Topic != "" && v.m[0].App != "" {
		out = append(out, Step{what, stop + "what is there is moved aside, not deleted; the rows are then those that the changelog makes", v.restoreCommand(p, bad)})
	}
	if step, ok := v.tombstoneStep(p, extra); ok {
		out = append(out, step)
	}
	return out
}

func tasks(list []string) string {
	if len(list) == 1 {
		return "task " + list[0]
	}
	return "tasks " + strings.Join(list, ", ")
}

// cluster are the words of a command that name the cluster.
func (p Place) cluster() []string {
	out := []string{"--bootstrap-server", cmp.Or(p.Server, "HOST:PORT")}
	if p.Config != "" {
		out = append(out, "--command-config", p.Config)
	}
	return out
}

func (v *view) restoreCommand(p Place, bad []string) string {
	m := v.m[0]
	words := append([]string{"sstool", "restore", "--into", stateDir(m)}, p.cluster()...)
	words = append(words, "--application-id", m.App, "--store", m.Name, "--kind", string(v.kind))
	if v.res.Topic != streams.ChangelogTopic(m.App, m.Name) {
		words = append(words, "--topic", v.res.Topic)
	}
	for _, t := range bad {
		words = append(words, "--task", t)
	}
	if v.res.Retention != nil {
		flag := "--retention"
		if v.kind == streams.Versioned {
			flag = "--history-retention"
		}
		words = append(words, flag, fmt.Sprintf("%dms", *v.res.Retention))
	}
	if m.Interval != nil {
		words = append(words, "--segment-interval", fmt.Sprintf("%dms", *m.Interval))
	} else if v.kind == streams.Versioned {
		words = append(words, "--accept-derived")
	}
	if m.Kind.Headers {
		words = append(words, "--headers")
	}
	if m.Kind.WithIndex && v.kind == streams.TimeOrderedWindow {
		words = append(words, "--with-index")
	}
	return human.CommandLine(append(words, "--processing-guarantee", cmp.Or(p.Guarantee, "GUARANTEE"), "--force")...)
}

// stateDir is the state.dir above the application's directory.
func stateDir(m *inspect.MapStore) string {
	dir := m.Dir
	for dir != filepath.Dir(dir) && filepath.Base(dir) != m.App {
		dir = filepath.Dir(dir)
	}
	return filepath.Dir(dir)
}

// shownKeys is how many keys a printed command names.
const shownKeys = 20

// tombstoneStep is for rows of which the changelog knows nothing: other copies of
// the store may have them too, and nothing tells those that they are gone.
func (v *view) tombstoneStep(p Place, extra []string) (Step, bool) {
	if len(extra) == 0 || v.kind != streams.KV && v.kind != streams.TimestampedKV || v.m[0].App == "" {
		return Step{}, false
	}
	m := v.m[0]
	words := append([]string{"sstool", "tombstone", v.res.Topic}, p.cluster()...)
	words = append(words, "--application-id", m.App, "--state-dir", stateDir(m), "--key-decoder", "hex")
	for _, k := range extra[:min(len(extra), shownKeys)] {
		if _, err := hex.DecodeString(k); err == nil {
			words = append(words, "--key", k)
		}
	}
	why := "the changelog knows nothing of these rows, so standbys and other copies that have them keep them; tombstones delete them everywhere"
	if len(extra) > shownKeys || v.res.Total.Extra > int64(len(extra)) {
		why += "; the command names the first, --limit shows more"
	}
	return Step{"or delete them everywhere", why, human.CommandLine(append(words, "--dry-run")...)}, true
}
