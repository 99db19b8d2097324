-- Remove the mirror node's odd answers.
DROP TABLE oddity;
DELETE FROM property WHERE name = 'lag';
