#!/bin/sh
# Makes the certificate stores of the tests with the tools that users have:
# openssl and Java's keytool. Run it in this directory; all keys are for tests only.
set -eu
rm -f *.pem *.jks *.p12 *.srl
days=36500
ec="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
openssl req -x509 $ec -days $days -subj "/CN=sstool test CA" -keyout ca-key.pem -out ca.pem -addext basicConstraints=critical,CA:TRUE

leaf() { # name subject extensions
	openssl req $ec -subj "$2" -keyout "$1-key.pem" -out "$1.csr"
	printf '%s\n' "$3" > ext
	openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days $days -extfile ext -out "$1.pem"
	rm "$1.csr" ext
}
leaf server "/CN=broker" "subjectAltName=DNS:localhost,IP:127.0.0.1"
leaf other "/CN=other" "subjectAltName=DNS:broker.example"
leaf cnonly "/CN=localhost" "basicConstraints=CA:FALSE"
leaf client "/CN=client" "extendedKeyUsage=clientAuth"

# Trust stores. keytool makes PKCS12 by default; JKS is still common.
keytool -importcert -noprompt -alias ca -file ca.pem -keystore trust.jks -storetype JKS -storepass changeit
keytool -importcert -noprompt -alias ca -file ca.pem -keystore trust.p12 -storetype PKCS12 -storepass changeit
openssl pkcs12 -export -nokeys -in ca.pem -out trust-openssl.p12 -passout pass:changeit

# Key stores; the JKS one has a key password of its own.
openssl pkcs12 -export -inkey client-key.pem -in client.pem -certfile ca.pem -name client -out key-openssl.p12 -passout pass:changeit
keytool -importkeystore -noprompt -srckeystore key-openssl.p12 -srcstoretype PKCS12 -srcstorepass changeit \
	-destkeystore key.p12 -deststoretype PKCS12 -deststorepass changeit
keytool -importkeystore -noprompt -srckeystore key-openssl.p12 -srcstoretype PKCS12 -srcstorepass changeit -srcalias client \
	-destkeystore key.jks -deststoretype JKS -deststorepass changeit -destkeypass keypass1

# PEM: PKCS #8 in the clear, encrypted, and in one file with the chain.
openssl pkcs8 -topk8 -nocrypt -in client-key.pem -out client-pk8.pem
openssl pkcs8 -topk8 -in client-key.pem -out client-enc.pem -passout pass:keypass1
openssl pkcs8 -topk8 -v2 des3 -v2prf hmacWithSHA1 -in client-key.pem -out client-3des.pem -passout pass:keypass1
openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES -in client-key.pem -out client-pbes1.pem -passout pass:keypass1
openssl ec -in client-key.pem -aes128 -passout pass:keypass1 -out client-old.pem
cat client-enc.pem client.pem ca.pem > client-all.pem
rm -f ca-key.pem *.srl
