"""What the service is compared with: each written as its own documentation would have it."""
