//go:build cgo

package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/worldtest"
)

// realVersions takes the directory of a real application to another version of
// Kafka Streams, up and down, and compares with what doctor said of it.
func realVersions(t *testing.T, s *worldtest.Shared, client *kafka.Client) {
	pairs := [][2]string{{"4.0.2", "4.4.0"}, {"4.4.0", "4.0.2"}}
	if exhaustive() {
		pairs = append(pairs, [][2]string{{"3.9.2", "4.0.2"}, {"3.9.2", "4.4.0"}, {"4.0.2", "3.9.2"}, {"4.4.0", "3.9.2"}, {"4.2.1", "4.3.1"}, {"4.3.1", "4.2.1"}}...)
	}
	var seen table
	for i, p := range pairs {
		from, to := s.Streams(p[0]), s.Streams(p[1])
		for _, eos := range []bool{false, true} {
			if eos == (i%2 == 1) && !exhaustive() {
				continue // what does not open does not under any
			}
			seen.wg.Go(func() {
				if err := toVersion(t.Context(), t, s.Broker, client, from, to, eos, &seen); err != nil {
					t.Errorf("%s to %s, exactly-once %v: %v", p[0], p[1], eos, err)
				}
			})
		}
	}
	seen.wg.Wait()
	slices.Sort(seen.rows)
	t.Logf("from, to, guarantee, task: predicted | seen\n%s", strings.Join(seen.rows, "\n"))
}

// toVersion builds a state in which some stores are empty, and starts another
// version on it.
func toVersion(ctx context.Context, t *testing.T, b *worldtest.Broker, client *kafka.Client, from, to *worldtest.Harness, eos bool, seen *table) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	p := worldtest.ProfileNamed("agg")
	id := strings.ReplaceAll(fmt.Sprintf("agg-%s-%s-%v", from.Version, to.Version, eos), ".", "")
	app := p.App(id, b.Bootstrap, t.TempDir(), eos)
	if _, err := from.Build(ctx, app, worldtest.Input{Records: 3}); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	target, err := streams.ParseVersion(to.Version)
	if err != nil {
		return err
	}
	now, err := streams.ParseVersion(from.Version)
	if err != nil {
		return err
	}
	o := Options{Path: app.Dir(), AppID: id, Client: client, Kafka: now, Target: target, Areas: []string{AreaVersion},
		Config: &AppConfig{Set: map[string]string{"processing.guarantee": map[bool]string{true: "exactly_once_v2", false: "at_least_once"}[eos]}}}
	res, err := Run(ctx, o, nil)
	if err != nil {
		return err
	}
	o.Kafka, o.Areas = target, []string{AreaRestart}
	after, err := Run(ctx, o, nil)
	if err != nil {
		return err
	}
	for _, s := range after.Tasks {
		if err := os.WriteFile(filepath.Join(app.Dir(), s.Task, "marker.position"), []byte("0\n0\n"), 0o644); err != nil {
			return err
		}
	}
	rep, err := to.Handoff(ctx, app)
	if err != nil {
		return err
	}
	opens := !slices.ContainsFunc(of(res, "version.opens"), func(x op.Finding) bool { return x.Status.Found() })
	if opens != (rep.Error == "") {
		return fmt.Errorf("%s, but the start says %q", text(of(res, "version.opens")), rep.Error)
	}
	row := fmt.Sprintf("%s %s %-4v ", from.Version, to.Version, map[bool]string{true: "eos", false: "alos"}[eos])
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if !opens {
		seen.rows = append(seen.rows, row+"all: does not open | "+rep.Error)
		return nil
	}
	told := text(of(res, "version.first-start"))
	for _, s := range after.Tasks {
		_, err := os.Stat(filepath.Join(app.Dir(), s.Task, "marker.position"))
		wiped := err != nil
		seen.rows = append(seen.rows, fmt.Sprintf("%s%s: %s | wiped: %v", row, s.Task, show(s), wiped))
		if wiped != (s.Will == WillWipe) {
			return fmt.Errorf("task %s: %s (%s), wiped %v", s.Task, show(s), s.Why, wiped)
		}
		if wiped && !strings.Contains(told, s.Task) {
			return fmt.Errorf("task %s is wiped, and version.first-start says\n%s", s.Task, told)
		}
	}
	return nil
}
