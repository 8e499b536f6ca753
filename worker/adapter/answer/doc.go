// Package answer reads what agents say about a task in the forms that every transport shares, and puts it into the words of the
// house: a result, or an *schemas.Error with where it came from. Adapters bring the bytes and know what the transport says about
// them; this package knows nothing of transports, does no I/O and starts no goroutine.
//
// What an agent says is believed only so far: texts are cut, cleaned and masked before anyone sees them, and a result that breaks
// the limits on JSON is refused here.
package answer
