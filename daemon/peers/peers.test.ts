import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { decodeKel, encodeKel, incept, type KeyEvent, rotate } from '../../protocol/identity/kel.ts'
import { EVENT_AHEAD_MAX_MS } from '../../protocol/identity/kel-times.ts'
import { witnessedAt, witnessKel } from '../../protocol/identity/kel-witness.ts'
import type { HubClient } from '../hubs/hub.ts'
import { openStore } from '../store/open.ts'
import { PeerBook } from './peers.ts'

const seed = (n: number) => new Uint8Array(32).fill(n)
const now = 1_800_000_000_000
const logOf = (n: number) => incept({ seed: seed(n), nextSeed: seed(n + 1), ts: now })
const hub = logOf(10)
const otherHub = logOf(20)
const bare = rotate(logOf(30), { seed: seed(31), nextSeed: seed(32), ts: now + 1, home: hub.aid })
const signer = { aid: hub.aid, seq: 0, seed: seed(10) }
const genuine = witnessKel(bare, signer, now + 2)
const entryOf = (log: { events: readonly KeyEvent[] }) => log.events[1]?.witnesses ?? []

/** The peer's log as sent with these entries on its last event. */
function offered(...witnesses: ReturnType<typeof entryOf>): KeyEvent[] {
  const events = decodeKel(encodeKel(bare.events))
  return [events[0] as KeyEvent, { ...(events[1] as KeyEvent), witnesses }]
}

function book(): PeerBook {
  const identity = { aid: hub.aid, wire: 3, log: hub, bitsMax: 0 }
  const home = { identity } as unknown as HubClient
  return new PeerBook(openStore(mkdtempSync(join(tmpdir(), 'svc-peers-'))), () => now, { home })
}

const forged = (n: number) => ({
  hub: hub.aid,
  hubSeq: 0,
  ts: now + n,
  signature: new Uint8Array(64).fill(n),
})
const foreign = { hub: otherHub.aid, hubSeq: 0, ts: now, signature: new Uint8Array(64).fill(9) }

test('entries that do not verify never push out the genuine one of the own hub, however many come', () => {
  const peers = book()
  peers.learn(peers.merge(bare.aid, genuine.events), undefined)
  const merged = peers.merge(bare.aid, offered(forged(1), forged(2), foreign))
  expect(witnessedAt(merged, 1, hub)).toBe(now + 2)
  expect(
    entryOf(merged)
      .map(entry => entry.hub)
      .sort(),
  ).toEqual([hub.aid, otherHub.aid].sort())
})

test('a genuine entry of the own hub replaces one that is not', () => {
  const peers = book()
  peers.learn(peers.merge(bare.aid, offered(forged(1))), undefined)
  expect(witnessedAt(peers.merge(bare.aid, genuine.events), 1, hub)).toBe(now + 2)
})

test('an event of the future is not taken, neither first nor later, until its time has come', () => {
  const peers = book()
  const ahead = incept({ seed: seed(40), nextSeed: seed(41), ts: now + EVENT_AHEAD_MAX_MS + 1 })
  expect(() => peers.merge(ahead.aid, ahead.events)).toThrow(/from the future/)
  const held = peers.learn(peers.merge(bare.aid, bare.events), undefined).log
  const later = { seed: seed(32), nextSeed: seed(33), home: hub.aid }
  const far = rotate(held, { ...later, ts: now + EVENT_AHEAD_MAX_MS + 1 })
  expect(() => peers.merge(bare.aid, far.events)).toThrow(/from the future/)
  const near = rotate(held, { ...later, ts: now + EVENT_AHEAD_MAX_MS })
  expect(peers.merge(bare.aid, near.events).seq).toBe(2)
})

test('a log that brings nothing new is the one held', () => {
  const peers = book()
  const held = peers.learn(peers.merge(bare.aid, genuine.events), undefined).log
  expect(peers.merge(bare.aid, offered(...entryOf(genuine)))).toBe(held)
  expect(peers.merge(bare.aid, offered())).toBe(held)
})
