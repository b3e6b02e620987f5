package snapshots

import (
	"sync/atomic"
	"time"

	"sstool/internal/op"
)

// meter tells of bytes read.
type meter struct {
	sink     op.Sink
	total    int64
	done     atomic.Int64
	throttle op.Throttle
}

func (m *meter) Write(p []byte) (int, error) {
	done := m.done.Add(int64(len(p)))
	if m.sink != nil && m.throttle.Ready(time.Now()) {
		m.sink.Emit(op.Event{Type: op.Progress, Done: done >> 20, Total: max(m.total>>20, 1), Unit: "MiB", Bytes: done})
	}
	return len(p), nil
}
