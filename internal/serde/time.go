package serde

import "strconv"

// Time is a time in milliseconds since 1970, as Kafka counts.
type Time int64

const (
	secondMs = 1000
	dayMs    = 24 * 60 * 60 * secondMs
)

// inCalendar says whether the time is of the years 1 to 9999.
func (t Time) inCalendar() bool { return t >= -62135596800000 && t <= 253402300799999 }

// String is RFC 3339 in UTC with milliseconds; a time that no calendar has is
// the number.
func (t Time) String() string { return string(t.AppendText(nil)) }

// AppendJSON appends the time as a JSON string.
func (t Time) AppendJSON(dst []byte) []byte { return append(t.AppendText(append(dst, '"')), '"') }

// AppendText appends what String returns.
func (t Time) AppendText(dst []byte) []byte {
	if !t.inCalendar() {
		return strconv.AppendInt(dst, int64(t), 10)
	}
	// Days are counted from the first of March of the year 0, so that the day
	// that leap years have more is a year's last one
	// (howardhinnant.github.io/date_algorithms.html, civil_from_days).
	const toEpoch, era = 719468, 146097 // days until 1970; days of 400 years
	sinceMarch := uint64(int64(t) + toEpoch*dayMs)
	day, ms := uint32(sinceMarch/dayMs), uint32(sinceMarch%dayMs)
	eras, ofEra := day/era, day%era
	year := (ofEra - ofEra/1460 + ofEra/36524 - ofEra/(era-1)) / 365
	ofYear := ofEra - (365*year + year/4 - year/100)
	month := (5*ofYear + 2) / 153 // 0 is March
	ofMonth := ofYear - (153*month+2)/5 + 1
	year += 400 * eras
	if month += 3; month > 12 {
		month, year = month-12, year+1
	}
	s := ms / secondMs
	dst = append(dst, "0000-00-00T00:00:00.000Z"...)
	out := (*[24]byte)(dst[len(dst)-24:])
	twoDigits(out[0:], year/100)
	twoDigits(out[2:], year%100)
	twoDigits(out[5:], month)
	twoDigits(out[8:], ofMonth)
	twoDigits(out[11:], s/3600)
	twoDigits(out[14:], s/60%60)
	twoDigits(out[17:], s%60)
	twoDigits(out[20:], ms%secondMs/10)
	out[22] = byte('0' + ms%10)
	return dst
}

func twoDigits(dst []byte, n uint32) { dst[0], dst[1] = byte('0'+n/10), byte('0'+n%10) }
