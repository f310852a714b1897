-- Digests in their order of arrival, until thousands of them are sorted into `digest` at once; each is in one of the two.
CREATE TABLE digest_new (
  n        INTEGER PRIMARY KEY,
  mailbox  INTEGER NOT NULL,
  digest   BLOB NOT NULL,
  since_ms INTEGER NOT NULL,
  times    INTEGER NOT NULL,
  waiting  INTEGER NOT NULL
) STRICT;
