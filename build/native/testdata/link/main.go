// Command link is the smallest program that needs RocksDB: it calls the C API
// once and prints which file the library was loaded from. A test builds it
// with ROCKSDB_DIR; it is outside ./... because of its folder.
package main

// #define _GNU_SOURCE
// #include <dlfcn.h>
// #include "rocksdb/c.h"
//
// static const char* loaded_from(void) {
//   Dl_info info;
//   rocksdb_options_destroy(rocksdb_options_create());
//   return dladdr((void*)rocksdb_options_create, &info) ? info.dli_fname : "";
// }
import "C"

import "fmt"

func main() { fmt.Println(C.GoString(C.loaded_from())) }
