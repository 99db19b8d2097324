"""Storage: access to the database, all SQL, upgrades of the schema, and images."""
