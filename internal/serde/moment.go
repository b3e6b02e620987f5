package serde

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// secondsBelow is where numbers stop being seconds: 1e11 seconds are the year
// 5138, 1e11 milliseconds March 1973.
const secondsBelow = 1e11

// Moment reads a decoded value, or the result of a query, as a point in time:
// seconds or milliseconds since 1970 (numbers from 1e11 on are milliseconds),
// RFC 3339, or a date, which is its first moment in UTC. ok is false for
// anything else. A negative number is returned as it is: it is a time before
// 1970, or the -1 that stands for none.
func Moment(v any) (ms int64, ok bool) {
	switch v := v.(type) {
	case Time:
		return int64(v), true
	case int:
		return momentInt(int64(v)), true
	case int64:
		return momentInt(v), true
	case float32:
		return momentFloat(float64(v))
	case float64:
		return momentFloat(v)
	case *big.Int:
		if v.IsInt64() {
			return momentInt(v.Int64()), true
		}
	case json.Number:
		return momentText(v.String())
	case RawJSON:
		if p, err := Plain(v); err == nil {
			if _, raw := p.(RawJSON); !raw {
				return Moment(p)
			}
		}
	case string:
		return momentText(strings.TrimSpace(v))
	}
	return 0, false
}

func momentInt(n int64) int64 {
	if n >= 0 && n < secondsBelow {
		return n * 1000
	}
	return n
}

func momentFloat(f float64) (int64, bool) {
	if f >= 0 && f < secondsBelow {
		f *= 1000
	}
	if math.IsNaN(f) || f >= math.MaxInt64 || f <= math.MinInt64 {
		return 0, false
	}
	return int64(f), true
}

func momentText(s string) (int64, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return momentInt(n), true
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UnixMilli(), true
		}
	}
	if strings.ContainsAny(s, "0123456789") && !strings.ContainsAny(s, "xX_pP") { // no hexadecimal, no inf, no nan
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return momentFloat(f)
		}
	}
	return 0, false
}
