"""The servers that the service is compared with, each written as its own documentation recommends."""
