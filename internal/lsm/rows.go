package lsm

// Rows calls fn with every row of one column family in key order, as RocksDB
// would show them: the newest entry per key, without what was deleted by key
// or by range. Key and value are valid during the call only; an error of fn
// ends the iteration and is returned.
//
// It reads what is on disk: rows in the memtables of a running application are
// not there yet. A family that does not exist is op.NotFound.
func Rows(dir, family string, fn func(key, value []byte) error) error {
	v, err := ReadManifest(dir)
	if err != nil {
		return err
	}
	d := &DB{Dir: dir, Version: &v}
	it, err := d.Iter(family, IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		if err := fn(it.cur.Key, it.cur.Value); err != nil {
			return err
		}
	}
	return it.err
}
