package streams

import "time"

// RestoreStartTime is the timestamp from which Kafka Streams >= 4.4 restores a
// windowed store without a stored offset.
func RestoreStartTime(lastRecordTimestamp int64, retention time.Duration) int64 {
	return lastRecordTimestamp - retention.Milliseconds()
}
