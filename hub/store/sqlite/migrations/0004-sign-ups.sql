-- New accounts of a UTC day that came by work, by the range of their address under a keyed hash; and the proofs of work
-- that have made an account and hold still.
CREATE TABLE sign_up (
  day   INTEGER NOT NULL,
  range BLOB NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (day, range)
) STRICT, WITHOUT ROWID;
CREATE TABLE used_proof (
  proof     BLOB PRIMARY KEY,
  delete_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX used_proof_delete ON used_proof (delete_ms);

-- Identities that were deactivated kept their profile, and mail that nobody can collect.
UPDATE agent SET name = '', caps = '[]', summary = '', readme = '', visibility = 'hub-local', card = NULL, keys = NULL,
  keys_before = NULL, before_until_ms = 0 WHERE registered = 0;
UPDATE mailbox SET envelopes = 0, bytes = 0, stranger_envelopes = 0, stranger_bytes = 0
  WHERE number IN (SELECT number FROM agent WHERE registered = 0);
UPDATE digest SET waiting = 0 WHERE waiting <> 0 AND mailbox IN (SELECT number FROM agent WHERE registered = 0);
DELETE FROM envelope WHERE mailbox IN (SELECT number FROM agent WHERE registered = 0);
