package cmd

import (
	"context"
	"fmt"
	"time"

	"sstool/inspect"
	"sstool/internal/kafka"
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
func (a *app) showRows(ctx context.Context, f *rowsFlags, kind, store string, count bool, read func(rowSource, func(*inspect.Row) error) (*inspect.RowsResult, error)) (*inspect.RowsResult, error) {
	show := a.startProgress(f.progress)
	defer show.close()
	warn := func(text string) { show.sink(op.Event{Type: op.Warning, Message: text}) }
	src, client, err := f.open(ctx, store, show.sink, warn)
	if client != nil {
		defer client.Close()
	}
	if err != nil {
		return nil, err
	}
	out := a.newRowsOutput(f.out.value, kind, count)
	first := true
	res, err := read(src, func(row *inspect.Row) error {
		if first {
			show.flush() // rows and a progress line do not go together
			first = false
		}
		return out.row(row)
	})
	if res == nil {
		return nil, err
	}
	if client != nil && err == nil {
		err = res.Compare(ctx, client)
	}
	show.flush()
	for _, w := range res.Warnings {
		if f.out.value != formatJSON {
			warn(w)
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

// open is the store or topic; the client is nil when no cluster was named.
func (f *rowsFlags) open(ctx context.Context, store string, sink op.Sink, warn func(string)) (src rowSource, client *kafka.Client, err error) {
	if f.topic != "" || f.kafka.bootstrap != "" || f.kafka.commandConfig != "" {
		if client, err = f.kafka.open(ctx, warn); err != nil {
			return nil, nil, err
		}
	}
	o, err := f.options(store)
	if err != nil {
		return nil, client, err
	}
	if f.topic == "" {
		r, err := inspect.OpenRows(ctx, o)
		return r, client, err
	}
	t, err := inspect.OpenTopicRows(ctx, client, inspect.TopicRowsOptions{
		Topic: f.topic, Partitions: f.partition, Kind: o.Kind, WindowSize: o.WindowSize, Key: o.Key, ForeignKey: o.ForeignKey, Value: o.Value,
		Memory: int64(f.memory), StallTimeout: time.Minute,
	}, sink)
	return t, client, err
}
