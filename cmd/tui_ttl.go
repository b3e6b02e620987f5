package cmd

import (
	"context"
	"os"
	"path/filepath"

	"sstool/internal/op"
	"sstool/migrate"
	"sstool/tui"
)

// ttlAction deletes old rows of a store: sstool ttl --older-than.
func (a *app) ttlAction(k kafkaFlags, s tui.Subject) tui.Action {
	dir := ""
	if s.AppDir != "" {
		dir = filepath.Dir(s.AppDir)
	}
	act := tui.Action{Name: "delete old rows (ttl)", Subject: s, Writes: true, Type: s.Store, Ask: "older than: ", Help: "rows whose record is older than this are deleted, in the changelog and here: 7d, 12h"}
	act.Command = append([]string{"sstool", "ttl", "--application-id", s.App, "--store", s.Store, "--older-than", "AGE"}, k.words()...)
	if dir != "" {
		act.Command = append(act.Command, "--state-dir", dir)
	}
	act.Plan = func(ctx context.Context, age string) (*tui.Planned, error) {
		f := ttlFlags{kafka: k, appID: s.App, store: s.Store, stateDir: dir}
		if err := f.olderThan.Set(age); err != nil {
			return nil, op.Errorf(op.Usage, "%w", err).WithTry("7d, 12h, 90m")
		}
		if err := f.check(); err != nil {
			return nil, err
		}
		o, err := f.options(ctx, a)
		if err != nil {
			return nil, err
		}
		do, err := f.deletion(o.Command)
		if err != nil {
			return nil, err
		}
		var warned []string
		client, err := k.open(ctx, func(text string) { warned = append(warned, text) })
		if err != nil {
			return nil, err
		}
		temp, err := os.MkdirTemp(o.TempDir, "sstool-ttl-")
		if err != nil {
			client.Close()
			return nil, op.Errorf(op.Failed, "%w", err)
		}
		end := func() {
			client.Close()
			os.RemoveAll(temp)
		}
		o.TempDir = temp
		d, note, err := migrate.ContinueDeletion(ctx, client, do, o.Request())
		var plan *migrate.TTLPlan
		if note != "" {
			warned = append(warned, note)
		}
		if err == nil && d == nil {
			if plan, err = migrate.PlanTTL(ctx, client, o, nil); err == nil {
				d, warned = plan.Deletion(), append(warned, plan.Warnings...)
			}
		}
		if err != nil {
			end()
			return nil, err
		}
		return &tui.Planned{Steps: d.Steps(do), Warnings: warned, Close: end, Apply: func(ctx context.Context, sink op.Sink) (any, string, error) {
			done, err := d.Apply(ctx, client, do, sink)
			if done == nil {
				return nil, "", err
			}
			doc, report := reported(a, o.Command, migrate.TTLResult{Plan: plan, DeletionResult: *done}, renderTTL)
			return doc, report, err
		}}, nil
	}
	return act
}
