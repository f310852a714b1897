/** What pictures say: each in a sentence and a table, and by marks of the right kind. */
import { describe, expect, test } from 'vitest'
import { firstView, type View } from '../../../view/state.ts'
import { ALICE, BOB, item, NOW, viewOf } from '../../../view/testing.ts'
import type { App } from '../app.ts'
import type { Drawn } from '../h.ts'
import { chainPicture } from './chain.ts'
import { daysPicture } from './days.ts'
import { cut } from './frame.ts'
import { latencyPicture } from './latency.ts'
import { takenPicture } from './taken.ts'
import { trustPicture } from './trust.ts'

const app = (view: Partial<View>, open?: string) =>
  ({ view: { ...firstView, ...view }, ui: { open } }) as unknown as App

/** Everything of one kind in a picture. */
function* all(drawn: Drawn | undefined, tag: string): Generator<Drawn> {
  if (drawn === undefined) return
  if (drawn.tag === tag) yield drawn
  for (const kid of drawn.kids) if (typeof kid !== 'string') yield* all(kid, tag)
}
const textOf = (drawn: Drawn | string): string =>
  typeof drawn === 'string' ? drawn : drawn.kids.map(textOf).join('')
const says = (drawn: Drawn | undefined) => [...all(drawn, 'desc')].map(textOf).join()
const rows = (drawn: Drawn | undefined) =>
  [...all([...all(drawn, 'tbody')][0], 'tr')].map(row => row.kids.map(textOf))
const classes = (drawn: Drawn | undefined, tag: string) =>
  [...all(drawn, tag)].map(({ props }) => props['class'])
const texts = (drawn: Drawn | undefined) => [...all(drawn, 'text')].map(textOf)

describe('the picture of the chain', () => {
  const record = (seq: number, event_type: string, more: object = {}) => ({
    ...{ seq, event_type, id: `r${seq}`, prev_id: `r${seq - 1}`, timestamp: NOW },
    ...more,
  })
  const chain = (records: object[], items: View['interactions'] = new Map()) =>
    app({ evidence: { ...firstView.evidence, records: records as never }, interactions: items }, '1')
  const receipt = { id: 'r', verified: true, status: 'OK', result_cid: 'c' }
  const id = 'A'.repeat(22)
  const signed = new Map([[id, item(1, { interaction_id: id, receipt: receipt as never })]])

  test('counts links that do not hold, and receipts of both sides', () => {
    const records = [
      record(3, 'svc.result.accepted', { corr_id: id }),
      record(2, 'svc.interaction.receipt', { corr_id: 'B'.repeat(22), prev_id: 'other' }),
      record(1, 'svc.delegation.sent'),
      record(0, 'svc.genesis'),
    ]
    const picture = chainPicture(chain(records, signed), NOW, false)
    expect(says(picture)).toBe(
      'The newest 4 records: 1 of the links do NOT hold; 1 belong to a receipt that both sides signed.',
    )
    expect(rows(picture).map(([, , link, peer, both]) => [link, peer, both])).toEqual([
      ['the first', '', ''],
      ['holds', '', ''],
      ['BROKEN', '', 'not by both yet'],
      ['holds', 'bob', 'both signed'],
    ])
    expect(classes(picture, 'rect')).toEqual([
      'record plain',
      'record plain open',
      'record wait',
      'record good',
    ])
    expect(classes(picture, 'line')).toEqual([
      'link holds',
      'link broken',
      'joint wait',
      'link holds',
      'joint good',
    ])
    expect(texts(picture).filter(text => text === '✓')).toHaveLength(2)
    expect(classes(picture, 'circle')).toEqual(['record wait', 'record good'])
    expect(texts(picture)).toContain('unknown')
  })

  test('shows the newest ten, five where there is little room', () => {
    const records = Array.from({ length: 12 }, (_, n) => record(12 - n, 'x'))
    const picture = (isNarrow: boolean) => chainPicture(chain(records), NOW, isNarrow)
    expect([rows(picture(false)).length, rows(picture(true)).length]).toEqual([10, 5])
    expect(says(picture(true))).toContain('every link that was looked at holds')
    expect(rows(picture(true))[0]?.[0]).toBe('#8')
  })
})

describe('the picture of the auto-reply', () => {
  const runs = (...given: object[]) =>
    latencyPicture(
      app({ autoReplyRuns: { runs: given.map(one => ({ at: NOW - 60_000, ...one })) } as never }),
      NOW,
    )
  const answered = (ms: number, more: object = {}) => ({ event: 'answered', ms, ...more })

  test('is none before the first run', () => {
    expect(runs()).toBeUndefined()
    expect(latencyPicture(app({}), NOW)).toBeUndefined()
  })

  test('says how long the middle answer took, what failed, and what the newest cost', () => {
    const picture = runs(
      answered(3_000, { cost: '$2' }),
      answered(1_000, { cost: '$1' }),
      { event: 'failed', ms: 9_000 },
      answered(2_000),
    )
    expect(says(picture)).toBe(
      '3 of the last answers; half of them within 2.0 s; 1 that failed; the last one cost $2.',
    )
    expect(rows(picture).map(([, what, took]) => [what, took])).toEqual([
      ['answered', '2.0 s'],
      ['failed', '9.0 s'],
      ['answered', '1.0 s'],
      ['answered', '3.0 s'],
    ])
    expect(classes(picture, 'rect')).toEqual([
      'fill delivered',
      'fill failed',
      'fill delivered',
      'fill delivered',
    ])
  })

  test('says where nothing failed, and where no cost is named', () => {
    expect(says(runs(answered(1_000)))).toBe(
      '1 of the last answers; half of them within 1.0 s; the backend names no cost.',
    )
    expect(says(runs({ event: 'failed', ms: 1 }))).toMatch(/^0 of the last answers; 1 that failed;/)
  })

  test('shows the newest forty, the highest as high as the picture', () => {
    const picture = runs(...Array.from({ length: 50 }, (_, n) => answered(n + 1)))
    expect(rows(picture)).toHaveLength(40)
    const heights = [...all(picture, 'rect')].map(({ props }) => Number(props['height']))
    expect([Math.max(...heights), Math.min(...heights)]).toEqual([104, 104 / 40])
    expect(Number([...all(runs(answered(0)), 'rect')][0]?.props['height'])).toBe(2)
  })
})

describe('the picture of tasks that were taken', () => {
  const pair = (n: number, ms: number) => [
    { seq: 2 * n + 1, event_type: 'svc.result.accepted', corr_id: `c${n}`, timestamp: NOW + ms },
    { seq: 2 * n, event_type: 'svc.delegation.sent', corr_id: `c${n}`, timestamp: NOW },
  ]
  const taken = (...ms: number[]) => {
    const records = ms.flatMap((one, n) => pair(n, one)) as never
    return takenPicture(app({ evidence: { ...firstView.evidence, records } }), NOW)
  }

  test('is none without a result, and says the middle of all', () => {
    expect(taken()).toBeUndefined()
    expect(says(taken(5_000))).toMatch(/^1 task that you delegated, .* half of them within 5.0 s\.$/)
    expect(says(taken(9_000, 1_000, 2_000))).toMatch(/^3 tasks .* within 2.0 s\.$/)
    expect(rows(taken(5_000, 1_000)).map(([, seq, took]) => [seq, took])).toEqual([
      ['1', '5.0 s'],
      ['3', '1.0 s'],
    ])
  })

  test('knows no time before its beginning, also where the clock was put back', () => {
    expect(says(taken(-5_000))).toMatch(/within 0.0 s\.$/)
  })

  test('shows the newest forty', () => {
    const picture = taken(...Array.from({ length: 45 }, (_, n) => n * 1_000))
    expect(rows(picture)).toHaveLength(40)
    expect(rows(picture).at(-1)?.[2]).toBe('44 s')
  })
})

describe('the picture of others', () => {
  test('is none where nobody is known', () => expect(trustPicture(app({}))).toBeUndefined())

  test('has a line for each, by what is proven, and says how many there are', () => {
    const receipt = { id: 'r', verified: true, status: 'OK', result_cid: 'c' } as never
    const { interactions } = viewOf([
      item(1, { receipt, rating: 5 }),
      item(2, { rating: 3 }),
      item(3, { peer: ALICE, peer_name: null }),
    ])
    const contacts = [{ aid: `A${'c'.repeat(43)}`, petname: 'carl', blocked: false, added_at: NOW }]
    const picture = trustPicture(app({ interactions, contacts }))
    expect(says(picture)).toMatch(/^3 in all, 1 with a receipt .* more tasks\.$/)
    expect(rows(picture).map(cells => cells.slice(1))).toEqual([
      ['2', '1', '5, 3'],
      ['1', '0', ''],
      ['0', '0', ''],
    ])
    const edges = [...all(picture, 'line')].map(({ key, props }) => [
      key,
      props['class'],
      props['stroke-width'],
    ])
    expect(edges).toEqual([
      [`edge-${ALICE}`, 'edge wait', '2.0'],
      [`edge-${BOB}`, 'edge good', '2.6'],
      [`edge-A${'c'.repeat(43)}`, 'edge none', '1.0'],
    ])
    expect([...classes(picture, 'circle')].filter(name => String(name).startsWith('dot')).sort()).toEqual([
      'dot good',
      'dot wait',
      'dot wait stranger',
    ])
  })

  test('says how many more stand in the table', () => {
    const contacts = Array.from({ length: 43 }, (_, n) => ({
      aid: `A${String(n).padStart(43, 'x')}`,
      petname: `n${n}`,
      blocked: false,
      added_at: NOW,
    }))
    const picture = trustPicture(app({ contacts }))
    expect(says(picture)).toContain(' 3 more stand in the table.')
    expect(rows(picture)).toHaveLength(43)
  })
})

describe('the picture of the last days', () => {
  const days = (more: Partial<View>) => daysPicture(app(more), NOW)

  test('says what became of tasks, and where not all are loaded', () => {
    const { interactions } = viewOf([
      item(0),
      item(1, { side: 'sent', delivery: { state: 'queued' } as never }),
      item(2, { side: 'sent', peer: BOB, state: 'failed' }),
      item(3, { side: 'sent' }),
      item(4, { side: 'sent', payment: { amount: 1, network: 'x', state: 'open' } }),
    ])
    expect(says(days({ interactions }))).toBe(
      '1 came to you. Of those that you sent, 1 were delivered, 1 are on their way, 1 were not delivered.',
    )
    const more = { loaded: true, loading: false, nextCursor: 'c' }
    const lists = { ...firstView.lists, sent: more } as never
    expect(says(days({ interactions, lists }))).toContain('; of the tasks that are loaded.')
  })

  test('names every third day, the last of them today, and draws only what there is', () => {
    const picture = days({ interactions: viewOf([item(0)]).interactions })
    const named = [...all(picture, 'text')].filter(({ props }) => props['class'] === 'label').map(textOf)
    expect(named).toHaveLength(5)
    expect(named.at(-1)).toBe('22 Nov')
    expect(classes(picture, 'rect').filter(name => name === 'fill came')).toHaveLength(2)
    expect(rows(picture)).toHaveLength(14)
    expect(rows(picture).at(-1)).toEqual(['22 Nov', '1', '0', '0', '0'])
  })
})

test('a name is cut by characters, where it has no room', () => {
  expect([cut('abc', 3), cut('abcd', 3), cut('😀😀😀', 3)]).toEqual(['abc', 'ab…', '😀😀😀'])
})
