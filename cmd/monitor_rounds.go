package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sstool/inspect/monitor"
	"sstool/internal/op"
)

// monitorRounds looks as often as the flags say, and shows what it sees: each
// time with --watch, else once, at the end.
func (a *app) monitorRounds(ctx context.Context, f *monitorFlags, m *monitor.Monitor, o monitor.Options) (*monitor.Result, error) {
	show := a.startProgress(f.progress)
	defer show.close()
	rounds := 1
	if f.duration != 0 {
		rounds = 1 + int((time.Duration(f.duration)+time.Duration(f.every)-1)/time.Duration(f.every))
	}
	every := time.NewTicker(time.Duration(f.every))
	defer every.Stop()
	for n := 1; ; n++ {
		err := m.Scrape(ctx)
		last := !f.watch && n == rounds || f.watch && f.duration != 0 && n == rounds
		// An endpoint that is away for a moment is told, and asked again.
		if err != nil && (n == 1 || last || ctx.Err() != nil) {
			return nil, err
		}
		var res *monitor.Result
		if err != nil {
			show.warn(err.Error())
		} else if f.watch || last {
			if res, err = m.Evaluate(o); err != nil {
				return nil, err
			}
			show.flush()
			if err := a.showMonitor(f, res); err != nil {
				return nil, err
			}
		}
		if last {
			return res, nil
		}
		m.History.Trim(o.Thresholds.Longest() * 11 / 10)
		if !f.watch {
			show.sink(op.Event{Type: op.Progress, Name: "looking", Done: int64(n), Total: int64(rounds), Unit: "times"})
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("monitor: %w", ctx.Err())
		}
	}
}

// showMonitor writes a result in the form that was asked for.
func (a *app) showMonitor(f *monitorFlags, res *monitor.Result) error {
	const kind = "inspect.monitor"
	if f.out.value == formatJSONL {
		return emitLines(a, kind, []*monitor.Result{res})
	}
	if f.watch && f.out.value == formatTable {
		if err := a.nextPage(); err != nil {
			return err
		}
	}
	return emit(a, f.out, kind, res, func(w *tableWriter, r *monitor.Result) { renderMonitor(w, r, f.all) })
}

// nextPage clears the screen, of a terminal; in a file pages follow each other.
func (a *app) nextPage() error {
	text := "\n"
	if a.io.fancy() {
		text = "\x1b[H\x1b[2J"
	}
	_, err := fmt.Fprint(a.io.Out, text)
	return errors.Join(err)
}
