// Package rocks is the only cgo in sstool: it writes and opens RocksDB stores
// with the options Kafka Streams uses, and writes sorted SST files. It owns
// every native handle and frees it in Close.
//
// It knows nothing of stores' keys and values (internal/streams) and is not
// how stores are read (internal/lsm, which needs no cgo). Without cgo every
// function here returns an error that says so.
package rocks
