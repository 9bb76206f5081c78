package serve_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"meshscope/serve"
)

// hashLine is a password file with such parameters and lengths.
func hashLine(memory, time, threads, salt, hash int) string {
	zeros := func(n int) string { return base64.RawStdEncoding.EncodeToString(make([]byte, n)) }
	return fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=%d$%s$%s", memory, time, threads, zeros(salt), zeros(hash))
}

// TestPasswordParameters: a hash that is weak, or that would cost the server too much, is
// refused with the command that makes another one.
func TestPasswordParameters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ memory, time, threads, salt, hash int }{
		{19 << 10, 2, 1, 16, 32},
		{7 << 10, 5, 1, 16, 32},
		{46 << 10, 1, 1, 16, 32},
		{256 << 10, 10, 8, 64, 64},
	} {
		if _, err := serve.ParsePassword(hashLine(c.memory, c.time, c.threads, c.salt,
			c.hash) + "\n"); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, c := range []struct {
		memory, time, threads, salt, hash int
		why                               string
	}{
		{8, 1, 1, 16, 32, "is weak: m=8,t=1"},
		{7<<10 - 1, 10, 1, 16, 32, "is weak"},
		{19 << 10, 1, 1, 16, 32, "is weak"},
		{16 << 20, 1, 1, 16, 32, "at most m=262144"},
		{19 << 10, 11, 1, 16, 32, "at most"},
		{19 << 10, 0, 1, 16, 32, "at most"},
		{19 << 10, 2, 0, 16, 32, "at most"},
		{19 << 10, 2, 9, 16, 32, "at most"},
		{19 << 10, 2, 1, 15, 32, "salt of 15 bytes"},
		{19 << 10, 2, 1, 65, 32, "salt of 65 bytes"},
		{19 << 10, 2, 1, 16, 31, "hash of 31"},
		{19 << 10, 2, 1, 16, 65, "hash of 65"},
	} {
		_, err := serve.ParsePassword(hashLine(c.memory, c.time, c.threads, c.salt, c.hash))
		if err == nil || !strings.Contains(err.Error(), c.why) ||
			!strings.Contains(err.Error(), "meshscope serve password") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// FuzzPassword: no line ends the program, none that is taken is weak, and one that is written is
// taken again.
func FuzzPassword(f *testing.F) {
	f.Add(hashLine(19<<10, 2, 1, 16, 32))
	f.Add(hashLine(8, 1, 1, 8, 16))
	f.Add("$argon2id$v=19$m=99999999999,t=-1,p=1$$")
	f.Add("$2b$12$abcdefghijklmnopqrstuv")
	f.Fuzz(func(t *testing.T, line string) {
		p, err := serve.ParsePassword(line)
		if (p == nil) == (err == nil) {
			t.Fatalf("%q: %v, %v", line, p, err)
		}
		var memory, time, threads int
		if fields := strings.Split(strings.TrimSpace(line), "$"); err == nil {
			if n, err := fmt.Sscanf(fields[3], "m=%d,t=%d,p=%d", &memory, &time, &threads); n != 3 ||
				err != nil || memory*time < 35<<10 || memory > 256<<10 || time > 10 || threads > 8 {
				t.Fatalf("%q is taken", line)
			}
		}
	})
}
