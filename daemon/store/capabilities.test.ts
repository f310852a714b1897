/** Delivery credentials as the store keeps them. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  dropOtherEpochs,
  dropUpTo,
  dueRevocations,
  forgetUnspent,
  keepHeld,
  nextBatch,
  noteIssued,
  noteSpent,
  refundHeld,
  removeExpired,
  removeRevocations,
  renewUses,
  revokeIssued,
  spendHeld,
  trimHeld,
  voidAllIssued,
} from './capabilities.ts'
import { openStoreAt, type Store } from './open.ts'

let store: Store
beforeEach(() => {
  store = openStoreAt(':memory:')
})
afterEach(() => store.close())

const id = (n: number) => Uint8Array.of(n)
const keep = (n: number, { batch = 1, epoch = 1, expiresAt = 9000 } = {}) =>
  keepHeld(store, {
    id: id(n),
    peer: 'Apeer',
    epoch: id(epoch),
    body: id(0),
    signature: id(0),
    holderSeed: id(0),
    expiresAt,
    bytesMax: 1,
    batch,
  })
const held = () =>
  store.all<{ id: Uint8Array; uses: number }>('SELECT id, uses FROM capabilities_held ORDER BY id')
const ids = () => held().map(row => row.id[0])

describe('what is held of a peer', () => {
  test('is spent and given back, never below none, and renewed with the day', () => {
    keep(1)
    spendHeld(store, id(1))
    spendHeld(store, id(1))
    refundHeld(store, id(1))
    expect(held()).toMatchObject([{ uses: 1 }])
    renewUses(store)
    refundHeld(store, id(1))
    expect(held()).toMatchObject([{ uses: 0 }])
  })

  test('is trimmed to those used least, and of these to the ones that last longest', () => {
    keep(1, { expiresAt: 1000 })
    keep(2)
    keep(3)
    spendHeld(store, id(2))
    trimHeld(store, 'Apeer', 2)
    expect(ids()).toEqual([1, 3])
  })

  test('of another epoch is dropped, down to the last one', () => {
    expect(dropOtherEpochs(store, 'Apeer', id(2))).toBe(false)
    keep(1, { epoch: 1 })
    keep(2, { epoch: 2 })
    expect([dropOtherEpochs(store, 'Apeer', id(2)), ids()]).toEqual([true, [2]])
    expect(dropOtherEpochs(store, 'Apeer', id(2))).toBe(false)
  })

  test('is dropped up to one that failed, as far as newer ones can be spent', () => {
    expect(nextBatch(store, 'Apeer')).toBe(1)
    keep(1)
    expect([dropUpTo(store, 'Apeer', id(1), 1), nextBatch(store, 'Apeer')]).toEqual([false, 2])
    keep(2, { batch: 2 })
    spendHeld(store, id(2))
    expect(dropUpTo(store, 'Apeer', id(1), 1)).toBe(false)
    renewUses(store)
    expect([dropUpTo(store, 'Apeer', id(1), 1), ids()]).toEqual([true, [2]])
  })
})

describe('what was issued to a peer', () => {
  const used = () => store.all<{ used: number }>('SELECT used FROM capabilities_issued ORDER BY id')

  test('is unspent, spent or forgotten, in the numbers of stores that exist', () => {
    for (const n of [1, 2]) noteIssued(store, { id: id(n), peer: 'Apeer', expiresAt: 9000 })
    noteSpent(store, id(1))
    expect(used()).toEqual([{ used: 1 }, { used: 0 }])
    forgetUnspent(store, 'Apeer')
    expect(used()).toEqual([{ used: 1 }, { used: 2 }])
  })

  test('is taken back at the hub as long as it would last, and no more once all of it is void', () => {
    noteIssued(store, { id: id(1), peer: 'Apeer', expiresAt: 9000 })
    noteIssued(store, { id: id(2), peer: 'Apeer', expiresAt: 5000 })
    revokeIssued(store, 'Apeer', 5000)
    const due = (now = 0) => dueRevocations(store, now, 9)
    expect([used(), due()]).toEqual([[], [id(1)]])
    expect([due(8999), due(9000)]).toEqual([[id(1)], []])
    removeExpired(store, 8999)
    expect(due()).toEqual([id(1)])
    removeExpired(store, 9000)
    expect(due()).toEqual([])
    noteIssued(store, { id: id(3), peer: 'Apeer', expiresAt: 9000 })
    revokeIssued(store, 'Apeer', 0)
    removeRevocations(store, [id(3)])
    noteIssued(store, { id: id(4), peer: 'Apeer', expiresAt: 9000 })
    voidAllIssued(store)
    expect([used(), due()]).toEqual([[], []])
  })
})
