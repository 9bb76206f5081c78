package figure

import (
	"math"
	"testing"

	"meshscope/engine/units"
)

func TestFigures(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Comma(0), "0"},
		{Comma(999), "999"},
		{Comma(1000), "1,000"},
		{Comma(-16384), "-16,384"},
		{Comma(1234567), "1,234,567"},
		{Short(0), "0"},
		{Short(8192), "8,192"},
		{Short(4194304), "4.19 M"},
		{Short(70.6e9), "70.6 B"},
		{Short(14.8e12), "14.8 T"},
		{Short(math.NaN()), Unknown},
		{Three(9.994), "9.99"},
		{Three(9.996), "10.0"},
		{Three(99.94), "99.9"},
		{Three(99.96), "100"},
		{Three(1234.4), "1,234"},
		{Three(math.Inf(1)), Unknown},
		{GiB(79.1 * units.GiB), "79.1"},
		{GiB(0), "0.0"},
		{GiB(2021.6 * units.GiB), "2,022"},
		{Percent(0.413), "41.3 %"},
		{Percent(0.0004), "0.04 %"},
		{Percent(0), "0.0 %"},
		{Percent(1e-6), "0.0 %"},
		{Percent(math.NaN()), Unknown + " %"},
		{Seconds(0), "0 s"},
		{Seconds(72.1), "72.1 s"},
		{Seconds(0.35), "350 ms"},
		{Seconds(0.9996), "1.00 s"},
		{Seconds(650e-6), "650 us"},
		{Seconds(3 * 3600), "3.00 h"},
		{Seconds(400 * 3600), "16.7 days"},
		{Seconds(units.Seconds(math.NaN())), Unknown},
		{Signed(2.14, 1), "+2.1"},
		{Signed(-0.4, 1), "-0.4"},
		{Traffic(6.04e12), "6.04 TB"},
		{Traffic(46.3e9), "46.3 GB"},
		{Traffic(940e6), "940 MB"},
		{Traffic(12e3), "12.0 kB"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}
