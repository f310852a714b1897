/** Who stands where in the picture of those one has worked with. */
import { describe, expect, test } from 'vitest'
import type { InteractionSummary } from '../../../protocol/control/shapes.ts'
import { type Peer, peersOf, placesOf } from './trust.ts'

const aid = (n: number) => `A${String(n).padStart(43, 'x')}`
const receipt = { id: 'r', verified: true, status: 'OK', result_cid: 'b' }
const task = (
  id: string,
  peer: number,
  given: Partial<InteractionSummary> = {},
): [string, InteractionSummary] => [
  id,
  { interaction_id: id, peer: aid(peer), peer_name: null, ...given } as InteractionSummary,
]
const contact = (peer: number, petname: string, blocked = false) => ({
  aid: aid(peer),
  petname,
  blocked,
  added_at: 1,
})

describe('who one has worked with', () => {
  const interactions = new Map([
    task('1', 1, { peer_name: 'bob', receipt, rating: 5 }),
    task('2', 1, { peer_name: 'bob' }),
    task('3', 2),
    task('4', 3, { receipt: { ...receipt, verified: false } }),
  ])
  const peers = peersOf({
    interactions,
    contacts: [contact(1, 'bob'), contact(4, 'dora'), contact(5, 'mallory', true)],
  })

  test('is counted by task and by receipt of both, contacts without a task too, the blocked not', () => {
    expect(peers.map(({ aid: _, ...rest }) => rest)).toEqual([
      { name: 'bob', isContact: true, tasks: 2, receipts: 1, rated: [5] },
      { name: 'Axxxxxxxxx…', isContact: false, tasks: 1, receipts: 0, rated: [] },
      { name: 'Axxxxxxxxx…', isContact: false, tasks: 1, receipts: 0, rated: [] },
      { name: 'dora', isContact: true, tasks: 0, receipts: 0, rated: [] },
    ])
  })

  test('stands by receipts, then by tasks, then by address', () => {
    const of = (peer: number, count: number, more: object = {}) =>
      Array.from({ length: count }, (_, n) => task(`${peer}.${n}`, peer, more))
    const many = new Map([...of(9, 1), ...of(8, 1), ...of(7, 2), ...of(6, 1, { receipt })])
    const order = peersOf({ interactions: many, contacts: [] }).map(peer => peer.aid)
    expect(order).toEqual([6, 7, 8, 9].map(aid))
  })

  test('stands on the inner ring with a receipt of both, else outside', () => {
    expect(
      placesOf(peers)
        .map(({ name, ring }) => [name, ring])
        .sort(),
    ).toEqual([
      ['Axxxxxxxxx…', 1],
      ['Axxxxxxxxx…', 1],
      ['bob', 0],
      ['dora', 1],
    ])
  })

  test('stands in the same place whatever order the facts come in', () => {
    const turned = new Map([...interactions].reverse())
    const again = peersOf({ interactions: turned, contacts: [contact(4, 'dora'), contact(1, 'bob')] })
    expect(placesOf(again)).toEqual(placesOf(peers))
  })

  test('no two stand in one place, and beyond forty the table has the rest', () => {
    const many = Array.from(
      { length: 60 },
      (_, n): Peer => ({ aid: aid(n), name: `n${n}`, isContact: true, tasks: 1, receipts: n % 2, rated: [] }),
    )
    const places = placesOf(many)
    expect(places).toHaveLength(40)
    expect(new Set(places.map(({ x, y }) => `${x} ${y}`)).size).toBe(40)
  })
})
