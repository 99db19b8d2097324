"""Storage: access to the database, all SQL by hand, upgrades of the schema, and images."""
