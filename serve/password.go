package serve

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// Password is a password of which only a hash is known: argon2id (RFC 9106) in the PHC string
// format (https://github.com/P-H-C/phc-string-format).
type Password struct {
	memory  uint32 // KiB
	time    uint32 // passes
	threads uint8
	salt    []byte
	hash    []byte
}

// Cost of a hash: the second recommendation of OWASP's password storage cheat sheet, about 20 ms.
const (
	hashMemory  = 19 << 10
	hashTime    = 2
	hashThreads = 1
	saltLength  = 16
	hashLength  = 32
)

// Bounds of a password and of the cost that a file may ask for.
const (
	LeastPassword = 8 // characters
	mostPassword  = 256
	mostMemory    = 256 << 10 // KiB
	mostTime      = 10
	mostThreads   = 8
	mostHash      = 64 // bytes
	leastHash     = 32
	leastSalt     = 16
	// The weakest parameters that OWASP's cheat sheet still recommends are m=7168,t=5: no less
	// memory, and no less of memory times passes.
	leastMemory = 7 << 10
	leastWork   = 5 * leastMemory
)

// Hash returns a password's hash as a line of text.
func Hash(password string) (string, error) {
	switch n := utf8.RuneCountInString(password); {
	case !utf8.ValidString(password) || strings.ContainsAny(password, "\r\n\x00"):
		return "", errors.New("a password is one line of text")
	case n < LeastPassword:
		return "", fmt.Errorf("the password has %d characters; at least %d are needed", n, LeastPassword)
	case len(password) > mostPassword:
		return "", fmt.Errorf("the password has %d bytes; at most %d are allowed", len(password),
			mostPassword)
	}
	p := Password{memory: hashMemory, time: hashTime, threads: hashThreads, salt: make([]byte, saltLength)}
	_, _ = rand.Read(p.salt) // never fails
	p.hash = argon2.IDKey([]byte(password), p.salt, p.time, p.memory, p.threads, hashLength)
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.memory, p.time, p.threads,
		encode(p.salt), encode(p.hash)), nil
}

// errHash says what a password file has in place of a password.
var errHash = errors.New("is no argon2id hash; " + mendPassword)

// mendPassword is the command that makes another one.
const mendPassword = "make one with: meshscope serve password"

// ParsePassword reads the line that Hash returns.
func ParsePassword(line string) (*Password, error) {
	parts := strings.Split(strings.TrimSpace(line), "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" ||
		parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return nil, errHash
	}
	p := new(Password)
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.memory, &p.time, &p.threads); n != 3 ||
		err != nil {
		return nil, errHash
	}
	var bad, wrong error
	p.salt, bad = base64.RawStdEncoding.DecodeString(parts[4])
	p.hash, wrong = base64.RawStdEncoding.DecodeString(parts[5])
	switch {
	case bad != nil || wrong != nil:
		return nil, errHash
	case len(p.salt) < leastSalt || len(p.salt) > mostHash || len(p.hash) < leastHash ||
		len(p.hash) > mostHash:
		return nil,
			fmt.Errorf("has a salt of %d bytes and a hash of %d; allowed are %d to %d and %d to %d: %s",
				len(p.salt), len(p.hash), leastSalt, mostHash, leastHash, mostHash, mendPassword)
	case p.memory > mostMemory || p.time < 1 || p.time > mostTime || p.threads < 1 || p.threads > mostThreads:
		return nil, fmt.Errorf("has m=%d,t=%d,p=%d; at most m=%d,t=%d,p=%d are allowed: %s", p.memory, p.time,
			p.threads, mostMemory, mostTime, mostThreads, mendPassword)
	case p.memory < leastMemory || p.memory*p.time < leastWork:
		return nil,
			fmt.Errorf("is weak: m=%d,t=%d; at least m=%d,t=%d are needed, or as much of m times t: %s",
				p.memory, p.time, leastMemory, leastWork/leastMemory, mendPassword)
	}
	return p, nil
}

// Matches reports whether a password has the hash. The comparison takes the same time wherever
// they differ.
func (p *Password) Matches(password string) bool {
	hash := argon2.IDKey([]byte(password), p.salt, p.time, p.memory, p.threads, uint32(len(p.hash)))
	return subtle.ConstantTimeCompare(hash, p.hash) == 1
}
