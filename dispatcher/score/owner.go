package score

// Owner is the one of several peers that a key belongs to, by rendezvous hashing (Thaler and Ravishankar, 1998): every peer that
// knows the same peers agrees, and a peer that goes or comes moves only its own share. Empty if there are no peers.
func Owner(peers []string, key string) string {
	var owner string
	var best uint64
	start := seed(key)
	for _, peer := range peers {
		if weight := hash(start, peer); owner == "" || weight > best || weight == best && peer < owner {
			owner, best = peer, weight
		}
	}
	return owner
}

// Place is a number from 0 up to 1 that belongs to a key under a name. Places of different keys are spread evenly, and those of
// one key under different names have nothing to do with each other.
func Place(key, name string) float64 { return uniform(hash(seed(key), name)) }

// The parameters of FNV-1a, 64 bits.
const (
	offset uint64 = 14695981039346656037
	prime  uint64 = 1099511628211
)

// seed is where hashes that belong to a key start.
func seed(key string) uint64 { return fnv(offset, key) * prime } // a zero byte ends the key

func hash(start uint64, text string) uint64 { return mix(fnv(start, text)) }

func fnv(h uint64, text string) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * prime
	}
	return h
}

// mix spreads FNV's weak high bits over the whole word (the finaliser of splitmix64).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// uniform makes a number of 53 random bits between 0 and 1, neither of them included.
func uniform(x uint64) float64 { return (float64(x>>11) + .5) / (1 << 53) }
