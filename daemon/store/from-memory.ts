/**
 * The step that gives every value of the table `memory` a column of its own: it was kept under a name put together of words,
 * as text, JSON or CBOR.
 */

/** Of schema 20; `upgrade-functions.ts` has what it calls. */
export const fromMemory = /* sql */ `
-- Single values of this node, in one row.
CREATE TABLE lasting (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  chain_checkpoint BLOB,
  restored_from INTEGER,
  contacts_due INTEGER NOT NULL DEFAULT 0,
  contradicting_peer BLOB,
  contradicting_length INTEGER,
  contradicting_id BLOB,
  lost_beyond INTEGER,
  lost_kel_seq INTEGER,
  copy_accepted INTEGER NOT NULL DEFAULT 0,
  key_set_due TEXT CHECK (key_set_due IN ('raise', 'publish')),
  place TEXT,
  second_copy TEXT,
  taken_over TEXT,
  copy_seen_at INTEGER,
  mailbox_due INTEGER NOT NULL DEFAULT 0,
  outbox_kel_seq INTEGER,
  anew_from TEXT,
  anew_at INTEGER,
  gave_up_at INTEGER,
  uses_day INTEGER
) STRICT;
INSERT INTO lasting (one, contacts_due, copy_accepted, mailbox_due) SELECT 1,
  EXISTS (SELECT 1 FROM memory WHERE name = 'contacts to ask after a restore'),
  EXISTS (SELECT 1 FROM memory WHERE name = 'old copy accepted'),
  EXISTS (SELECT 1 FROM memory WHERE name = 'new mailbox due');
UPDATE lasting SET chain_checkpoint = m.value FROM memory AS m WHERE m.name = 'chain-checkpoint';
UPDATE lasting SET restored_from = CAST(CAST(m.value AS TEXT) AS INTEGER) FROM memory AS m
  WHERE m.name = 'restored from an archive';
UPDATE lasting SET contradicting_peer = cbor_item(m.value, 0), contradicting_length = cbor_item(m.value, 1),
  contradicting_id = cbor_item(m.value, 2) FROM memory AS m WHERE m.name = 'head that a peer holds';
UPDATE lasting SET lost_beyond = cbor_item(m.value, 0), lost_kel_seq = cbor_item(m.value, 1)
  FROM memory AS m WHERE m.name = 'heads of a lost copy';
UPDATE lasting SET key_set_due = iif(CAST(m.value AS TEXT) = 'raise', 'raise', 'publish') FROM memory AS m
  WHERE m.name = 'key set due above those of lost copies';
UPDATE lasting SET place = CAST(m.value AS TEXT) FROM memory AS m WHERE m.name = 'place';
UPDATE lasting SET second_copy = CAST(m.value AS TEXT) FROM memory AS m WHERE m.name = 'second copy';
UPDATE lasting SET taken_over = CAST(m.value AS TEXT) FROM memory AS m WHERE m.name = 'taken over';
UPDATE lasting SET copy_seen_at = CAST(CAST(m.value AS TEXT) AS INTEGER) FROM memory AS m WHERE m.name = 'copy seen';
UPDATE lasting SET outbox_kel_seq = CAST(CAST(m.value AS TEXT) AS INTEGER) FROM memory AS m
  WHERE m.name = 'outbox made ready under';
UPDATE lasting SET anew_at = CAST(CAST(m.value AS TEXT) AS INTEGER),
  anew_from = substr(CAST(m.value AS TEXT), instr(CAST(m.value AS TEXT), ' ') + 1)
  FROM memory AS m WHERE m.name = 'identity made anew';
UPDATE lasting SET gave_up_at = CAST(CAST(m.value AS TEXT) AS INTEGER) FROM memory AS m
  WHERE m.name = 'last given up at';
UPDATE lasting SET uses_day = CAST(CAST(m.value AS TEXT) AS INTEGER) FROM memory AS m
  WHERE m.name = 'capability-uses-day';

-- Every restore of this store, the newest last; an earlier build kept the last one alone.
CREATE TABLE restores (
  key INTEGER PRIMARY KEY,
  made_at INTEGER NOT NULL,
  settled_at INTEGER NOT NULL,
  last_task INTEGER
) STRICT;
INSERT INTO restores (made_at, settled_at, last_task)
  SELECT json_extract(r.value, '$.madeAtMs'), json_extract(r.value, '$.settledMs'), json_extract(r.value, '$.lastTask')
  FROM memory AS m JOIN json_each(CAST(m.value AS TEXT)) AS r WHERE m.name = 'restores' ORDER BY r.key;
INSERT INTO restores (made_at, settled_at, last_task)
  SELECT json_extract(v, '$.madeAtMs'), json_extract(v, '$.settledMs'), json_extract(v, '$.lastTask')
  FROM (SELECT CAST(value AS TEXT) AS v FROM memory WHERE name = 'last restore')
  WHERE NOT EXISTS (SELECT 1 FROM restores);
CREATE TABLE numbers_answered (peer TEXT PRIMARY KEY, asked_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO numbers_answered SELECT substr(name, 21), CAST(CAST(value AS TEXT) AS INTEGER) FROM memory
  WHERE substr(name, 1, 20) = 'numbers answered by ';
DELETE FROM memory WHERE name IN ('chain-checkpoint', 'restored from an archive', 'contacts to ask after a restore',
  'head that a peer holds', 'heads of a lost copy', 'old copy accepted', 'key set due above those of lost copies', 'place',
  'second copy', 'taken over', 'copy seen', 'new mailbox due', 'outbox made ready under', 'identity made anew',
  'last given up at', 'capability-uses-day', 'last restore', 'restores') OR substr(name, 1, 20) = 'numbers answered by ';
`
