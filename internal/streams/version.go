package streams

import (
	"fmt"
	"strconv"
	"strings"

	"sstool/internal/op"
)

// Version is a release of Kafka, as far as formats care.
type Version struct{ Major, Minor, Patch int }

// The releases a store can be written for.
var (
	OldestTarget = Version{3, 0, 0}
	NewestTarget = Version{4, 4, 0}
)

// ParseVersion reads "4.4" or "4.2.1". A suffix such as "-SNAPSHOT" or "-rc1"
// is dropped: it does not change a format.
func ParseVersion(s string) (Version, error) {
	bad := func() (Version, error) {
		return Version{}, op.Errorf(op.Usage, "not a Kafka version: %q", s).WithTry("write it as 4.4 or 4.2.1")
	}
	num, _, _ := strings.Cut(strings.TrimSpace(s), "-")
	parts := strings.Split(num, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return bad()
	}
	var n [3]int
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return bad()
		}
		n[i] = int(v)
	}
	return Version{n[0], n[1], n[2]}, nil
}

// String is "4.2.1"; a patch of 0 is written too.
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// IsZero reports whether no version is stated.
func (v Version) IsZero() bool { return v == Version{} }

// Less orders versions.
func (v Version) Less(o Version) bool {
	if v.Major != o.Major {
		return v.Major < o.Major
	}
	if v.Minor != o.Minor {
		return v.Minor < o.Minor
	}
	return v.Patch < o.Patch
}

// AtLeast reports v >= o.
func (v Version) AtLeast(o Version) bool { return !v.Less(o) }

// CheckTarget says whether stores can be written for v.
func (v Version) CheckTarget() error {
	if v.Less(OldestTarget) || v.Major > NewestTarget.Major || v.Major == NewestTarget.Major && v.Minor > NewestTarget.Minor {
		return op.Errorf(op.Usage, "Kafka %s is not a supported target", v).
			WithTry("use a version from %d.%d to %d.%d", OldestTarget.Major, OldestTarget.Minor, NewestTarget.Major, NewestTarget.Minor)
	}
	return nil
}

// OffsetsInStore reports whether v keeps offsets in the "offsets" column
// family of every database instead of a .checkpoint file (KIP-1035).
func OffsetsInStore(v Version) bool { return v.AtLeast(Version{4, 3, 0}) }

// WindowedProbes is how many offsets before the end v looks at, one after the
// other until it meets a record, for the timestamp that decides where the
// restore of a windowed store without a stored offset begins (KAFKA-13499, see
// RestoreStartTime). None: it begins at the log start.
//
// 4.4 looks at the last offset alone, which under exactly-once is a transaction
// marker. 4.2.2 (not 4.3) takes the newest of the last 128, 512 or 2048 and is
// not stopped by markers.
func WindowedProbes(v Version, eos bool) []int64 {
	switch {
	case v.AtLeast(Version{4, 4, 0}):
		if eos {
			return nil
		}
		return []int64{1}
	case v.AtLeast(Version{4, 2, 2}) && v.Less(Version{4, 3, 0}):
		return []int64{128, 512, 2048}
	}
	return nil
}

// SSTFormat is the RocksDB format_version to write for v. 5 is read by the
// RocksDB of every supported release; 6 is refused by all before 4.0.
func (v Version) SSTFormat() int { return 5 }
