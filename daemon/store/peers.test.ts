import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { agent } from '../../protocol/testing/agents.ts'
import { dropOtherEpochs, forgetUnspent, keepHeld, noteIssued, noteSpent } from './capabilities.ts'
import { counted, note } from './counters.ts'
import { openStoreAt, type Store } from './open.ts'
import { headKnownBefore, keepHead, keepPeer, noteHeadReturned, noteIntroduced, peerRow } from './peers.ts'

const [aid, other] = ['peer', 'other'].map(name => agent(name).aid) as [string, string]
let store: Store

beforeEach(() => {
  store = openStoreAt(':memory:')
  keepPeer(store, { aid, log: new Uint8Array(1), keys: null })
})
afterEach(() => store.close())

describe('what is known of a peer', () => {
  test('stays when its log and key set are kept anew', () => {
    noteIntroduced(store, aid, '1.1')
    keepHead(store, aid, { head: new Uint8Array([7]), length: 7, at: 5 })
    keepPeer(store, { aid, log: new Uint8Array(2), keys: new Uint8Array(3) })
    expect(peerRow(store, aid)).toEqual({
      aid,
      log: new Uint8Array(2),
      keys: new Uint8Array(3),
      introduced: '1.1',
    })
    expect(headKnownBefore(store, aid, 5)).toEqual(new Uint8Array([7]))
  })

  test('is the longest head alone, from the time at which the peer knew of it', () => {
    const kept = (length: number, at: number, whose = aid) =>
      keepHead(store, whose, { head: new Uint8Array([length]), length, at })
    expect(headKnownBefore(store, aid, 99)).toBeUndefined()
    expect([kept(7, 5), kept(7, 6), kept(6, 6), kept(8, 6)]).toEqual([true, false, false, true])
    expect(kept(9, 6, other)).toBe(false)
    expect(headKnownBefore(store, aid, 5)).toBeUndefined()
    expect(headKnownBefore(store, aid, 6)).toEqual(new Uint8Array([8]))
    noteHeadReturned(store, aid, 9)
    expect(headKnownBefore(store, aid, 8)).toBeUndefined()
    expect(headKnownBefore(store, aid, 9)).toEqual(new Uint8Array([8]))
  })
})

test('the stock of another epoch is dropped, and it is told whether there was any', () => {
  const epochs = [new Uint8Array(16), new Uint8Array(16).fill(1)] as const
  for (const [n, epoch] of epochs.entries())
    keepHeld(store, {
      id: new Uint8Array(16).fill(n),
      peer: aid,
      epoch,
      body: new Uint8Array(1),
      signature: new Uint8Array(64),
      holderSeed: new Uint8Array(32),
      expiresAt: 9,
      bytesMax: 9,
      batch: 1,
    })
  expect(dropOtherEpochs(store, aid, epochs[1])).toBe(true)
  expect(dropOtherEpochs(store, aid, epochs[1])).toBe(false)
})

test('what became of an issued capability is the number that stores of other releases hold', () => {
  const [spent, forgotten, unspent] = [1, 2, 3].map(n => new Uint8Array(16).fill(n)) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ]
  const issue = (id: Uint8Array) => noteIssued(store, { id, peer: aid, expiresAt: 9 })
  issue(spent)
  noteSpent(store, spent)
  issue(forgotten)
  forgetUnspent(store, aid)
  issue(unspent)
  const rows = store.all('SELECT id, used FROM capabilities_issued ORDER BY id')
  expect(rows).toEqual([
    { id: spent, used: 1 },
    { id: forgotten, used: 2 },
    { id: unspent, used: 0 },
  ])
})

test('what stands for the newest of something is replaced, and taken out', () => {
  note(store, 'claim', 4)
  note(store, 'claim', 3)
  expect(counted(store, 'claim')).toBe(3)
  note(store, 'claim', undefined)
  expect(counted(store, 'claim')).toBe(0)
})
