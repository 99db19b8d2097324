-- Take the JSON out of the events: it is made of the other columns when they are read
ALTER TABLE event DROP COLUMN body;
