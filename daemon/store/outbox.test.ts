import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { kinds } from '../../protocol/mail/payload.ts'
import { agent, seeded } from '../../protocol/testing/agents.ts'
import { openStoreAt, type Store } from './open.ts'
import {
  doubtAtHub,
  dueEntries,
  entriesToAskAbout,
  hurryEntries,
  markAtHub,
  nextEntryAt,
  outboxEntry,
  removeEntry,
  SESSION,
  sendAgainAt,
} from './outbox.ts'
import { atHubSize, outboxSize } from './outbox-sizes.ts'
import { ownReason } from './reasons.ts'
import { Threads } from './threads.ts'

const [own, peer, other] = ['own', 'peer', 'other'].map(name => agent(name).aid) as [string, string, string]
const NOW = 1000
let store: Store
let threads: Threads

beforeEach(() => {
  store = openStoreAt(':memory:')
  threads = new Threads(store, { aid: own }, { now: () => NOW, random: seeded('outbox'), onQueued: () => {} })
})
afterEach(() => store.close())

const queued = (to = peer): number =>
  threads.queueLoose(to, { kind: kinds.capabilities, payload: new Uint8Array(1), text: '', numbered: false })
    .key
/** A message that the hub has, and may be asked about from `nextAt` on. */
function sent(
  nextAt: number,
  { to = peer, credential = 'one', viaHub = null as string | null } = {},
): number {
  const message = queued(to)
  const at = { rid: `r${message}`, viaHub, credential, expiresAt: 9, nextAt, lastError: null }
  expect(markAtHub(store, message, at)).toBe(true)
  return message
}
const asked = (max = 10) => entriesToAskAbout(store, NOW, max).map(({ message }) => message)

describe('a message in the outbox', () => {
  test('is at the hub once; settled or sent already, nothing is noted', () => {
    const message = sent(NOW)
    const again = { rid: 'x', viaHub: null, credential: SESSION, expiresAt: 9, nextAt: NOW, lastError: null }
    expect(markAtHub(store, message, again)).toBe(false)
    expect(outboxEntry(store, message)).toMatchObject({ state: 'at_hub', rid: `r${message}` })
    const behind = queued()
    expect([outboxSize(store), atHubSize(store)]).toEqual([2, 1])
    removeEntry(store, behind)
    removeEntry(store, message)
    expect(markAtHub(store, message, again)).toBe(false)
    expect(outboxEntry(store, message)).toBeUndefined()
    expect([outboxSize(store), nextEntryAt(store)]).toEqual([0, undefined])
  })

  test('is one of at most 32 that are taken up at a time, the longest due first', () => {
    const made = Array.from({ length: 40 }, () => queued())
    for (const [n, message] of made.entries()) sendAgainAt(store, message, { at: NOW - n, ...ownReason('x') })
    const due = dueEntries(store, NOW).map(({ message }) => message)
    expect(due).toEqual(made.slice(-32).reverse())
  })

  test('is hurried only where it waits for a stock, of this peer, later than now', () => {
    const waits = (to: string, at: number, waitsFor?: 'stock') => {
      const message = queued(to)
      sendAgainAt(store, message, { at, ...ownReason('x'), waitsFor })
      return message
    }
    const first = waits(peer, NOW + 5, 'stock')
    const elsewhere = waits(other, NOW + 5, 'stock')
    const offline = waits(peer, NOW + 5)
    expect(hurryEntries(store, peer, NOW)).toBe(true)
    const times = [first, elsewhere, offline].map(message => outboxEntry(store, message)?.nextAt)
    expect(times).toEqual([NOW, NOW + 5, NOW + 5])
    expect(hurryEntries(store, peer, NOW)).toBe(false)
  })
})

test('a hub that may have lost what it held puts what lies at another one in no doubt', () => {
  const [own, far, other] = [
    sent(NOW + 9),
    sent(NOW + 9, { viaHub: 'far' }),
    sent(NOW + 9, { viaHub: 'other' }),
  ]
  const doubted = () => [own, far, other].map(message => outboxEntry(store, message)?.doubted)
  doubtAtHub(store, NOW, 'far')
  expect(doubted()).toEqual([0, 1, 0])
  doubtAtHub(store, NOW, null)
  expect(doubted()).toEqual([1, 1, 0])
  expect(outboxEntry(store, other)?.nextAt).toBe(NOW + 9)
})

describe('one question', () => {
  test('is about nothing before the time of something has come', () => {
    sent(NOW + 1)
    expect(asked()).toEqual([])
    const due = sent(NOW)
    expect(asked()).toContain(due)
  })

  test('holds what went to the same recipient under the same credential by the same hub, up to a limit', () => {
    const first = sent(NOW - 1)
    const same = sent(NOW + 7)
    sent(NOW, { credential: 'two' })
    sent(NOW, { to: other })
    sent(NOW, { viaHub: 'https://previous.test' })
    queued()
    expect(asked()).toEqual([first, same])
    expect(asked(1)).toEqual([first])
  })

  test('is about one message alone where its credential was not noted', () => {
    const first = sent(NOW - 1)
    const second = sent(NOW - 1)
    store.run('UPDATE outbox SET credential = NULL')
    expect(asked()).toEqual([first])
    removeEntry(store, first)
    expect(asked()).toEqual([second])
  })
})
