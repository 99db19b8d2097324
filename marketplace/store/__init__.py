"""What we keep: the door to the database, all SQL by hand, upgrades of the schema, and images."""
