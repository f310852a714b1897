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

-- Refunds stand beside their payments; those that are known by their own id alone count once.
ALTER TABLE payments ADD COLUMN refund BLOB;
ALTER TABLE payments ADD COLUMN refund_told BLOB;
ALTER TABLE payments ADD COLUMN refunded INTEGER;
ALTER TABLE payments ADD COLUMN loss_accepted INTEGER NOT NULL DEFAULT 0;
CREATE INDEX payments_refund_waiting ON payments (interaction) WHERE refund IS NOT NULL AND refunded IS NULL;
CREATE INDEX payments_told_waiting ON payments (interaction) WHERE refund_told IS NOT NULL;
UPDATE payments SET refund = m.value FROM memory AS m
  WHERE payments.payment = cid_bytes(rest(m.name, 'refund of '));
UPDATE payments SET refund_told = m.value FROM memory AS m
  WHERE payments.interaction = CAST(rest(m.name, 'refund for ') AS INTEGER);
UPDATE payments SET refunded = CAST(CAST(m.value AS TEXT) AS INTEGER) FROM memory AS m
  WHERE payments.payment = cid_bytes(rest(m.name, 'refunded '));
UPDATE payments SET loss_accepted = 1 WHERE payment IN (SELECT cid_bytes(lost.value)
  FROM memory AS m JOIN json_each(CAST(m.value AS TEXT)) AS lost WHERE rest(m.name, 'lost holds accepted of ') IS NOT NULL);
-- Refunds that a hub has moved, by their own id: each counts once.
CREATE TABLE refunds (id BLOB PRIMARY KEY, amount INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO refunds SELECT cid_bytes(rest(m.name, 'refunded ')), CAST(CAST(m.value AS TEXT) AS INTEGER) FROM memory AS m
  WHERE rest(m.name, 'refunded ') IS NOT NULL
    AND cid_bytes(rest(m.name, 'refunded ')) NOT IN (SELECT payment FROM payments);

-- What was signed to be redeemed, until the hub has proven that it carried it out.
CREATE TABLE redemptions (
  amount INTEGER NOT NULL,
  reference TEXT NOT NULL,
  authorization BLOB NOT NULL,
  PRIMARY KEY (amount, reference)
) STRICT, WITHOUT ROWID;
INSERT INTO redemptions SELECT CAST(word AS INTEGER), substr(word, instr(word, ' ') + 1), value
  FROM (SELECT rest(name, 'redemption ') AS word, value FROM memory) WHERE word IS NOT NULL;

-- What a copy that is lost signed, as hubs show it, by the id of its payment.
CREATE TABLE lost_orders (
  id TEXT PRIMARY KEY,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  reason TEXT NOT NULL,
  counterparty TEXT,
  authorization BLOB NOT NULL,
  moved INTEGER
) STRICT, WITHOUT ROWID;
INSERT INTO lost_orders SELECT rest(m.name, 'signed by a lost copy '), json_extract(CAST(m.value AS TEXT), '$.seq'), json_extract(CAST(m.value AS TEXT), '$.atMs'), json_extract(CAST(m.value AS TEXT), '$.reason'),
  json_extract(CAST(m.value AS TEXT), '$.counterparty'), from_base64(json_extract(CAST(m.value AS TEXT), '$.authorization')), json_extract(CAST(m.value AS TEXT), '$.moved')
  FROM memory AS m WHERE rest(m.name, 'signed by a lost copy ') IS NOT NULL;

-- What is known of the accounts at hubs, and of the credits of each.
CREATE TABLE hub_accounts (
  hub TEXT PRIMARY KEY,
  alarm TEXT,
  compared_seq INTEGER,
  compared_sum INTEGER,
  compared_at INTEGER,
  accepted_seq INTEGER,
  accepted_until INTEGER,
  refused_url TEXT,
  refused_code TEXT,
  supply_length INTEGER,
  supply_head BLOB,
  supply_issued INTEGER,
  supply_retired INTEGER,
  supply_roots TEXT,
  witnessed_at INTEGER,
  witness_stale INTEGER NOT NULL DEFAULT 0,
  lost_asked_at INTEGER,
  lost_settled_at INTEGER
) STRICT, WITHOUT ROWID;
INSERT INTO hub_accounts (hub) SELECT DISTINCT hub FROM (SELECT coalesce(rest(name, 'alarm about '),
  rest(name, 'ledger of '), rest(name, 'ledger accepted of '), rest(name, 'account refused by '), rest(name, 'supply of '),
  rest(name, 'witnesses of '), rest(name, 'lost orders asked of ')) AS hub FROM memory) WHERE hub IS NOT NULL;
UPDATE hub_accounts SET alarm = CAST(m.value AS TEXT) FROM memory AS m WHERE hub = rest(m.name, 'alarm about ');
UPDATE hub_accounts SET compared_seq = json_extract(CAST(m.value AS TEXT), '$.seq'), compared_sum = json_extract(CAST(m.value AS TEXT), '$.sum'), compared_at = json_extract(CAST(m.value AS TEXT), '$.atMs'),
  accepted_seq = json_extract(CAST(m.value AS TEXT), '$.acceptedSeq') FROM memory AS m WHERE hub = rest(m.name, 'ledger of ');
UPDATE hub_accounts SET accepted_until = CAST(CAST(m.value AS TEXT) AS INTEGER) FROM memory AS m WHERE hub = rest(m.name, 'ledger accepted of ');
UPDATE hub_accounts SET refused_url = json_extract(CAST(m.value AS TEXT), '$.url'), refused_code = json_extract(CAST(m.value AS TEXT), '$.code') FROM memory AS m
  WHERE hub = rest(m.name, 'account refused by ');
UPDATE hub_accounts SET supply_length = json_extract(CAST(m.value AS TEXT), '$.length'), supply_head = from_base64url(json_extract(CAST(m.value AS TEXT), '$.head')),
  supply_issued = json_extract(CAST(m.value AS TEXT), '$.issued'), supply_retired = json_extract(CAST(m.value AS TEXT), '$.retired'), supply_roots = json_extract(CAST(m.value AS TEXT), '$.roots')
  FROM memory AS m WHERE hub = rest(m.name, 'supply of ');
UPDATE hub_accounts SET witnessed_at = json_extract(CAST(m.value AS TEXT), '$.lastMs'), witness_stale = json_extract(CAST(m.value AS TEXT), '$.isStale')
  FROM memory AS m WHERE hub = rest(m.name, 'witnesses of ');
UPDATE hub_accounts SET lost_asked_at = json_extract(CAST(m.value AS TEXT), '$.atMs'), lost_settled_at = json_extract(CAST(m.value AS TEXT), '$.settledMs')
  FROM memory AS m WHERE hub = rest(m.name, 'lost orders asked of ');

-- Debits of the time that was lost for which a hub shows nothing that was signed.
CREATE TABLE unproven_debits (
  hub TEXT NOT NULL,
  seq INTEGER NOT NULL,
  id TEXT NOT NULL,
  amount INTEGER NOT NULL,
  at INTEGER NOT NULL,
  counterparty TEXT,
  reason TEXT NOT NULL,
  PRIMARY KEY (hub, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO unproven_debits SELECT rest(m.name, 'lost orders asked of '), json_extract(debit.value, '$.seq'),
  json_extract(debit.value, '$.transaction'), json_extract(debit.value, '$.amount'), json_extract(debit.value, '$.atMs'),
  json_extract(debit.value, '$.counterparty'), json_extract(debit.value, '$.reason')
  FROM memory AS m JOIN json_each(CAST(m.value AS TEXT), '$.unproven') AS debit WHERE rest(m.name, 'lost orders asked of ') IS NOT NULL;
-- Records of supply chains that stood there as they were witnessed.
CREATE TABLE witnessed_records (
  hub TEXT NOT NULL,
  seq INTEGER NOT NULL,
  id BLOB NOT NULL,
  PRIMARY KEY (hub, seq)
) STRICT, WITHOUT ROWID;
INSERT OR REPLACE INTO witnessed_records SELECT rest(m.name, 'witnesses of '), json_extract(record.value, '$[0]'),
  from_base64url(json_extract(record.value, '$[1]')) FROM memory AS m JOIN json_each(CAST(m.value AS TEXT), '$.agreed') AS record
  WHERE rest(m.name, 'witnesses of ') IS NOT NULL;
-- Heads of supply chains as receipts and audits showed them, past which no audit has read.
CREATE TABLE supply_heads (
  key INTEGER PRIMARY KEY,
  hub TEXT NOT NULL,
  seq INTEGER NOT NULL,
  id BLOB NOT NULL,
  UNIQUE (hub, seq)
) STRICT;
INSERT INTO supply_heads (hub, seq, id) SELECT rest(m.name, 'supply heads of '), json_extract(head.value, '$[0]'),
  from_base64url(json_extract(head.value, '$[1]')) FROM memory AS m JOIN json_each(CAST(m.value AS TEXT)) AS head
  WHERE rest(m.name, 'supply heads of ') IS NOT NULL ORDER BY m.name, head.key;
-- When a key state of a hub was first seen here.
CREATE TABLE hub_keys_seen (
  hub TEXT NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (hub, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO hub_keys_seen SELECT substr(word, instr(word, ' of ') + 4), CAST(word AS INTEGER),
  CAST(CAST(value AS TEXT) AS INTEGER) FROM (SELECT rest(name, 'key ') AS word, value FROM memory)
  WHERE word GLOB '[0-9]* of *';

-- What calls and tasks in words wait for.
ALTER TABLE interactions ADD COLUMN open_price INTEGER;
ALTER TABLE interactions ADD COLUMN call_begun INTEGER NOT NULL DEFAULT 0;
UPDATE interactions SET open_price = CAST(CAST(m.value AS TEXT) AS INTEGER) FROM memory AS m
  WHERE interactions.id = rest(m.name, 'priced task ') AND side = 'received';
UPDATE interactions SET call_begun = 1 FROM memory AS m
  WHERE interactions.id = rest(m.name, 'running call ') AND side = 'received';

-- What hubs show of the keys of agents in two ways: forked, cut off, or otherwise than they sign; the proof of each.
CREATE TABLE contradictions (
  kind TEXT NOT NULL CHECK (kind IN ('fork', 'cut', 'notice')),
  aid TEXT NOT NULL,
  proof BLOB NOT NULL,
  PRIMARY KEY (kind, aid)
) STRICT, WITHOUT ROWID;
INSERT INTO contradictions SELECT 'fork', rest(name, 'fork:'), value FROM memory WHERE rest(name, 'fork:') IS NOT NULL;
INSERT INTO contradictions SELECT 'cut', rest(name, 'cut:'), value FROM memory WHERE rest(name, 'cut:') IS NOT NULL;
INSERT INTO contradictions SELECT 'notice', rest(name, 'notice:'), value FROM memory
  WHERE rest(name, 'notice:') IS NOT NULL;

-- Proof of work that was found, until its hub took it or its time is over.
CREATE TABLE pow_solutions (
  hub TEXT PRIMARY KEY,
  seed BLOB NOT NULL,
  nonce BLOB NOT NULL,
  not_after INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO pow_solutions SELECT rest(name, 'pow:'), cbor_item(value, 0), cbor_item(value, 1), cbor_item(value, 2)
  FROM memory WHERE rest(name, 'pow:') IS NOT NULL;

-- Notes of the blackboard.
CREATE TABLE notes (name TEXT PRIMARY KEY, version INTEGER NOT NULL, text TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO notes SELECT note.key, json_extract(note.value, '$.version'), json_extract(note.value, '$.text')
  FROM memory AS m JOIN json_each(CAST(m.value AS TEXT)) AS note WHERE m.name = 'blackboard';

-- The last answers of the auto-reply, the newest last; and all of its runs within the hour, for its limits.
CREATE TABLE auto_replies (
  key INTEGER PRIMARY KEY,
  interaction_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  event TEXT NOT NULL CHECK (event IN ('answered', 'failed')),
  ms INTEGER NOT NULL,
  cost TEXT
) STRICT;
CREATE TABLE auto_reply_runs (
  key INTEGER PRIMARY KEY,
  peer TEXT NOT NULL,
  at INTEGER NOT NULL,
  ms INTEGER NOT NULL
) STRICT;
INSERT INTO auto_replies (interaction_id, at, event, ms, cost) SELECT json_extract(run.value, '$.interaction_id'),
  json_extract(run.value, '$.at'), json_extract(run.value, '$.event'), json_extract(run.value, '$.ms'),
  json_extract(run.value, '$.cost') FROM memory AS m JOIN json_each(CAST(m.value AS TEXT)) AS run
  WHERE m.name = 'answers of the auto-reply' ORDER BY run.key DESC;
INSERT INTO auto_reply_runs (peer, at, ms) SELECT json_extract(run.value, '$.peer'), json_extract(run.value, '$.at'),
  json_extract(run.value, '$.ms') FROM memory AS m JOIN json_each(CAST(m.value AS TEXT)) AS run
  WHERE m.name = 'runs of the auto-reply' ORDER BY run.key;

DROP TABLE memory;
`
