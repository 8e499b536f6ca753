package webhook

import (
	"fmt"
	"net/netip"
	"slices"
)

// Addresses say where a message may go. The zero value is every public address, and no other.
type Addresses struct {
	Allow []netip.Prefix // although they are not public
	Deny  []netip.Prefix // although they are, or although they are allowed
}

// The public Internet is what IANA's registries of special addresses leave of global unicast, less the few public addresses that
// clouds answer from within.
var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	notPublic     = prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"168.63.129.16/32", // of a cloud's own services
		"2001::/23",        // IETF, Teredo among it: an address of its holder's choice is within
		"2001:db8::/32", "2002::/16", "3fff::/20",
	)
	// nat64 is the one prefix by which every translator knows an IPv4 address within an IPv6 one.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// ParsePrefixes reads addresses and ranges of them: 10.1.2.3, 10.0.0.0/8, fd00::/8.
func ParsePrefixes(texts []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if address, single := netip.ParseAddr(text); single == nil {
			prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a range of them, such as 10.0.0.0/8", text)
		}
		all = append(all, prefix.Masked())
	}
	return all, nil
}

// Permit reports whether a message may go to an address, in whatever form that comes. An address within another one is judged in
// its place.
func (a Addresses) Permit(address netip.Addr) bool {
	address = plain(address)
	if !address.IsValid() || within(address, a.Deny) {
		return false
	}
	return public(address) || within(address, a.Allow)
}

// plain is the address that a connection to address ends at.
func plain(address netip.Addr) netip.Addr {
	address = address.WithZone("").Unmap()
	if nat64.Contains(address) {
		bytes := address.As16()
		return netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return address
}

func public(address netip.Addr) bool {
	return (address.Is4() || globalUnicast.Contains(address)) && !within(address, notPublic)
}

func within(address netip.Addr, list []netip.Prefix) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(address) })
}
