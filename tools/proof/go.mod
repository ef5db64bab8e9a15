module riftrelay/tools/proof

go 1.26.0
