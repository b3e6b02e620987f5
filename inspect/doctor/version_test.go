package doctor

import (
	"strings"
	"testing"

	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// to are options of an upgrade or a downgrade.
func to(t *testing.T, path, target, guarantee string) Options {
	t.Helper()
	v, err := streams.ParseVersion(target)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Path: path, Target: v, Guarantee: guarantee, Areas: []string{AreaVersion}}
}

// TestTargetVersions takes real stores of three releases up and down; what the
// real versions do is in findings §1, and tried by the tests of compact, restore
// and the world.
func TestTargetVersions(t *testing.T) {
	for _, c := range []struct {
		name, target string
		opens        op.Status
		words        []string
	}{
		{"3.9.2-agg-alos", "3.9", op.OK, nil},
		{"3.9.2-agg-alos", "4.4", op.OK, nil},
		{"3.9.2-agg-alos", "3.4", op.Wrong, []string{"kind versioned"}},
		{"4.0.2-papi-alos", "4.4", op.OK, nil},
		{"4.0.2-papi-alos", "4.2.1", op.OK, nil},
		{"4.0.2-win-alos", "3.9", op.Wrong, []string{"SST format version 6", "sstool compact --all", "nothing is wiped"}},
		{"4.4.0-opt-alos", "4.2", op.Wrong, []string{"column family offsets", "--target-kafka 4.2"}},
		{"4.4.0-opt-alos", "3.9", op.Wrong, []string{"column family offsets", "SST format version 6"}},
		{"4.4.0-papi-h-alos", "4.2", op.Wrong, []string{"column family keyValueWithTimestampAndHeaders"}},
		{"4.4.0-papi-h-alos", "4.4", op.OK, nil},
	} {
		t.Run(c.name+" to "+c.target, func(t *testing.T) {
			o := to(t, state(t, c.name), c.target, alos)
			if c.opens == op.OK {
				want(t, run(t, o), "version.opens", op.OK)
				return
			}
			list := of(run(t, o), "version.opens")
			for _, w := range c.words {
				found := false
				for _, x := range list {
					found = found || x.Status == op.Wrong && strings.Contains(text([]op.Finding{x}), w)
				}
				if !found {
					t.Errorf("no %q in\n%s", w, text(list))
				}
			}
		})
	}
}

// TestVersionsOutside: too old to read a MANIFEST, too new to be known.
func TestVersionsOutside(t *testing.T) {
	app := state(t, "4.0.2-papi-alos")
	want(t, run(t, to(t, app, "2.8", alos)), "version.known", op.Wrong, "MANIFEST")
	r := run(t, to(t, app, "5.1", alos))
	for _, id := range []string{"version.known", "version.opens", "version.first-start"} {
		want(t, r, id, op.Unmeasured)
	}
	r = run(t, Options{Path: app, Areas: []string{AreaVersion}})
	want(t, r, "version.opens", op.Unmeasured, "--target-version")
}

// TestFirstStart: an upgrade from 4.0 to 4.4 under exactly-once wipes the tasks
// whose .checkpoint says -4.
func TestFirstStart(t *testing.T) {
	app := state(t, "3.9.2-agg-alos") // three tasks have an empty store
	want(t, run(t, to(t, app, "4.2", eos)), "version.first-start", op.OK)
	want(t, run(t, to(t, app, "4.4", alos)), "version.first-start", op.OK, "offsets move")
	want(t, run(t, to(t, app, "4.4", eos)), "version.first-start", op.Attention, "wipes tasks that the present version resumes", "offset -4", "sstool restore --into", "1_1", "2_0", "4_1")
	want(t, run(t, to(t, app, "4.4", "")), "version.first-start", op.Unmeasured, "under exactly-once")
	want(t, run(t, to(t, app, "4.4", alos)), "version.way-back", op.OK, "keep a copy")
}

// TestGuaranteeGone: exactly_once left with 4.0.
func TestGuaranteeGone(t *testing.T) {
	o := to(t, state(t, "3.9.2-agg-alos"), "4.0", "")
	o.Config = &AppConfig{File: "app.properties", Set: map[string]string{"processing.guarantee": "exactly_once"}}
	want(t, run(t, o), "version.guarantee", op.Wrong, "exactly_once_v2")
	o.Target = streams.Version{Major: 3, Minor: 9}
	want(t, run(t, o), "version.guarantee", op.OK)
	o.Target, o.Config.Set["processing.guarantee"] = streams.Version{Major: 4}, "exactly_once_v2"
	want(t, run(t, o), "version.guarantee", op.OK)
}

// TestHeaders: stores that keep record headers.
func TestHeaders(t *testing.T) {
	o := to(t, state(t, "4.4.0-papi-h-alos"), "4.4", alos)
	want(t, run(t, o), "version.store-format", op.Unmeasured, "--app-config")
	o.Config = &AppConfig{Set: map[string]string{"dsl.store.format": "DEFAULT"}}
	want(t, run(t, o), "version.store-format", op.Attention, "does not start")
	o.Config.Set["dsl.store.format"] = "HEADERS"
	want(t, run(t, o), "version.store-format", op.OK)
	want(t, run(t, to(t, state(t, "4.4.0-opt-alos"), "4.4", alos)), "version.store-format", op.OK)
}

// TestUpgradesOfHealthyState: from every release to the newest, nothing is
// found in the directories of applications that were stopped cleanly.
func TestUpgradesOfHealthyState(t *testing.T) {
	for _, name := range lsmtest.Names(t) {
		if f := found(run(t, to(t, state(t, name), "4.4", alos))); len(f) > 0 {
			t.Errorf("%s:\n%s", name, text(f))
		}
	}
}
