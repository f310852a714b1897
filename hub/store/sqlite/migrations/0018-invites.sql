-- Invitations by the hash of their code; whoever reads this file can use none.
CREATE TABLE invite (
  hash     BLOB PRIMARY KEY,
  made_ms  INTEGER NOT NULL,
  until_ms INTEGER NOT NULL,
  used_by  TEXT
) STRICT, WITHOUT ROWID;
