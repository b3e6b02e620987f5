package inspect

import (
	"sync/atomic"
	"time"

	"sstool/internal/op"
)

// fileMeter counts what is done and tells the sink ten times a second.
type fileMeter struct {
	sink        op.Sink
	unit        string
	total       int64
	done, bytes atomic.Int64
	throttle    op.Throttle
}

func newFileMeter(sink op.Sink, unit string, total int64) *fileMeter {
	return &fileMeter{sink: sink, unit: unit, total: total}
}

func (m *fileMeter) add(n, bytes int64) {
	done, all := m.done.Add(n), m.bytes.Add(bytes)
	if m.sink != nil && m.throttle.Ready(time.Now()) {
		m.sink.Emit(op.Event{Type: op.Progress, Done: done, Total: m.total, Unit: m.unit, Bytes: all})
	}
}
