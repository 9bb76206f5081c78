package serve

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	gossh "golang.org/x/crypto/ssh"
	"mvdan.cc/sh/v3/syntax"

	"meshscope/engine/escape"
	"meshscope/presets/input"
)

// MendError is a file that others than its owner can read or change. Mend is the command that
// ends it.
type MendError struct{ File, Why, Mend string }

// Error says what is wrong and the command that mends it.
func (e *MendError) Error() string {
	return fmt.Sprintf("%s %s; mend it with: %s", escape.Name(e.File), e.Why, e.Mend)
}

// mostKeyFile bounds a file of keys, in bytes.
const mostKeyFile = 1 << 20

// Private returns an error unless a file is regular, the user's, and nobody else's to read or
// change, as SSH has it of private keys.
func Private(file string) error {
	const others = 0o077
	info, err := regular(file)
	if err != nil {
		return err
	}
	return owned(file, info, others, "can be read or changed by others", "chmod 600 ")
}

// regular returns what is known of a file; a device has no permissions to mend.
func regular(file string) (fs.FileInfo, error) {
	info, err := os.Stat(file)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", escape.Name(file), input.ErrKind)
	}
	return info, err
}

// Unchangeable returns an error where others than the user, or root, can change a file or folder.
func Unchangeable(file string) error {
	const write = 0o022
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	return owned(file, info, write, "can be changed by others", "chmod go-w ")
}

// UnchangeableFolder returns an error where others can change a folder or what is in it. A folder
// that is not there is fine.
func UnchangeableFolder(folder string) error {
	all, err := os.ReadDir(folder)
	if err == nil {
		err = Unchangeable(folder)
	}
	for _, entry := range all {
		// a link may lead nowhere
		err = cmp.Or(err, missing(Unchangeable(filepath.Join(folder, entry.Name()))))
	}
	return missing(err)
}

// missing takes the error of a file that is not there for none.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// owned returns an error where a file has one of the permissions, or another owner.
func owned(file string, info fs.FileInfo, forbidden fs.FileMode, why, mend string) error {
	if info.Mode().Perm()&forbidden != 0 {
		return &MendError{file, why, mend + quoted(file)}
	}
	if owner, known := ownerOf(info); known && owner != os.Geteuid() && owner != 0 {
		return &MendError{
			file, "belongs to another user",
			fmt.Sprintf("chown %d %s", os.Geteuid(), quoted(file)),
		}
	}
	return nil
}

// HostKey returns the key that the server shows to its clients. Where there is none it makes one,
// which stays: a file that its owner alone can read, in a folder of which the same holds.
func HostKey(file string) (gossh.Signer, error) {
	key, err := readHostKey(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := makeHostKey(file); err != nil && !errors.Is(err, fs.ErrExist) { // another server was quicker
		return nil, fmt.Errorf("host key: %w", err)
	}
	return readHostKey(file)
}

func readHostKey(file string) (gossh.Signer, error) {
	if err := Private(file); err != nil {
		return nil, fmt.Errorf("host key: %w", err)
	}
	if err := Unchangeable(filepath.Dir(file)); err != nil {
		return nil, fmt.Errorf("host key: %w", err)
	}
	text, err := input.ReadRegular(file, mostKeyFile)
	if err != nil {
		return nil, fmt.Errorf("host key: %w", err)
	}
	key, err := gossh.ParsePrivateKey(text)
	if err != nil {
		return nil, fmt.Errorf("host key %s: %s; to make a new one, which clients will warn of: rm %s",
			escape.Name(file), escape.Line(err.Error()), quoted(file))
	}
	if kind := key.PublicKey().Type(); kind != gossh.KeyAlgoED25519 {
		return nil, fmt.Errorf("host key %s is of type %s; only ed25519 is used", escape.Name(file),
			escape.Line(kind))
	}
	return key, nil
}

// makeHostKey writes a new key to a file that is there as a whole or not at all.
func makeHostKey(file string) error {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	block, err := gossh.MarshalPrivateKey(key, "meshscope")
	if err != nil {
		return err
	}
	return WriteNew(file, pem.EncodeToMemory(block))
}

// WriteNew writes a new file that its owner alone can read, and makes its folder where there is
// none. It is there as a whole or not at all; one that is there already is fs.ErrExist.
func WriteNew(file string, text []byte) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	half := file + "." + rand.Text()
	f, err := os.OpenFile(half, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(half) }()
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Link(half, file) // unlike a rename it replaces nothing
}

// ReadPassword reads a password file.
func ReadPassword(file string) (*Password, error) {
	if err := Private(file); err != nil {
		return nil, fmt.Errorf("password file: %w", err)
	}
	text, err := input.ReadRegular(file, mostKeyFile)
	if err != nil {
		return nil, fmt.Errorf("password file: %w", err)
	}
	p, err := ParsePassword(string(text))
	if err != nil {
		return nil, fmt.Errorf("password file %s %w", escape.Name(file), err)
	}
	return p, nil
}

// ReadKeys reads a file of public keys.
func ReadKeys(file string) (*Keys, error) {
	if _, err := regular(file); err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	if err := Unchangeable(file); err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	text, err := input.ReadRegular(file, mostKeyFile)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	k, err := ParseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("keys %s: %w", escape.Name(file), err)
	}
	return k, nil
}

// quoted returns a file name as a word of a shell.
func quoted(file string) string {
	word, err := syntax.Quote(file, syntax.LangPOSIX)
	if err != nil {
		return escape.Name(file)
	}
	return word
}
