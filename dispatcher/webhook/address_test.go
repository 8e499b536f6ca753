package webhook_test

import (
	"net/netip"
	"testing"

	"github.com/agentreach/agent-reach/dispatcher/webhook"
)

func TestOnlyPublicAddressesAreReached(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, address string
		want          bool
	}{
		{"a public address", "93.184.216.34", true},
		{"a public IPv6 address", "2606:2800:220:1:248:1893:25c8:1946", true},
		{"a public address within an IPv6 one", "::ffff:93.184.216.34", true},
		{"a public address behind a translator", "64:ff9b::5db8:d822", true},
		{"loopback", "127.0.0.1", false},
		{"another loopback", "127.9.8.7", false},
		{"loopback of IPv6", "::1", false},
		{"loopback within an IPv6 address", "::ffff:127.0.0.1", false},
		{"loopback behind a translator", "64:ff9b::7f00:1", false},
		{"a translator of a network's own", "64:ff9b:1::7f00:1", false},
		{"loopback in the old compatible form", "::7f00:1", false},
		{"loopback translated in the stateless form", "::ffff:0:7f00:1", false},
		{"6to4 of loopback", "2002:7f00:1::", false},
		{"Teredo", "2001:0:7f00:1::", false},
		{"no address in particular", "0.0.0.0", false},
		{"an address of this network", "0.1.2.3", false},
		{"no IPv6 address in particular", "::", false},
		{"private, 10", "10.0.0.5", false},
		{"private, 172.16", "172.31.255.255", false},
		{"just beyond private, 172.32", "172.32.0.1", true},
		{"private, 192.168", "192.168.1.1", false},
		{"shared by a carrier", "100.64.0.1", false},
		{"a cloud's metadata among the carrier's", "100.100.100.200", false},
		{"link-local, a cloud's metadata", "169.254.169.254", false},
		{"metadata within an IPv6 address", "::ffff:169.254.169.254", false},
		{"metadata behind a translator", "64:ff9b::a9fe:a9fe", false},
		{"a cloud's own services at a public address", "168.63.129.16", false},
		{"a cloud's metadata of IETF's", "192.0.0.192", false},
		{"metadata of IPv6", "fd00:ec2::254", false},
		{"unique local", "fc00::1", false},
		{"link-local of IPv6", "fe80::1", false},
		{"link-local of IPv6 with a zone", "fe80::1%eth0", false},
		{"site-local of IPv6", "fec0::1", false},
		{"for documents", "192.0.2.1", false},
		{"for documents, IPv6", "2001:db8::1", false},
		{"for benchmarks", "198.18.0.1", false},
		{"multicast", "224.0.0.1", false},
		{"multicast of IPv6", "ff02::1", false},
		{"everybody", "255.255.255.255", false},
		{"for the future", "240.0.0.1", false},
		{"discarded", "100::1", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := (webhook.Addresses{}).Permit(netip.MustParseAddr(tt.address)); got != tt.want {
				t.Errorf("%s: %v, want %v", tt.address, got, tt.want)
			}
		})
	}
	if (webhook.Addresses{}).Permit(netip.Addr{}) {
		t.Error("no address at all is permitted")
	}
}

func TestAllowedAndDeniedAddresses(t *testing.T) {
	t.Parallel()
	allow, err := webhook.ParsePrefixes([]string{"10.1.0.0/16", "127.0.0.1", "fd00::/8"})
	if err != nil {
		t.Fatal(err)
	}
	deny, err := webhook.ParsePrefixes([]string{"10.1.2.0/24", "8.8.8.8"})
	if err != nil {
		t.Fatal(err)
	}
	addresses := webhook.Addresses{Allow: allow, Deny: deny}
	for address, want := range map[string]bool{
		"10.1.1.1": true, "10.2.1.1": false, "10.1.2.3": false, "127.0.0.1": true, "127.0.0.2": false, "::ffff:10.1.1.1": true,
		"::ffff:10.1.2.3": false, "64:ff9b::a01:101": true, "fd12::1": true, "8.8.8.8": false, "8.8.4.4": true, "::ffff:8.8.8.8": false,
	} {
		if got := addresses.Permit(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
	for _, text := range []string{"", "10.0.0.0/33", "example.org", "10.0.0.0/8, 127.0.0.1"} {
		if _, err := webhook.ParsePrefixes([]string{text}); err == nil {
			t.Errorf("%q is taken for a range of addresses", text)
		}
	}
}
