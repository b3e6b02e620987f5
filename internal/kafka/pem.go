package kafka

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"hash"
)

// pemBlocks calls fn for every PEM block. A value of a properties file may
// have lost its line breaks; Java's DefaultSslEngineFactory accepts that.
func pemBlocks(raw []byte, fn func(*pem.Block) error) error {
	raw = breakLines(raw)
	for {
		var b *pem.Block
		if b, raw = pem.Decode(raw); b == nil {
			return nil
		}
		if err := fn(b); err != nil {
			return err
		}
	}
}

// breakLines puts a line break after each "-----BEGIN X-----" and before each
// "-----END X-----", and removes blanks around base64 that was on one line.
func breakLines(raw []byte) []byte {
	var out []byte
	for len(raw) > 0 {
		i := bytes.Index(raw, []byte("-----BEGIN "))
		if i < 0 {
			break
		}
		raw = raw[i:]
		j := bytes.Index(raw[11:], []byte("-----"))
		if j < 0 {
			break
		}
		head := raw[:11+j+5]
		raw = raw[len(head):]
		end := append([]byte("-----END "), head[11:]...)
		k := bytes.Index(raw, end)
		if k < 0 {
			break
		}
		body := bytes.TrimSpace(raw[:k])
		raw = raw[k+len(end):]
		if !bytes.Contains(body, []byte(":")) { // no headers: blanks are line breaks
			body = bytes.Join(bytes.Fields(body), []byte("\n"))
		}
		for _, part := range [][]byte{head, body, end} {
			out = append(append(out, part...), '\n')
		}
	}
	return out
}

func pemCertificates(raw []byte) (out []*x509.Certificate, err error) {
	err = pemBlocks(raw, func(b *pem.Block) error {
		if b.Type != "CERTIFICATE" {
			return nil
		}
		c, err := x509.ParseCertificate(b.Bytes)
		out = append(out, c)
		return err
	})
	return out, err
}

func pemKeyPair(rawKey, rawChain []byte, password string) (*tls.Certificate, error) {
	cert := &tls.Certificate{}
	chain, err := pemCertificates(rawChain)
	if err != nil {
		return nil, err
	}
	if len(chain) == 0 {
		return nil, errors.New("holds no certificate")
	}
	for _, c := range chain {
		cert.Certificate = append(cert.Certificate, c.Raw)
	}
	err = pemBlocks(rawKey, func(b *pem.Block) (err error) {
		switch b.Type {
		case "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY":
			if b.Headers["DEK-Info"] != "" {
				return errors.New("the private key is encrypted in OpenSSL's old way; convert it with: openssl pkcs8 -topk8")
			}
			cert.PrivateKey, err = parseKey(b.Bytes)
		case "ENCRYPTED PRIVATE KEY":
			if password == "" {
				return errors.New("the private key is encrypted and ssl.key.password is not set")
			}
			var der []byte
			if der, err = decryptPKCS8(b.Bytes, password); err == nil {
				if cert.PrivateKey, err = parseKey(der); err != nil {
					err = errWrongKeyPassword
				}
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if cert.PrivateKey == nil {
		return nil, errors.New("holds no private key")
	}
	return cert, nil
}

func parseKey(der []byte) (crypto.PrivateKey, error) {
	if k, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		return k, nil
	}
	if k, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return k, nil
	}
	if k, err := x509.ParseECPrivateKey(der); err == nil {
		return k, nil
	}
	return nil, errors.New("the private key is of no known kind")
}

var errWrongKeyPassword = errors.New("the private key cannot be decrypted: is ssl.key.password right?")

// The structures of RFC 8018 (PKCS #5 v2.1).
type encryptedPKCS8 struct {
	Algorithm struct {
		ID     asn1.ObjectIdentifier
		Params struct{ KDF, Cipher pkix.AlgorithmIdentifier }
	}
	Data []byte
}

type pbkdf2Params struct {
	Salt       []byte
	Iterations int
	KeyLength  int                      `asn1:"optional"`
	PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
}

// decryptPKCS8 opens an encrypted PKCS #8 key of scheme PBES2 with PBKDF2, what
// `openssl pkcs8 -topk8` and Java's tools write today.
func decryptPKCS8(der []byte, password string) ([]byte, error) {
	unsupported := errors.New("the private key is encrypted by a scheme other than PBES2 with PBKDF2; convert it with: openssl pkcs8 -topk8")
	var e encryptedPKCS8
	if rest, err := asn1.Unmarshal(der, &e); err != nil || len(rest) > 0 || e.Algorithm.ID.String() != "1.2.840.113549.1.5.13" {
		return nil, unsupported
	}
	var k pbkdf2Params
	if e.Algorithm.Params.KDF.Algorithm.String() != "1.2.840.113549.1.5.12" {
		return nil, unsupported
	}
	if _, err := asn1.Unmarshal(e.Algorithm.Params.KDF.Parameters.FullBytes, &k); err != nil || k.Iterations < 1 || k.Iterations > 10_000_000 {
		return nil, unsupported
	}
	prf, ok := map[string]func() hash.Hash{
		"": sha1.New, "1.2.840.113549.2.7": sha1.New, "1.2.840.113549.2.9": sha256.New,
		"1.2.840.113549.2.10": sha512.New384, "1.2.840.113549.2.11": sha512.New,
	}[k.PRF.Algorithm.String()]
	if !ok {
		return nil, unsupported
	}
	size, block := 0, aes.NewCipher
	switch e.Algorithm.Params.Cipher.Algorithm.String() {
	case "2.16.840.1.101.3.4.1.2":
		size = 16
	case "2.16.840.1.101.3.4.1.22":
		size = 24
	case "2.16.840.1.101.3.4.1.42":
		size = 32
	case "1.2.840.113549.3.7":
		size, block = 24, des.NewTripleDESCipher
	default:
		return nil, unsupported
	}
	var iv []byte
	if _, err := asn1.Unmarshal(e.Algorithm.Params.Cipher.Parameters.FullBytes, &iv); err != nil {
		return nil, unsupported
	}
	key, err := pbkdf2.Key(prf, password, k.Salt, k.Iterations, size)
	if err != nil {
		return nil, err
	}
	c, err := block(key)
	if err != nil {
		return nil, err
	}
	if len(iv) != c.BlockSize() || len(e.Data) == 0 || len(e.Data)%c.BlockSize() != 0 {
		return nil, unsupported
	}
	out := bytes.Clone(e.Data)
	cipher.NewCBCDecrypter(c, iv).CryptBlocks(out, out)
	pad := int(out[len(out)-1])
	if pad < 1 || pad > c.BlockSize() || pad > len(out) {
		return nil, errWrongKeyPassword
	}
	return out[:len(out)-pad], nil
}
