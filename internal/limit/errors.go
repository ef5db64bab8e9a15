package limit

import (
	"errors"
)

// ErrStoreClosed is the error of a Store that was closed.
var ErrStoreClosed = errors.New("limit: the store is closed")
