//go:build cgo

package rocks

// #define _GNU_SOURCE
// #include <dlfcn.h>
// #include <stddef.h>
//
// // The C API does not say which RocksDB it is; the JNI library that sstool is
// // linked against does, as major<<16 | minor<<8 | patch (rocksjni.cc, unused
// // arguments). A RocksDB of the user's own has no such function.
// static int jni_version(void) {
//   int (*f)(void*, void*) = (int (*)(void*, void*))dlsym(RTLD_DEFAULT, "Java_org_rocksdb_RocksDB_version");
//   return f ? f(NULL, NULL) : 0;
// }
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Version is the version of the RocksDB that is linked, "" when it cannot be
// told.
func Version() string {
	if v := int(C.jni_version()); v != 0 {
		return fmt.Sprintf("%d.%d.%d", v>>16, v>>8&0xff, v&0xff)
	}
	return versionFromOptions()
}

// versionFromOptions lets RocksDB write down its version: it heads every
// OPTIONS file.
func versionFromOptions() string {
	dir, err := os.MkdirTemp("", "sstool-version-")
	if err != nil {
		return ""
	}
	defer os.RemoveAll(dir)
	db, err := Create(dir, Options{Bulk: true})
	if err != nil {
		return ""
	}
	db.Close()
	files, _ := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		if _, rest, ok := strings.Cut(string(data), "rocksdb_version="); ok {
			v, _, _ := strings.Cut(rest, "\n")
			return strings.TrimSpace(v)
		}
	}
	return ""
}
