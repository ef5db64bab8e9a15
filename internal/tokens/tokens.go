// Package tokens finds clients' tokens, of which it knows digests only: a token
// as a whole, and a token anywhere within another text.
package tokens

import (
	"crypto/rand"
	"crypto/sha256"
)

// Shortest is the length from which on a token is found within other texts.
const Shortest = 8

// Token is what is kept of a token.
type Token struct {
	digest [sha256.Size]byte // SHA-256 of it
	folded [sha256.Size]byte // SHA-256 of it in lower case
	length int
	mark   uint16 // of its first bytes; nearly all texts without the token have none like it
}

// Of returns what is kept of a token.
func Of(text string) Token {
	t := Token{digest: sha256.Sum256([]byte(text)), folded: sha256.Sum256(lower(text)), length: len(text)}
	var first window
	for i := range min(len(text), Shortest) {
		first.add(text[i])
	}
	t.mark = first.mark()
	return t
}

// window is the last bytes of a text that is read byte by byte.
type window uint64

func (w *window) add(c byte) { *w = *w>>8 | window(c)<<56 }

// mark returns 16 bits that depend on the bytes, and not on their case.
func (w window) mark() uint16 {
	const lowerCase, mix = 0x2020202020202020, 0x9e3779b97f4a7c15
	return uint16((w | lowerCase) * mix >> 48)
}

// lower changes ASCII letters only.
func lower(s string) []byte {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return b
}

// Set is a set of tokens.
//
// They are looked up by digests with salt. How long a comparison takes tells
// nothing to somebody who doesn't know the salt.
type Set struct {
	salt    [16]byte
	known   map[[sha256.Size]byte]int
	folded  map[[sha256.Size]byte]bool
	marked  [1 << 16 / 64]uint64
	lengths map[uint16][]int // of the tokens with a mark
}

// NewSet returns a set of the tokens of each owner.
func NewSet(owners [][]Token) *Set {
	s := &Set{known: map[[sha256.Size]byte]int{}, folded: map[[sha256.Size]byte]bool{}, lengths: map[uint16][]int{}}
	rand.Read(s.salt[:])
	for owner, list := range owners {
		for _, t := range list {
			s.known[s.salted(t.digest)] = owner
			if t.length < Shortest {
				continue
			}
			s.folded[s.salted(t.folded)] = true
			s.marked[t.mark/64] |= 1 << (t.mark % 64)
			s.lengths[t.mark] = append(s.lengths[t.mark], t.length)
		}
	}
	return s
}

func (s *Set) salted(digest [sha256.Size]byte) [sha256.Size]byte {
	var b [len(s.salt) + sha256.Size]byte
	copy(b[:], s.salt[:])
	copy(b[len(s.salt):], digest[:])
	return sha256.Sum256(b[:])
}

// Owner returns the number of the owner of a token, and reports whether there is one.
func (s *Set) Owner(token string) (owner int, known bool) {
	if token == "" {
		return 0, false
	}
	owner, known = s.known[s.salted(sha256.Sum256([]byte(token)))]
	return owner, known
}

// Within reports whether a token of the set, in any case, is a part of a text.
func (s *Set) Within(text string) bool {
	var last window
	for i := range len(text) {
		last.add(text[i])
		mark := last.mark()
		if i < Shortest-1 || s.marked[mark/64]&(1<<(mark%64)) == 0 {
			continue
		}
		from := text[i+1-Shortest:]
		for _, n := range s.lengths[mark] {
			if n <= len(from) && s.folded[s.salted(sha256.Sum256(lower(from[:n])))] {
				return true
			}
		}
	}
	return false
}
