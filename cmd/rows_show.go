package cmd

import (
	"context"
	"fmt"
	"time"

	"sstool/inspect"
	"sstool/internal/op"
)

// rowSource is a store or a topic.
type rowSource interface {
	KeyBytes(ctx context.Context, text string) ([]byte, error)
	Get(ctx context.Context, o inspect.RowsGet, fn func(*inspect.Row) error) (*inspect.RowsResult, error)
	Scan(ctx context.Context, o inspect.RowsScan, fn func(*inspect.Row) error) (*inspect.RowsResult, error)
}

// showRows opens what the flags name, lets read go through it and writes what
// comes of it. The result is nil when nothing was read.
func (a *app) showRows(ctx context.Context, f *rowsFlags, kind, store string, count bool, read func(rowSource, *rowsOutput) (*inspect.RowsResult, error)) (*inspect.RowsResult, error) {
	show := a.startProgress(f.progress)
	defer show.close()
	src, done, err := f.open(ctx, store, show.sink, show.warn)
	if err != nil {
		return nil, err
	}
	defer done()
	// Rows and a progress line do not go together.
	out := a.newRowsOutput(f.out.value, kind, count, show.flush)
	res, err := read(src, out)
	if res == nil {
		return nil, err
	}
	if err == nil && f.topic == "" {
		err = a.compareRows(ctx, f, res, show.warn)
	}
	if f.out.value != formatJSON {
		for _, w := range res.Warnings {
			show.warn(w)
		}
	}
	show.flush()
	note := func(text string) {
		if show.json {
			show.sink(op.Event{Type: op.Summary, Message: text})
			return
		}
		fmt.Fprintf(a.io.Err, "note: %s\n", printable(text))
	}
	if oerr := out.end(res, note); err == nil {
		err = oerr
	}
	if err == nil {
		err = undecodedError(res)
	}
	return res, err
}

// compareRows asks the cluster, if one is named, how far behind the rows are.
// A cluster that only the environment or a context names is not worth failing
// for: the rows are there.
func (a *app) compareRows(ctx context.Context, f *rowsFlags, res *inspect.RowsResult, warn func(string)) error {
	if f.kafka.bootstrap == "" && f.kafka.commandConfig == "" {
		return nil
	}
	client, err := f.kafka.open(ctx, warn)
	if err == nil {
		defer client.Close()
		err = res.Compare(ctx, client)
	}
	if err == nil || a.given["bootstrap-server"] || a.given["command-config"] || op.KindOf(err) == op.Precondition || ctx.Err() != nil {
		return err
	}
	warn("how far the rows are behind their changelog was not measured: " + err.Error())
	return nil
}

// open is the store or topic; done lets go of it.
func (f *rowsFlags) open(ctx context.Context, store string, sink op.Sink, warn func(string)) (src rowSource, done func(), err error) {
	o, err := f.options(store)
	if err != nil {
		return nil, nil, err
	}
	if f.topic == "" {
		r, err := inspect.OpenRows(ctx, o)
		return r, func() {}, err
	}
	client, err := f.kafka.open(ctx, warn)
	if err != nil {
		return nil, nil, err
	}
	t, err := inspect.OpenTopicRows(ctx, client, inspect.TopicRowsOptions{
		Topic: f.topic, Partitions: f.partition, Kind: o.Kind, WindowSize: o.WindowSize, Key: o.Key, ForeignKey: o.ForeignKey, Value: o.Value,
		Memory: int64(f.memory), StallTimeout: time.Minute,
	}, sink)
	if err != nil {
		client.Close()
		return nil, nil, err
	}
	return t, client.Close, nil
}
