package kafka

import "fmt"

// ReadEventKind says what happened to a reader.
type ReadEventKind string

// What a reader reports while it goes on.
const (
	ReadRetry       ReadEventKind = "retry"            // a request failed and is sent again
	ReadLeaderMoved ReadEventKind = "leader-moved"     // another broker leads the partition now
	ReadSmaller     ReadEventKind = "smaller-fetch"    // a response did not arrive in time: ask for less
	ReadLarger      ReadEventKind = "larger-fetch"     // a batch did not fit: ask for more
	ReadOpenTxn     ReadEventKind = "open-transaction" // the last stable offset is before the end
	ReadEndGap      ReadEventKind = "gap"              // compaction removed everything up to Next
	ReadThrottled   ReadEventKind = "throttled"        // the broker enforces a quota
)

// ReadEvent is something a reader met and dealt with, or waits for.
type ReadEvent struct {
	Kind      ReadEventKind
	Topic     string
	Partition int32
	Position  int64
	Message   string // for people
	Err       error  // the cause; may be nil
}

// String is the event for people.
func (e ReadEvent) String() string {
	return fmt.Sprintf("%s-%d at offset %d: %s", e.Topic, e.Partition, e.Position, e.cause())
}

// Text is String without the topic-partition, for where that is named already.
func (e ReadEvent) Text() string { return fmt.Sprintf("at offset %d: %s", e.Position, e.cause()) }

func (e ReadEvent) cause() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

func (r *PartitionReader) event(kind ReadEventKind, err error, format string, args ...any) {
	if r.o.OnEvent != nil {
		r.o.OnEvent(ReadEvent{Kind: kind, Topic: r.o.Topic, Partition: r.o.Partition, Position: r.pos,
			Message: fmt.Sprintf(format, args...), Err: err})
	}
}
