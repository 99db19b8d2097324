"""The schemas of requests and responses, a file a resource."""
