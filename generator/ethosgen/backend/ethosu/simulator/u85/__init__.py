"""What Ethos-U85 does differently: registers, operations, weight streams and output stage."""
