//go:build cgo

package rocks

import _ "github.com/linxGnu/grocksdb"
