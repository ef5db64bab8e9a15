module riftrelay/examples/go

go 1.26.0
