-- The version of a database that was made before databases were numbered: that of release 0.1.0.
SELECT 3
