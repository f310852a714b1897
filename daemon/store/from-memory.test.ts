import { copyFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cidText } from '../../protocol/crypto/hash.ts'
import { toBase64, toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { type CborValue, encode } from '../../protocol/encoding/cbor.ts'
import { type Database, openDatabase } from '../platform/sqlite.ts'
import { autoReplies, autoReplyRuns } from './auto-replies.ts'
import { contradicted } from './contradictions.ts'
import { fromMemory } from './from-memory.ts'
import {
  acceptedUntil,
  alarmed,
  alarmOf,
  lastComparison,
  lastSupplyRead,
  lostAskedOf,
  refusals,
  unprovenSince,
  witnessedOf,
} from './hub-accounts.ts'
import { hubKeySeenAt } from './hub-keys-seen.ts'
import { findInteractionById } from './interactions.ts'
import { lasting } from './lasting.ts'
import { lostOrderRows } from './lost-orders.ts'
import { allNotes } from './notes.ts'
import { openStoreAt, type Store } from './open.ts'
import { toldRefunds, waitingRefunds } from './open-payments.ts'
import { givenBack, paymentOf } from './payments.ts'
import { solutionFor } from './pow-solutions.ts'
import { openRedemptions } from './redemptions.ts'
import { isRefundNoted } from './refunds.ts'
import { answeredTo, areContactsDue, lastRestore, restoredAt, restores } from './restores.ts'
import { seenHeads } from './supply-heads.ts'
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

const cid = (fill: number) => Uint8Array.of(1, 0x55, 0x12, 0x20, ...bytes(fill))
const NETWORK = 'hub:svcx:hub'

/** Three payments of an older home: one that this node gives back, one that it got back, one whose hub lost it. */
function addPayments(database: Database): void {
  const task =
    database.prepare(`INSERT INTO interactions (key, id, delegator, peer, side, state, preview, request_cid,
    started_at, updated_at, deadline_at) VALUES (?1, 'i' || CAST(?1 AS INTEGER), 'd', 'p', ?2, 'ended', '', '', 1, 1, 1)`)
  const pay =
    database.prepare(`INSERT INTO payments (interaction, side, payment, amount, network, authorization, salt, state,
    at) VALUES (?, ?, ?, 5, '${NETWORK}', x'00', x'00', 'ended', 1)`)
  for (const [key, side] of [
    [101, 'payee'],
    [102, 'payer'],
    [103, 'payee'],
  ] as const) {
    task.run(key, side === 'payee' ? 'received' : 'sent')
    pay.run(key, side, cid(key))
  }
}

test('refunds and losses of an older home stand beside their payments', () => {
  const values = {
    [`refund of ${cidText(cid(101))}`]: bytes(41, 8),
    'refund for 102': bytes(42, 8),
    [`refunded ${cidText(cid(102))}`]: utf8('3'),
    [`refunded ${cidText(cid(9))}`]: utf8('4'),
    [`lost holds accepted of ${NETWORK}`]: json([cidText(cid(103))]),
  }
  const store = opened(values, addPayments)
  expect(waitingRefunds(store).map(({ interaction, refund }) => [interaction, refund])).toEqual([
    [101, bytes(41, 8)],
  ])
  expect(toldRefunds(store).map(({ interaction, refundTold }) => [interaction, refundTold])).toEqual([
    [102, bytes(42, 8)],
  ])
  expect([101, 102, 103].map(key => givenBack(store, cid(key)))).toEqual([0, 3, 0])
  expect([isRefundNoted(store, cid(9)), isRefundNoted(store, cid(102))]).toEqual([true, false])
  expect([101, 102, 103].map(key => paymentOf(store, key)?.lossAccepted)).toEqual([0, 0, 1])
  store.close()
})

test('open redemptions and orders of lost copies of an older home stay', () => {
  const unproven = { state: 'unproven', seq: 8, transaction: '', amount: 2, atMs: 30, reason: 'payment' }
  const store = opened({
    'redemption 7 bill 1 of 2': bytes(51, 8),
    'redemption 10 svc-00': bytes(52, 8),
    'signed by a lost copy bfirst': json({
      seq: 4,
      atMs: 20,
      reason: 'held',
      authorization: toBase64(bytes(53)),
      moved: 0,
    }),
    'signed by a lost copy bother': json({
      seq: 5,
      atMs: 21,
      reason: 'refund',
      counterparty: 'svcx:bob',
      authorization: toBase64(bytes(54)),
    }),
    'lost orders asked of svcx:hub': json({ settledMs: 11, atMs: 12, unproven: [unproven] }),
  })
  expect(openRedemptions(store)).toEqual([
    { amount: 7, reference: 'bill 1 of 2', authorization: bytes(51, 8), refused: 0 },
    { amount: 10, reference: 'svc-00', authorization: bytes(52, 8), refused: 0 },
  ])
  expect(lostOrderRows(store)).toEqual([
    { id: 'bfirst', seq: 4, at: 20, reason: 'held', counterparty: null, authorization: bytes(53), moved: 0 },
    {
      id: 'bother',
      seq: 5,
      at: 21,
      reason: 'refund',
      counterparty: 'svcx:bob',
      authorization: bytes(54),
      moved: null,
    },
  ])
  expect(lostAskedOf(store, 'svcx:hub')).toEqual({ settledMs: 11, atMs: 12 })
  const debit = { seq: 8, id: '', amount: 2, at: 30, counterparty: null, reason: 'payment' }
  expect([unprovenSince(store, 11), unprovenSince(store, 10)]).toEqual([[debit], []])
  store.close()
})

test('what an older home knows of hubs stays: alarms, comparisons, audits, witnesses, heads and key states', () => {
  const store = opened({
    'alarm about svcx:hub': utf8('it shows two histories'),
    'ledger of svcx:hub': json({ seq: 3, sum: 90, atMs: 5, acceptedSeq: 2 }),
    'ledger of svcx:other': json({ seq: 1, sum: 10, atMs: 6 }),
    'ledger accepted of svcx:hub': json(77),
    'account refused by svcx:other': json({ url: 'http://other', code: 'blocked' }),
    'supply of svcx:hub': json({
      length: 6,
      head: toBase64url(bytes(61)),
      issued: 100,
      retired: 1,
      roots: ['AA'],
    }),
    'supply of svcx:other': json({ length: 2, head: toBase64url(bytes(62)), issued: 5, retired: 0 }),
    'witnesses of svcx:hub': json({ lastMs: 8, isStale: true, agreed: [[1, toBase64url(bytes(63))]] }),
    'supply heads of svcx:hub': json([
      [4, toBase64url(bytes(64))],
      [2, toBase64url(bytes(65))],
    ]),
    'key 12 of svcx:hub': utf8('1700000000006'),
  })
  expect([alarmOf(store, 'svcx:hub'), alarmed(store)]).toEqual(['it shows two histories', ['svcx:hub']])
  expect(lastComparison(store, 'svcx:hub')).toEqual({ seq: 3, sum: 90, atMs: 5, acceptedSeq: 2 })
  expect(lastComparison(store, 'svcx:other')).toEqual({ seq: 1, sum: 10, atMs: 6 })
  expect([acceptedUntil(store, 'svcx:hub'), acceptedUntil(store, 'svcx:other')]).toEqual([77, 0])
  expect(refusals(store)).toEqual([{ url: 'http://other', code: 'blocked' }])
  expect(lastSupplyRead(store, 'svcx:hub')).toEqual({
    length: 6,
    head: bytes(61),
    issued: 100,
    retired: 1,
    roots: ['AA'],
  })
  expect(lastSupplyRead(store, 'svcx:other')).toEqual({ length: 2, head: bytes(62), issued: 5, retired: 0 })
  expect(witnessedOf(store, 'svcx:hub')).toEqual({ lastMs: 8, isStale: true, agreed: [[1, bytes(63)]] })
  expect(witnessedOf(store, 'svcx:other')).toBeUndefined()
  expect([...seenHeads(store, 'svcx:hub')]).toEqual([
    [4, bytes(64)],
    [2, bytes(65)],
  ])
  expect([hubKeySeenAt(store, 'svcx:hub', 12), hubKeySeenAt(store, 'svcx:hub', 1)]).toEqual([
    1_700_000_000_006,
    undefined,
  ])
  store.close()
})

test('marks of tasks of an older home stand in their rows', () => {
  const values = { 'priced task i101': utf8('5'), 'running call i103': utf8('time') }
  const store = opened(values, addPayments)
  const marks = ['i101', 'i102', 'i103'].map(id => findInteractionById(store, id))
  expect(marks.map(row => [row?.openPrice, row?.callBegun])).toEqual([
    [5, 0],
    [null, 0],
    [null, 1],
  ])
  store.close()
})

test('contradictions, solutions, notes and runs of an older home stay', () => {
  const runs = [2, 1].map(at => ({ interaction_id: `i${at}`, at, event: 'answered', ms: 3 }))
  const store = opened({
    'fork:svcx:bob': bytes(71, 8),
    'cut:svcx:carol': bytes(72, 8),
    'notice:svcx:dave': bytes(73, 8),
    'pow:svcx:hub': cbor(bytes(74), bytes(75, 8), 1_700_000_000_007),
    blackboard: json({ plan: { version: 2, text: 'a b' }, 'to.do': { version: 1, text: '' } }),
    'answers of the auto-reply': json([{ ...runs[0], cost: '0.01 USD' }, runs[1]]),
    'runs of the auto-reply': json([
      { peer: 'svcx:bob', at: 1, ms: 0 },
      { peer: 'svcx:carol', at: 2, ms: 9 },
    ]),
  })
  const kinds = ['fork', 'cut', 'notice'] as const
  expect(kinds.map(kind => contradicted(store, kind))).toEqual([['svcx:bob'], ['svcx:carol'], ['svcx:dave']])
  expect(solutionFor(store, 'svcx:hub')).toEqual({
    seed: bytes(74),
    nonce: bytes(75, 8),
    notAfter: 1_700_000_000_007,
  })
  expect(allNotes(store)).toEqual([
    { name: 'plan', version: 2, text: 'a b' },
    { name: 'to.do', version: 1, text: '' },
  ])
  expect(autoReplies(store)).toEqual([
    { interactionId: 'i2', at: 2, event: 'answered', ms: 3, cost: '0.01 USD' },
    { interactionId: 'i1', at: 1, event: 'answered', ms: 3, cost: null },
  ])
  expect(autoReplyRuns(store)).toEqual([
    { peer: 'svcx:bob', at: 1, ms: 0 },
    { peer: 'svcx:carol', at: 2, ms: 9 },
  ])
  store.close()
})
