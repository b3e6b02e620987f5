package inspect

import (
	"path/filepath"
	"strconv"
	"strings"

	"sstool/internal/lsm"
)

// writtenBy tells the version of RocksDB that wrote a file. No file names it:
// but a database writes an OPTIONS file with its version whenever it is opened,
// and file numbers only grow, so a file with a larger number than the newest
// OPTIONS file comes from that version. For others the properties narrow it
// down.
func writtenBy(i lsm.TableInfo, db *lsm.DB) string {
	if db.Options == nil || i.External {
		return i.WrittenBy
	}
	number, err := strconv.ParseUint(strings.TrimPrefix(filepath.Base(db.Options.File), "OPTIONS-"), 10, 64)
	if err != nil || i.FileNumber <= number || i.DBID != "" && db.Identity != "" && i.DBID != db.Identity {
		return i.WrittenBy
	}
	return db.Options.RocksDBVersion
}
