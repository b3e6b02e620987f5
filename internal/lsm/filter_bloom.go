package lsm

import (
	"encoding/binary"
	"math/bits"
)

// mayContain asks the filter; true when it cannot be asked.
func (f *filterBits) mayContain(key []byte) bool {
	switch {
	case f.kind == "empty":
		return false
	case f.kind == "bloom" && len(f.data) >= 64:
		return f.fastLocal(xxph3(key))
	case f.kind == "legacy bloom":
		return f.legacy(bloomHash(key))
	}
	return true
}

// fastLocal is util/bloom_impl.h:FastLocalBloomImpl: all probes lie in one
// line of 64 bytes, which the lower half of the hash picks.
func (f *filterBits) fastLocal(hash uint64) bool {
	lines := uint64(len(f.data) >> 6)
	at := (hash & 0xffffffff * lines) >> 32 << 6
	line := f.data[at : at+64]
	h := uint32(hash >> 32)
	for range f.probes {
		bit := h >> (32 - 9)
		if line[bit>>3]&(1<<(bit&7)) == 0 {
			return false
		}
		h *= 0x9e3779b9
	}
	return true
}

// legacy is util/bloom_impl.h:LegacyLocalityBloomImpl<false>, of format
// versions below 5. Lines are as long as the cache lines of the machine that
// wrote the file.
func (f *filterBits) legacy(h uint32) bool {
	n := uint64(len(f.data))
	lines := uint64(f.lines)
	if lines == 0 || n%lines != 0 || n/lines&(n/lines-1) != 0 {
		return true // invalid, as RocksDB says
	}
	size := n / lines
	at := uint64(h) % lines * size
	line := f.data[at : at+size]
	delta := h>>17 | h<<15
	for range f.probes {
		bit := uint64(h) & (size*8 - 1)
		if line[bit>>3]&(1<<(bit&7)) == 0 {
			return false
		}
		h += delta
	}
	return true
}

// bloomHash is util/hash.cc:Hash with the seed of legacy Bloom filters; bytes
// left over are added as signed numbers.
func bloomHash(b []byte) uint32 {
	const m, seed = 0xc6a4a793, 0xbc9f1d34
	h := uint32(seed) ^ uint32(len(b))*m
	for ; len(b) >= 4; b = b[4:] {
		h += binary.LittleEndian.Uint32(b)
		h *= m
		h ^= h >> 16
	}
	if len(b) == 0 {
		return h
	}
	for i := len(b) - 1; i >= 0; i-- {
		h += uint32(int8(b[i])) << (8 * i)
	}
	h *= m
	return h ^ h>>24
}

// The primes of xxHash.
const (
	prime32x1 = 0x9e3779b1
	prime32x2 = 0x85ebca77
	prime32x3 = 0xc2b2ae3d
	prime64x1 = 0x9e3779b185ebca87
	prime64x2 = 0xc2b2ae3d27d4eb4f
	prime64x3 = 0x165667b19e3779f9
	prime64x4 = 0x85ebca77c2b2ae63
	prime64x5 = 0x27d4eb2f165667c5
)

// xxph3Secret is kSecret of util/xxph3.h.
const xxph3Secret = "" +
	"\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe\x7c\x01\x81\x2c\xf7\x21\xad\x1c\xde\xd4\x6d\xe9\x83\x90\x97\xdb\x72\x40\xa4\xa4\xb7\xb3\x67\x1f" +
	"\xcb\x79\xe6\x4e\xcc\xc0\xe5\x78\x82\x5a\xd0\x7d\xcc\xff\x72\x21\xb8\x08\x46\x74\xf7\x43\x24\x8e\xe0\x35\x90\xe6\x81\x3a\x26\x4c" +
	"\x3c\x28\x52\xbb\x91\xc3\x00\xcb\x88\xd0\x65\x8b\x1b\x53\x2e\xa3\x71\x64\x48\x97\xa2\x0d\xf9\x4e\x38\x19\xef\x46\xa9\xde\xac\xd8" +
	"\xa8\xfa\x76\x3f\xe3\x9c\x34\x3f\xf9\xdc\xbb\xc7\xc7\x0b\x4f\x1d\x8a\x51\xe0\x4b\xcd\xb4\x59\x31\xc8\x9f\x7e\xc9\xd9\x78\x73\x64" +
	"\xea\xc5\xac\x83\x34\xd3\xeb\xc3\xc5\x81\xa0\xff\xfa\x13\x63\xeb\x17\x0d\xdd\x51\xb7\xf0\xda\x49\xd3\x16\x55\x26\x29\xd4\x68\x9e" +
	"\x2b\x16\xbe\x58\x7d\x47\xa1\xfc\x8f\xf8\xb8\xd1\x7a\xd0\x31\xce\x45\xcb\x3a\x8f\x95\x16\x04\x28\xaf\xd7\xfb\xca\xbb\x4b\x40\x7e"

// xxph3 is util/xxph3.h:XXPH3_64bits, the preview of XXH3 that filters are
// built with. It differs from what XXH3 became, so no module has it.
func xxph3(b []byte) uint64 {
	n := len(b)
	switch {
	case n == 0:
		return fold(secret64(0), prime64x2)
	case n <= 3:
		c := uint32(b[0]) | uint32(b[n>>1])<<8 | uint32(b[n-1])<<16 | uint32(n)<<24
		return avalanche((uint64(c) ^ uint64(uint32(secret64(0)))) * prime64x1)
	case n <= 8:
		keyed := (uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<32) ^ secret64(0)
		mix := uint64(n) + (keyed^keyed>>51)*prime32x1
		return avalanche((mix ^ mix>>47) * prime64x2)
	case n <= 16:
		lo := binary.LittleEndian.Uint64(b) ^ secret64(0)
		hi := binary.LittleEndian.Uint64(b[n-8:]) ^ secret64(8)
		return avalanche(uint64(n) + lo + hi + fold(lo, hi))
	case n <= 128:
		acc := uint64(n) * prime64x1
		for i := (n - 1) / 32; i >= 0; i-- {
			acc += mix16(b[16*i:], 32*i) + mix16(b[n-16*(i+1):], 32*i+16)
		}
		return avalanche(acc)
	case n <= 240:
		acc := uint64(n) * prime64x1
		for i := range 8 {
			acc += mix16(b[16*i:], 16*i)
		}
		acc = avalanche(acc)
		for i := 8; i < n/16; i++ {
			acc += mix16(b[16*i:], 16*(i-8)+3)
		}
		return avalanche(acc + mix16(b[n-16:], 136-17))
	}
	return xxph3Long(b)
}

// xxph3Long hashes more than 240 bytes: stripes of 64 bytes into eight lanes,
// which are scrambled after every 16 stripes.
func xxph3Long(b []byte) uint64 {
	const stripe, rounds = 64, (len(xxph3Secret) - 64) / 8
	acc := [8]uint64{prime32x3, prime64x1, prime64x2, prime64x3, prime64x4, prime32x2, prime64x5, prime32x1}
	add := func(in []byte, secret int) {
		for i := range acc {
			v := binary.LittleEndian.Uint64(in[8*i:])
			k := v ^ secret64(secret+8*i)
			acc[i] += v + k&0xffffffff*(k>>32)
		}
	}
	blocks := len(b) / (stripe * rounds)
	for i := range len(b) / stripe {
		add(b[stripe*i:], 8*(i%rounds))
		if i%rounds == rounds-1 && i/rounds < blocks {
			for j := range acc {
				acc[j] = (acc[j] ^ acc[j]>>47 ^ secret64(len(xxph3Secret)-stripe+8*j)) * prime32x1
			}
		}
	}
	if len(b)%stripe != 0 {
		add(b[len(b)-stripe:], len(xxph3Secret)-stripe-7)
	}
	h := uint64(len(b)) * prime64x1
	for i := 0; i < 8; i += 2 {
		h += fold(acc[i]^secret64(11+8*i), acc[i+1]^secret64(11+8*i+8))
	}
	return avalanche(h)
}

func secret64(i int) uint64 { return binary.LittleEndian.Uint64([]byte(xxph3Secret[i : i+8])) }

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func mix16(b []byte, secret int) uint64 {
	return fold(binary.LittleEndian.Uint64(b)^secret64(secret), binary.LittleEndian.Uint64(b[8:])^secret64(secret+8))
}

func avalanche(h uint64) uint64 {
	h ^= h >> 37
	h *= prime64x3
	return h ^ h>>32
}
