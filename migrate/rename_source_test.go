//go:build cgo

package migrate

import (
	"path/filepath"
	"strings"
	"testing"

	"sstool/internal/lsm/lsmtest"
)

// TestRenameWarnsOfSourceTopics: a table that is restored from its source topic
// is lost when the new version renames it as well, and the plan says so.
func TestRenameWarnsOfSourceTopics(t *testing.T) {
	for name, want := range map[string]string{
		"4.0.2-opt-alos":  "source topics (w402-mini-opt-alos-g, w402-mini-opt-alos-t1, w402-mini-opt-alos-t2) must keep their names",
		"4.4.0-opt-alos":  "", // each store has its own offset
		"4.0.2-papi-alos": "",
	} {
		_, dir := lsmtest.Unpack(t, name)
		m := renameAll(t, dir, filepath.Base(dir))
		p, err := (&cloner{stateDir: filepath.Dir(dir)}).Plan(t.Context(), m)
		if err != nil {
			t.Fatal(name, err)
		}
		if got := strings.Join(p.Warnings, "\n"); !strings.Contains(got, want) || want == "" && strings.Contains(got, "source topics") {
			t.Errorf("%s: warnings %q, want %q", name, got, want)
		}
		m.Kind = TopologyMigration
		if p, err = (&cloner{stateDir: filepath.Dir(dir)}).Plan(t.Context(), m); err != nil || strings.Contains(strings.Join(p.Warnings, "\n"), "source topics") {
			t.Errorf("%s: migrate topology knows both topologies: %q, %v", name, p.Warnings, err)
		}
	}
}
