package serve

import (
	"bytes"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"

	gossh "golang.org/x/crypto/ssh"

	"meshscope/engine/escape"
)

// Keys are public keys whose owners may log in.
type Keys struct{ known map[string]bool }

// leastRSA is how many bits an RSA key needs.
const leastRSA = 2048

// keyAlgorithms are the signatures that a client may log in with.
func keyAlgorithms() []string {
	return []string{
		gossh.KeyAlgoED25519, gossh.KeyAlgoSKED25519,
		gossh.KeyAlgoECDSA256, gossh.KeyAlgoECDSA384, gossh.KeyAlgoECDSA521, gossh.KeyAlgoSKECDSA256,
		gossh.KeyAlgoRSASHA256, gossh.KeyAlgoRSASHA512,
	}
}

// ParseKeys reads the lines of an authorized_keys file of OpenSSH. Options before a key are
// refused: what they restrict would not be.
func ParseKeys(text []byte) (*Keys, error) {
	k := &Keys{known: map[string]bool{}}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		key, _, options, _, err := gossh.ParseAuthorizedKey(line)
		if err == nil {
			err = acceptable(key, options)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %s", number, escape.Line(err.Error()))
		}
		k.known[string(key.Marshal())] = true
	}
	if len(k.known) == 0 {
		return nil, errors.New("holds no key")
	}
	return k, nil
}

// acceptable returns why a key of a file cannot be used.
func acceptable(key gossh.PublicKey, options []string) error {
	if len(options) > 0 {
		return fmt.Errorf("options are not supported: %s", options[0])
	}
	kinds := append(keyAlgorithms(), gossh.KeyAlgoRSA)
	if !slices.Contains(kinds, key.Type()) {
		return fmt.Errorf("keys of type %s are not accepted", key.Type())
	}
	if c, ok := key.(gossh.CryptoPublicKey); ok {
		if r, ok := c.CryptoPublicKey().(*rsa.PublicKey); ok && r.N.BitLen() < leastRSA {
			return fmt.Errorf("an RSA key of %d bits; at least %d are needed", r.N.BitLen(), leastRSA)
		}
	}
	return nil
}

// Has reports whether a key is one of them. No keys have none.
func (k *Keys) Has(key gossh.PublicKey) bool { return k != nil && k.known[string(key.Marshal())] }
