import { copyFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import { type CborValue, encode } from '../../protocol/encoding/cbor.ts'
import { type Database, openDatabase } from '../platform/sqlite.ts'
import { fromMemory } from './from-memory.ts'
import { lasting } from './lasting.ts'
import { openStoreAt, type Store } from './open.ts'
import { answeredTo, areContactsDue, lastRestore, restoredAt, restores } from './restores.ts'
import { upgrades } from './upgrades.ts'

const OLD_HOME = new URL('../../fixtures/homes/0.3.0-hub-wire-3/node/interactions/store.db', import.meta.url)
const OLD_SCHEMA = 3

const json = (value: unknown) => utf8(JSON.stringify(value))
const cbor = (...items: CborValue[]) => encode(items)
const bytes = (fill: number, length = 32) => new Uint8Array(length).fill(fill)

/** A home as the build before left it, with these values, once this build has opened it. */
function opened(values: Record<string, Uint8Array>, before: (database: Database) => void = () => {}): Store {
  const path = join(mkdtempSync(join(tmpdir(), 'svc-memory-')), 'store.db')
  copyFileSync(OLD_HOME, path)
  const database = openDatabase(path)
  const at = upgrades.indexOf(fromMemory)
  for (const step of upgrades.slice(OLD_SCHEMA - 1, at)) database.exec(step)
  before(database)
  const keep = database.prepare('INSERT OR REPLACE INTO memory VALUES (?, ?)')
  for (const [name, value] of Object.entries(values)) keep.run(name, value)
  database.exec(`PRAGMA user_version = ${at + 1}`)
  database.close()
  return openStoreAt(path)
}

test('single values of an older home stay: marks, times, places, heads and the checkpoint', () => {
  const here = { machine: 'one', dir: '/home/a', folder: 7 }
  const store = opened({
    'chain-checkpoint': bytes(1, 106),
    'restored from an archive': utf8('1700000000001'),
    'contacts to ask after a restore': utf8('yes'),
    'head that a peer holds': cbor(bytes(2, 36), 9, bytes(3)),
    'heads of a lost copy': cbor(12, 1),
    'old copy accepted': utf8('yes'),
    'key set due above those of lost copies': utf8('raise'),
    place: json(here),
    'second copy': json({ atMs: 5, former: here, here }),
    'copy seen': utf8('1700000000002'),
    'taken over': json({ atMs: 6 }),
    'new mailbox due': utf8('due'),
    'outbox made ready under': utf8('2'),
    'identity made anew': utf8('1700000000003 svcx:before'),
    'last given up at': utf8('1700000000004'),
    'capability-uses-day': utf8('20778'),
  })
  expect(store.get('SELECT * FROM lasting')).toEqual({
    one: 1,
    chain_checkpoint: bytes(1, 106),
    restored_from: 1_700_000_000_001,
    contacts_due: 1,
    contradicting_peer: bytes(2, 36),
    contradicting_length: 9,
    contradicting_id: bytes(3),
    lost_beyond: 12,
    lost_kel_seq: 1,
    copy_accepted: 1,
    key_set_due: 'raise',
    place: JSON.stringify(here),
    second_copy: JSON.stringify({ atMs: 5, former: here, here }),
    taken_over: JSON.stringify({ atMs: 6 }),
    copy_seen_at: 1_700_000_000_002,
    mailbox_due: 1,
    outbox_kel_seq: 2,
    anew_from: 'svcx:before',
    anew_at: 1_700_000_000_003,
    gave_up_at: 1_700_000_000_004,
    uses_day: 20_778,
  })
  expect([restoredAt(store), areContactsDue(store)]).toEqual([1_700_000_000_001, true])
  store.close()
})

test('an older home without any of them has none', () => {
  const store = opened({})
  expect(lasting(store, 'outboxKelSeq')).toBe(1)
  expect([restoredAt(store), areContactsDue(store), lasting(store, 'keySetDue')]).toEqual([
    undefined,
    false,
    undefined,
  ])
  expect(restores(store)).toEqual([])
  store.close()
})

test('restores of an older home stay in their order, and what was answered since', () => {
  const all = [1, 2].map(n => ({ madeAtMs: 10 * n, settledMs: 10 * n + 5, lastTask: n }))
  const store = opened({
    restores: json(all),
    'last restore': json(all[1]),
    'numbers answered by svcx:bob': utf8('1700000000005'),
  })
  expect([restores(store), lastRestore(store)]).toEqual([all, all[1]])
  expect([answeredTo(store, 'svcx:bob'), answeredTo(store, 'svcx:carol')]).toEqual([1_700_000_000_005, 0])
  store.close()
  const before = opened({ 'last restore': json({ madeAtMs: 1, settledMs: 2 }) })
  expect(restores(before)).toEqual([{ madeAtMs: 1, settledMs: 2 }])
  before.close()
})
