package inspect

import (
	"os"
	"path/filepath"
	"time"

	"sstool/internal/lsm"
	"sstool/internal/streams"
)

// openDatabase is lsm.OpenDB for databases that an application may be making or
// removing: RocksDB writes OPTIONS last, and Kafka Streams deletes an expired
// segment file by file. For that moment it looks damaged, so it is looked at
// again until it is whole or gone.
func openDatabase(dir string) (*lsm.DB, error) {
	for try := 1; ; try++ {
		db, err := lsm.OpenDB(dir)
		if err != nil || whole(db) {
			return db, err
		}
		if _, serr := os.Stat(dir); os.IsNotExist(serr) {
			continue // gone by now
		}
		if !again(dir, try) {
			return db, nil
		}
	}
}

// whole says whether a database has all that RocksDB makes when it opens it:
// OPTIONS is written anew after each new column family.
func whole(db *lsm.DB) bool {
	if db.Version == nil || db.Options == nil || len(db.Missing) > 0 || db.Version.Torn && len(db.Orphans) > 0 {
		return false
	}
	for _, p := range db.Problems {
		if p.File == "CURRENT" || p.File == db.Version.Manifest {
			return false
		}
	}
	for _, f := range db.Version.Families {
		if _, ok := db.Options.Family(f.Name); !ok {
			return false
		}
	}
	return true
}

// How long and how often again waits.
const (
	settleTries = 40
	settlePause = 50 * time.Millisecond
	settleAge   = 10 * time.Second
)

// again waits a moment and says true when something that is wrong with a
// database may be the work of an application that runs: its files changed
// lately, and somebody holds the application's lock. try counts from 1.
func again(dir string, try int) bool {
	st, err := os.Stat(dir)
	if err != nil || try > settleTries || time.Since(st.ModTime()) > settleAge || !running(dir) {
		return false
	}
	time.Sleep(settlePause)
	return true
}

// running says whether somebody has the application open that a database lies
// in, as far as can be told.
func running(dir string) bool {
	app := filepath.Join(dir, "..", "..", "..") // <task>/rocksdb/<store> or <task>/<store>/<segment>
	for range 2 {
		lock := filepath.Join(app, streams.LockFile)
		if _, err := os.Stat(lock); err == nil {
			held := LockHolder(lock).Held
			return held == nil || *held
		}
		app = filepath.Dir(app) // of a named topology
	}
	return false
}

// removed says whether an application removes the database: waiting shows.
func removed(dir string) bool {
	for try := 1; ; try++ {
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			return true
		}
		if !again(dir, try) {
			return false
		}
	}
}
