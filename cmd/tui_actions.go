package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"sstool/inspect"
	"sstool/internal/human"
	"sstool/internal/op"
	"sstool/internal/spec"
	"sstool/migrate"
	"sstool/restore"
	"sstool/tui"
)

// tuiActions are what the dashboard can do to a subject: the same plans, steps
// and reports as the commands'.
func (a *app) tuiActions(c *tui.Context, k kafkaFlags, s tui.Subject) []tui.Action {
	var out []tui.Action
	if c.Connect != nil && s.App != "" {
		out = append(out, a.restoreAction(k, s, false))
		if s.AppDir != "" {
			out = append(out, a.restoreAction(k, s, true))
		}
	}
	if s.Dir != "" && s.Store != "" {
		out = append(out, a.compactAction(s))
	}
	if c.Connect != nil && s.App != "" && s.Store != "" && s.Topic != "" {
		out = append(out, a.renameAction(k, s), a.ttlAction(k, s))
	}
	return out
}

// reported is a document and the command's own report of it.
func reported[D any](a *app, kind string, doc D, render func(w *tableWriter, doc D)) (any, string) {
	var buf bytes.Buffer
	quiet := *a
	quiet.io.Out = &buf
	if err := emit(&quiet, outputFlag{value: formatTable}, kind, doc, render); err != nil {
		return doc, err.Error()
	}
	b, err := envelope(kind, doc)
	if err != nil {
		return doc, buf.String()
	}
	return json.RawMessage(b), buf.String()
}

// restoreAction measures a restore, or does it into the state directory.
func (a *app) restoreAction(k kafkaFlags, s tui.Subject, into bool) tui.Action {
	f := restoreFlags{kafka: k, appID: s.App}
	act := tui.Action{Name: "measure a restore", Subject: s}
	act.Command = []string{"sstool", "restore", "--application-id", s.App}
	if s.Store != "" {
		f.stores = namesValue{s.Store}
		act.Command = append(act.Command, "--store", s.Store)
	}
	dir := ""
	if s.AppDir != "" {
		dir = filepath.Dir(s.AppDir)
	}
	if into {
		act.Name, act.Writes, act.Type = "restore into the state directory", true, s.App
		f.into, f.force = dir, true
		act.Command = append(act.Command, "--into", dir, "--force")
		if s.Store != "" {
			act.Type = s.Store
			f.tasks = namesValue{s.Task}
			act.Command = append(act.Command, "--task", s.Task)
		}
	} else {
		f.measure, f.stateDir, f.acceptDerived = true, dir, dir == ""
		act.Command = append(act.Command, "--measure")
		if dir != "" {
			act.Command = append(act.Command, "--state-dir", dir)
		}
	}
	act.Command = append(act.Command, k.words()...)
	act.Plan = func(ctx context.Context, _ string) (*tui.Planned, error) {
		f := f
		var warned []string
		if len(f.stores) == 0 {
			if err := f.allStores(ctx, dir, s.App); err != nil {
				return nil, err
			}
		}
		plan, done, err := f.plan(ctx, func(text string) { warned = append(warned, text) })
		if err != nil {
			return nil, err
		}
		if rocksVersion() == "" {
			done()
			return nil, op.Errorf(op.Failed, "this sstool was built without RocksDB, which restoring needs").WithTry("build it with cgo: make build")
		}
		return &tui.Planned{Steps: restoreSteps(plan), Warnings: append(warned, plan.Warnings...), Close: done, Apply: func(ctx context.Context, sink op.Sink) (any, string, error) {
			begun := time.Now()
			res, err := plan.Run(ctx, sink)
			if res == nil || len(res.Partitions) == 0 {
				return nil, "", err
			}
			doc, report := reported(a, f.documentKind(), restoreDoc{Result: res, MovedAside: movedSince(plan, begun)}, f.renderResult)
			return doc, report, err
		}}, nil
	}
	return act
}

// restoreSteps are a restore's plan in words.
func restoreSteps(p *restore.Plan) []string {
	var out []string
	if p.Options.Into == "" {
		out = append(out, "measured in a scratch directory, which is removed; nothing else is written")
	}
	out = append(out, changesOf(p)...)
	for _, s := range newPlanDoc(p).Steps {
		size := ""
		if s.Bytes != nil {
			size = ", " + human.Bytes(*s.Bytes)
		}
		out = append(out, fmt.Sprintf("%s %s of task %s from %s-%d: %s offsets%s", s.Action, s.Store, s.Task, s.Topic, s.Partition, human.Count(max(0, s.To-s.From)), size))
	}
	for _, s := range p.Assumptions {
		out = append(out, "assumed: "+s)
	}
	return out
}

// compactAction rewrites a store's files.
func (a *app) compactAction(s tui.Subject) tui.Action {
	return tui.Action{Name: "compact", Subject: s, Writes: true, Type: s.Store, Command: []string{"sstool", "compact", s.Dir},
		Plan: func(ctx context.Context, _ string) (*tui.Planned, error) {
			f := compactFlags{}
			found, err := f.find(ctx, s.Dir)
			if err != nil {
				return nil, err
			}
			plan, err := migrate.PlanCompact(ctx, migrate.CompactOptions{Stores: found})
			if err != nil {
				return nil, err
			}
			if rocksVersion() == "" {
				return nil, op.Errorf(op.Failed, "this sstool was built without RocksDB, which compacting needs").WithTry("build it with cgo: make build")
			}
			return &tui.Planned{Steps: plan.Steps(), Warnings: plan.Warnings, Apply: func(ctx context.Context, sink op.Sink) (any, string, error) {
				res, err := plan.Apply(ctx, sink)
				if res == nil {
					return nil, "", err
				}
				doc, report := reported(a, "compact", *res, renderCompact)
				return doc, report, err
			}}, nil
		}}
}

// renameAction gives the store another name.
func (a *app) renameAction(k kafkaFlags, s tui.Subject) tui.Action {
	dir := ""
	if s.AppDir != "" {
		dir = filepath.Dir(s.AppDir)
	}
	act := tui.Action{Name: "rename", Subject: s, Writes: true, Type: s.Store, Ask: "new name: ", Help: "the store's new name; its changelog is copied, its directories cloned, nothing old is removed"}
	act.Command = append([]string{"sstool", "rename", s.Store, "NEW", "--application-id", s.App}, k.words()...)
	if dir != "" {
		act.Command = append(act.Command, "--state-dir", dir)
	}
	act.Plan = func(ctx context.Context, name string) (*tui.Planned, error) {
		client, err := k.open(ctx, func(string) {})
		if err != nil {
			return nil, err
		}
		moves, topics, err := migrate.ResolveRename(ctx, client, migrate.RenameOptions{ApplicationID: s.App, Names: []migrate.NamePair{{Old: s.Store, New: name}}})
		if err != nil {
			client.Close()
			return nil, err
		}
		o := migrate.MigrationOptions{Kind: migrate.Rename, OldApp: s.App, NewApp: s.App, Moves: moves, Topics: topics, StateDir: dir, ClusterID: k.clusterID}
		if o.LedgerDir, err = a.ledgerDir(dir); err == nil {
			if dir != "" {
				o.Clone = migrate.NewCloner(dir)
			}
			var plan *migrate.MigrationPlan
			if plan, err = migrate.PlanMigration(ctx, client, o, nil); err == nil {
				return &tui.Planned{Steps: stepTexts(plan), Warnings: plan.Warnings, Close: client.Close, Apply: func(ctx context.Context, sink op.Sink) (any, string, error) {
					res, err := plan.Apply(ctx, sink)
					if res == nil {
						return nil, "", err
					}
					doc, report := reported(a, plan.Kind, *res, renderMigration)
					return doc, report, err
				}}, nil
			}
		}
		client.Close()
		return nil, err
	}
	return act
}

// words are the flags as they are typed.
func (f *kafkaFlags) words() []string {
	var out []string
	for _, x := range [][2]string{{"--bootstrap-server", f.bootstrap}, {"--command-config", f.commandConfig}, {"--cluster-id", f.clusterID}} {
		if x[1] != "" {
			out = append(out, x[0], x[1])
		}
	}
	return out
}

// allStores names all stores of an application: those of its directory, or of
// its changelogs.
func (f *restoreFlags) allStores(ctx context.Context, dir, app string) error {
	if dir != "" {
		s, err := spec.FromStateDir(filepath.Join(dir, app))
		if err != nil {
			return err
		}
		f.stores = names(s)
		return nil
	}
	client, err := f.kafka.open(ctx, func(string) {})
	if err != nil {
		return err
	}
	defer client.Close()
	list, err := inspect.ListChangelogs(ctx, client, []string{app})
	if err != nil {
		return err
	}
	for _, t := range list.Topics {
		f.stores = append(f.stores, t.Store)
	}
	return nil
}
