package main

import (
	"fmt"
	"runtime"
)

// The RocksDB that Kafka Streams itself loads comes inside this artifact; the
// shared library exports the C API beside the JNI functions.
const (
	rocksGroup    = "org.rocksdb"
	rocksArtifact = "rocksdbjni"
	rocksVersion  = "10.10.1"
)

// pin says which file of which jar belongs to a platform, and what both must
// hash to. The hashes were taken from Maven Central; nothing else is accepted.
type pin struct {
	classifier string
	jarSHA256  string
	file       string
	fileSHA256 string
}

const (
	linuxJar = "fda4a26cd4ea229636c5379ed41d827ce119a99c404fab94d9f863783c9ccb18"
	osxJar   = "68544a8c90c2384dd80f6b0aab547a144232fcd64e19019c0f21ac6171baf75e"
)

func pins() map[string]pin {
	return map[string]pin{
		"linux/amd64":  {"linux64", linuxJar, "librocksdbjni-linux64.so", "14750307fe12f75bd400ed8156dfb737a7a7229ffe4c8b8bbe218e754dbe14b2"},
		"linux/arm64":  {"linux64", linuxJar, "librocksdbjni-linux-aarch64.so", "e0db26142ff22a330f197cb8673fb78e64378fe5e8f17f62e0e1882522b4293c"},
		"darwin/amd64": {"osx", osxJar, "librocksdbjni-osx-x86_64.jnilib", "40d2ab2bb007a6d1708665b579455f60360a7211800ba2ca20bbea579b89bc9f"},
		"darwin/arm64": {"osx", osxJar, "librocksdbjni-osx-arm64.jnilib", "f03e748cbf3da07cff3b6833b14a6b58df726713a97f68bba15c2db11c166835"},
	}
}

// pinFor is the pin of a platform.
func pinFor(goos, goarch string) (pin, error) {
	p, ok := pins()[goos+"/"+goarch]
	if !ok {
		return pin{}, fmt.Errorf("there is no prebuilt RocksDB for %s/%s: install RocksDB %s and set ROCKSDB_DIR to the folder with its include/ and lib/", goos, goarch, rocksVersion)
	}
	return p, nil
}

// libraryName is the file name that -lrocksdb looks for.
func libraryName() string {
	if runtime.GOOS == "darwin" {
		return "librocksdb.dylib"
	}
	return "librocksdb.so"
}
