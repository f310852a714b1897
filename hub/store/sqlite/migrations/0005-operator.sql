-- What the operator refuses: single agents, and address ranges whose newcomers only he lets in.
ALTER TABLE account ADD COLUMN blocked INTEGER NOT NULL DEFAULT 0;
CREATE TABLE refused_range (
  range TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
