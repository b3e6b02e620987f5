//go:build cgo

package cmd

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sstool/internal/worldtest"
)

// TestTTLPlanWorld plans over every store of real applications: key-value
// stores give the same plan from the changelog and from the state directory,
// with just the rows that sstool scan shows from before the cutoff; every other
// store is refused.
func TestTTLPlanWorld(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartBroker(t, worldtest.Options{})
	for _, v := range worldtest.Chosen(worldtest.Newest) {
		h := worldtest.Streams(t, v)
		for _, p := range worldtest.Profiles() {
			for _, eos := range []bool{false, true} {
				if !p.Supports(v) || !worldtest.Full() && (!slices.Contains([]string{"papi", "papi-h", "tjoin-headers"}, p.Name) || eos != (p.Name == "papi")) {
					continue
				}
				name := v + "/" + p.Name + map[bool]string{true: "-eos"}[eos]
				t.Run(name, func(t *testing.T) {
					planStores(t, b, h, p, eos, strings.NewReplacer(".", "", "/", "-").Replace("ttl-"+name))
				})
			}
		}
	}
}

// ttlDocument is what the test looks at of a plan.
type ttlDocument struct {
	Total struct {
		Rows     int64
		Selected struct{ Rows, Bytes int64 }
	}
	Partitions []struct {
		Source string
		Why    string `json:"source_why"`
	}
	Refused []string
}

func planStores(t *testing.T, b *worldtest.Broker, h *worldtest.Harness, p worldtest.Profile, eos bool, id string) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	app := p.App(id, b.Bootstrap, t.TempDir(), eos)
	base := worldtest.InputBase(time.Now())
	records := min(p.Records, 600)
	if _, err := h.Build(ctx, app, worldtest.Input{Records: records, Base: base}); err != nil {
		t.Fatal(err)
	}
	cutoff := base.Add(time.Duration(records) * time.Second).UnixMilli() // half of the input, two seconds apart
	before := strconv.FormatInt(cutoff, 10)
	guarantee := map[bool]string{false: "at_least_once", true: "exactly_once_v2"}[eos]
	plan := func(store string, more ...string) (ttlDocument, outcome) {
		got := runWith(t, nil, append([]string{"ttl", "--bootstrap-server", b.Bootstrap, "--application-id", id, "--store", store, "--processing-guarantee", guarantee, "--before", before, "--dry-run", "-o", "json"}, more...)...)
		var d ttlDocument
		if got.code == 0 {
			if err := json.Unmarshal([]byte(got.out), &d); err != nil {
				t.Fatal(err)
			}
		}
		return d, got
	}
	cleaned, local := 0, 0
	for _, s := range p.Stores(id) {
		own := s.Topic == id+"-"+s.Name+"-changelog"
		if (s.Kind != "kv" && s.Kind != "timestamped-kv") || !own || s.Global {
			if _, got := plan(s.Name, "--state-dir", app.StateDir); got.code != 14 && !(got.code == 10 && !s.OnDisk()) {
				t.Errorf("%s (%s): code %d %s", s.Name, s.Kind, got.code, got.err)
			}
			continue
		}
		cleaned++
		log, got := plan(s.Name, "--kind", s.Kind)
		if got.code != 0 {
			t.Errorf("%s: code %d %s", s.Name, got.code, got.err)
			continue
		}
		dir, got := plan(s.Name, "--state-dir", app.StateDir)
		if got.code != 0 {
			t.Errorf("%s: code %d %s", s.Name, got.code, got.err)
			continue
		}
		rows, old := scanTopic(t, b, s, cutoff)
		if log.Total.Rows != rows || log.Total.Selected.Rows != old || dir.Total != log.Total {
			t.Errorf("%s: changelog %+v, directory %+v, scan %d rows, %d from before the cutoff", s.Name, log.Total, dir.Total, rows, old)
		}
		if rows > 0 && (old == 0 || old == rows) && s.Name == "ts-kv" {
			t.Errorf("%s: %d of %d rows are from before the cutoff: it divides nothing", s.Name, old, rows)
		}
		for _, x := range dir.Partitions {
			if x.Source == "local" {
				local++
			} else if s.Kind == "timestamped-kv" {
				t.Logf("%s is read from the changelog: %s", s.Name, x.Why)
			}
		}
	}
	t.Logf("%d stores planned, %d partitions from local copies", cleaned, local)
}

// scanTopic counts the rows of a changelog that sstool scan shows, and those
// from before a time.
func scanTopic(t *testing.T, b *worldtest.Broker, s worldtest.Store, before int64) (rows, old int64) {
	got := runWith(t, nil, "scan", "--topic", s.Topic, "--bootstrap-server", b.Bootstrap, "--kind", s.Kind, "-o", "jsonl")
	if got.code != 0 {
		t.Fatalf("%s: code %d %s", s.Name, got.code, got.err)
	}
	for line := range strings.Lines(got.out) {
		var row struct {
			At *int64 `json:"timestamp_ms"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if row.At == nil {
			continue
		}
		rows++
		if *row.At < before {
			old++
		}
	}
	return rows, old
}
