"""What `make bench` runs: the kernel against its peers, and the services."""
