package demo

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"sstool/internal/kafkatest"
)

const (
	dedupRetention   = 2 * time.Hour
	countRetention   = 48 * time.Hour
	sessionRetention = 6 * time.Hour
	priceHistory     = 7 * 24 * time.Hour
)

// series yields n records whose times run evenly over span up to now; make
// fills in partition, key and value, and may yield further records first.
func series(n int64, now time.Time, span time.Duration, seed uint64, make func(i int64, rng *rand.Rand, r *kafkatest.Record, yield func(*kafkatest.Record) bool) bool) iter.Seq[*kafkatest.Record] {
	return func(yield func(*kafkatest.Record) bool) {
		rng := rand.New(rand.NewPCG(seed, 1))
		start := now.Add(-span).UnixMilli()
		var r kafkatest.Record
		for i := range n {
			r = kafkatest.Record{Key: r.Key[:0], Value: r.Value[:0], Timestamp: start + int64(float64(i)/float64(n)*float64(span.Milliseconds()))}
			if !make(i, rng, &r, yield) || !yield(&r) {
				return
			}
		}
	}
}

// totals are running totals per account: a quarter as many accounts as records,
// every twentieth record closes an account.
func totals(n int64, now time.Time) iter.Seq[*kafkatest.Record] {
	accounts := max(1, n/4)
	return series(n, now, 72*time.Hour, 11, func(i int64, rng *rand.Rand, r *kafkatest.Record, _ func(*kafkatest.Record) bool) bool {
		a := rng.Int64N(accounts)
		r.Partition = int32(a % 4)
		r.Key = fmt.Appendf(r.Key, "account-%08d", a)
		if rng.IntN(20) == 0 {
			r.Value = nil
			return true
		}
		r.Value = fmt.Appendf(r.Value, `{"account":"account-%08d","payments":%d,"total":%d.%02d,"currency":"EUR"}`,
			a, 1+rng.IntN(500), rng.IntN(100_000), rng.IntN(100))
		return true
	})
}

// windowKey appends key | window start | sequence number, the key of a window
// store's changelog (WindowKeySchema.toStoreKeyBinary).
func windowKey(dst []byte, key string, start int64) []byte {
	dst = append(dst, key...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(start))
	return append(dst, 0, 0, 0, 0)
}

// sessionKey appends key | end | start (SessionKeySchema.toBinary).
func sessionKey(dst []byte, key string, end, start int64) []byte {
	dst = append(dst, key...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(end))
	return binary.BigEndian.AppendUint64(dst, uint64(start))
}

// dedup remembers order ids for two hours; the records span eight, so that most
// of them have expired.
func dedup(n int64, now time.Time) iter.Seq[*kafkatest.Record] {
	return series(n, now, 8*time.Hour, 12, func(i int64, rng *rand.Rand, r *kafkatest.Record, _ func(*kafkatest.Record) bool) bool {
		r.Partition = int32(i % 2)
		r.Key = windowKey(r.Key, fmt.Sprintf("order-%016x", rng.Uint64()), r.Timestamp)
		r.Value = binary.BigEndian.AppendUint64(r.Value, uint64(r.Timestamp))
		return true
	})
}

// counts are payments per merchant and hour, each window updated many times.
func counts(n int64, now time.Time) iter.Seq[*kafkatest.Record] {
	hour := time.Hour.Milliseconds()
	return series(n, now, 36*time.Hour, 13, func(i int64, rng *rand.Rand, r *kafkatest.Record, _ func(*kafkatest.Record) bool) bool {
		m := rng.IntN(1000)
		r.Partition = int32(m % 2)
		r.Key = windowKey(r.Key, fmt.Sprintf("merchant-%04d", m), r.Timestamp/hour*hour)
		r.Value = binary.BigEndian.AppendUint64(r.Value, uint64(1+i/1000))
		return true
	})
}

// sessions grow: the row under the old end is deleted, the one under the new
// end written.
func sessions(n int64, now time.Time) iter.Seq[*kafkatest.Record] {
	type session struct{ start, end int64 }
	open := map[int]session{}
	var old kafkatest.Record
	return series((n+1)/2, now, 12*time.Hour, 14, func(i int64, rng *rand.Rand, r *kafkatest.Record, yield func(*kafkatest.Record) bool) bool {
		c := rng.IntN(5000)
		r.Partition = int32(c % 2)
		key := fmt.Sprintf("customer-%05d", c)
		s, ok := open[c]
		if ok && r.Timestamp-s.end < (30*time.Minute).Milliseconds() {
			old = kafkatest.Record{Partition: r.Partition, Timestamp: r.Timestamp, Key: sessionKey(old.Key[:0], key, s.end, s.start)}
			s.end = r.Timestamp
			if !yield(&old) {
				return false
			}
		} else {
			s = session{r.Timestamp, r.Timestamp}
		}
		open[c] = s
		r.Key = sessionKey(r.Key, key, s.end, s.start)
		r.Value = binary.BigEndian.AppendUint64(r.Value, uint64(1+rng.IntN(40)))
		return true
	})
}

// prices change; every fiftieth is withdrawn. Their history is kept.
func prices(n int64, now time.Time) iter.Seq[*kafkatest.Record] {
	return series(n, now, 10*24*time.Hour, 15, func(i int64, rng *rand.Rand, r *kafkatest.Record, _ func(*kafkatest.Record) bool) bool {
		p := rng.IntN(4000)
		r.Partition = int32(p % 2)
		r.Key = fmt.Appendf(r.Key, "product-%05d", p)
		if rng.IntN(50) == 0 {
			r.Value = nil
			return true
		}
		r.Value = fmt.Appendf(r.Value, "%d.%02d EUR", rng.IntN(1000), rng.IntN(100))
		return true
	})
}
