//go:build cgo

package rocks

// Checkpoint makes a copy of the store in dir, which must not exist: hard links
// of its SST files when it is on the same file system. What was written before is
// in it.
func (d *DB) Checkpoint(dir string) error {
	if err := d.use(); err != nil {
		return err
	}
	defer d.mu.RUnlock()
	what := "make a checkpoint of RocksDB " + d.dir
	c, err := d.db.NewCheckpoint()
	if err != nil {
		return wrap(err, what, dir)
	}
	defer c.Destroy()
	return wrap(c.CreateCheckpoint(dir, 0), what, dir) // 0: memtables are flushed first
}
