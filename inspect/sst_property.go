package inspect

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"sstool/internal/lsm"
)

// Property is one raw property of an SST file.
type Property struct {
	Name  string `json:"name"`
	Value string `json:"value"` // number or text where RocksDB writes that, else 0x…
	Hex   string `json:"hex"`
}

// propertiesOf lists all properties of a file by name.
func propertiesOf(p lsm.Properties) []Property {
	out := make([]Property, 0, len(p))
	for _, name := range slices.Sorted(maps.Keys(p)) {
		out = append(out, Property{name, propertyText(name, p[name]), hex.EncodeToString(p[name])})
	}
	return out
}

// propertyText shows a value as table/table_properties.cc and
// meta_blocks.cc:AddTableProperty write it.
func propertyText(name string, b []byte) string {
	short, rocks := strings.CutPrefix(name, "rocksdb.")
	switch {
	case !rocks:
	case isTextProperty(short):
		return rawProperty(b)
	case len(b) == 4 && (short == "block.based.table.index.type" || short == "external_sst_file.version"):
		return strconv.FormatUint(uint64(binary.LittleEndian.Uint32(b)), 10)
	case len(b) == 8 && short == "external_sst_file.global_seqno":
		return strconv.FormatUint(binary.LittleEndian.Uint64(b), 10)
	case strings.HasPrefix(short, "block.based.table."): // flags: ASCII 0 and 1
		return rawProperty(b)
	default:
		if n, size := binary.Uvarint(b); size == len(b) && size > 0 {
			return strconv.FormatUint(n, 10)
		}
	}
	return rawProperty(b)
}

// isTextProperty says whether RocksDB writes text for this property.
func isTextProperty(short string) bool {
	switch short {
	case "creating.db.identity", "creating.session.identity", "creating.host.identity", "filter.policy", "comparator",
		"merge.operator", "prefix.extractor.name", "property.collectors", "column.family.name", "compression",
		"compression_options", "compression.name":
		return true
	}
	return false
}

func rawProperty(b []byte) string {
	if utf8.Valid(b) && !strings.ContainsFunc(string(b), func(r rune) bool { return !unicode.IsPrint(r) }) {
		return string(b)
	}
	return fmt.Sprintf("0x%x", b)
}
