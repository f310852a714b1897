/** Where the marks of pictures are: bars between two lines, links beside each other, names where they have room. */
import { describe, expect, test } from 'vitest'
import { firstView, type View } from '../../../view/state.ts'
import { BOB, item, NOW, viewOf } from '../../../view/testing.ts'
import type { App } from '../app.ts'
import type { Drawn } from '../h.ts'
import { chainPicture } from './chain.ts'
import { daysPicture } from './days.ts'
import { latencyPicture } from './latency.ts'
import { takenPicture } from './taken.ts'
import { trustPicture } from './trust.ts'

const app = (view: Partial<View>) =>
  ({ view: { ...firstView, ...view }, ui: { open: undefined } }) as unknown as App

function* all(drawn: Drawn | undefined, tag: string): Generator<Drawn> {
  if (drawn === undefined) return
  if (drawn.tag === tag) yield drawn
  for (const kid of drawn.kids) if (typeof kid !== 'string') yield* all(kid, tag)
}
const textOf = (drawn: Drawn | string): string =>
  typeof drawn === 'string' ? drawn : drawn.kids.map(textOf).join('')
const props = (drawn: Drawn | undefined, tag: string, ...names: string[]) =>
  [...all(drawn, tag)].map(one => names.map(name => Number(one.props[name])))
const room = (drawn: Drawn | undefined) => [...all(drawn, 'svg')][0]?.props['viewBox']
const texts = (drawn: Drawn | undefined) =>
  [...all(drawn, 'text')].map(one => [textOf(one), Number(one.props['x']), Number(one.props['y'])])

const latency = (times: readonly number[]) =>
  latencyPicture(
    app({ autoReplyRuns: { runs: times.map(ms => ({ at: NOW, event: 'answered', ms })) } as never }),
    NOW,
  )
function taken(times: readonly number[]) {
  const records = times.flatMap((ms, n) => [
    { seq: 2 * n, event_type: 'svc.delegation.sent', corr_id: `c${n}`, timestamp: NOW },
    { seq: 2 * n + 1, event_type: 'svc.result.accepted', corr_id: `c${n}`, timestamp: NOW + ms },
  ])
  return takenPicture(app({ evidence: { ...firstView.evidence, records: records as never } }), NOW)
}

describe.each([
  ['answers', latency],
  ['tasks that were taken', taken],
])('the bars of %s', (_, picture) => {
  const few = picture([4_000, 4_000, 1_000])
  const bars = (times: readonly number[]) =>
    props(picture(times), 'rect', 'x', 'y', 'width', 'height').sort(([a = 0], [b = 0]) => a - b)

  test('stand on the lower line, and the longest reaches the upper one with its time', () => {
    expect(room(few)).toBe('0 0 560 150')
    expect(props(few, 'line', 'x1', 'x2', 'y1', 'y2')).toEqual([
      [0, 560, 124, 124],
      [0, 560, 20, 20],
    ])
    expect(bars([4_000, 4_000]).map(([, y = 0, , height = 0]) => [y, y + height])).toEqual([
      [20, 124],
      [20, 124],
    ])
    expect(texts(few)).toContainEqual(['4.0 s', 0, 15])
  })

  test('leave room for twelve, and share the whole width where they are more', () => {
    expect(bars([1, 1]).map(([x, , width]) => [x, width])).toEqual([
      [2, 28],
      [560 / 12 + 2, 28],
    ])
    const many = bars(Array(20).fill(1))
    expect([many.at(-1)?.[0], many[0]?.[2]]).toEqual([19 * 28 + 2, 24])
  })

  test('have older to the left and newest to the right', () => {
    expect(texts(few).slice(-2)).toEqual([
      ['older', 0, 142],
      ['newest', (3 * 560) / 12, 142],
    ])
  })

  test('are seen also where they took no time', () => {
    expect(bars([0]).map(([, , , height]) => height)).toEqual([2])
    expect(bars([1]).map(([, , , height]) => height)).toEqual([104])
  })
})

describe('the bars of days', () => {
  const days = (count: number) =>
    daysPicture(
      app({
        interactions: viewOf([
          ...Array.from({ length: count }, (_, n) => item(n)),
          item(90, { side: 'sent', created_at: NOW }),
        ]).interactions,
      }),
      NOW,
    )

  test('stand on the lower line, one kind on the other, and the highest day reaches the upper one', () => {
    const picture = days(3)
    expect(room(picture)).toBe('0 0 560 180')
    expect(props(picture, 'line', 'x2', 'y1')).toEqual([
      [560, 150],
      [560, 16],
    ])
    const step = (560 - 12) / 14
    const [came, sent] = props(picture, 'rect', 'x', 'y', 'width', 'height')
    expect(came).toEqual([13 * step + 6, 150 - 100.5, step - 12, 99.5])
    expect(sent).toEqual([13 * step + 6, 16, step - 12, 32.5])
    expect(texts(picture)[0]).toEqual(['4', 0, 12])
  })

  test('are measured by one task where no day has more', () => {
    expect(texts(daysPicture(app({}), NOW))[0]?.[0]).toBe('1')
    expect(texts(days(0))[0]?.[0]).toBe('1')
  })

  test('are named below the line, and the legend is below that', () => {
    const picture = days(1)
    expect(texts(picture).find(([text]) => text === '22 Nov')?.[2]).toBe(164)
    expect(texts(picture).slice(-4)).toEqual([
      ['came to me', 15, 178],
      ['sent, delivered', 153, 178],
      ['sent, on its way', 291, 178],
      ['sent, not delivered', 429, 178],
    ])
    expect(props(picture, 'rect', 'x', 'y').slice(-4)).toEqual([0, 138, 276, 414].map(x => [x, 169]))
  })
})

describe('the links of a chain', () => {
  const chain = (seqs: readonly number[], isNarrow = false) => {
    const records = seqs.map(seq => ({
      ...{ seq, id: `r${seq}`, prev_id: `r${seq - 1}`, timestamp: NOW },
      event_type: seq === 2 ? 'svc.interaction.receipt' : 'x',
    }))
    return chainPicture(
      app({ evidence: { ...firstView.evidence, records: records as never } }),
      NOW,
      isNarrow,
    )
  }

  test('are side by side, and the first that is shown hangs on what is before it', () => {
    const picture = chain([3, 2, 1])
    expect(room(picture)).toBe('0 0 728 140')
    expect(room(chain([3], true))).toBe('0 0 368 140')
    expect(props(picture, 'rect', 'x', 'y')).toEqual([
      [26, 26],
      [98, 26],
      [170, 26],
    ])
    const links = [...all(picture, 'line')].filter(one => String(one.props['class']).startsWith('link'))
    expect(links.map(one => [one.props['x1'], one.props['x2'], one.props['y1']])).toEqual([
      [6, 26, 40],
      [54, 98, 40],
      [126, 170, 40],
    ])
  })

  test('have what the other side signed below, with its name', () => {
    const picture = chain([3, 2, 1])
    expect(props(picture, 'circle', 'cx', 'cy')).toEqual([[112, 104]])
    expect(texts(picture)).toContainEqual(['unknown', 112, 132])
  })
})

describe('others around oneself', () => {
  const around = (tasks: number, petnames: readonly string[] = []) =>
    trustPicture(
      app({
        interactions: viewOf(Array.from({ length: tasks }, (_, n) => item(n, { peer: BOB }))).interactions,
        contacts: petnames.map((petname, n) => ({
          aid: `A${String(n).padStart(43, 'z')}`,
          ...{ petname, blocked: false, added_at: NOW },
        })),
      }),
    )

  test('are on two rings around the middle', () => {
    const picture = around(1)
    expect(room(picture)).toBe('0 0 400 350')
    expect(props(picture, 'circle', 'cx', 'cy', 'r')).toEqual([
      [200, 175, 78],
      [200, 175, 138],
      [200, 37, 8],
      [200, 175, 22],
    ])
  })

  test('have their names away from the middle', () => {
    const names = texts(around(0, ['one', 'two', 'three', 'four'])).map(([name, , y]) => [name, y])
    expect(names).toEqual([
      ['one', 23],
      ['two', 199],
      ['three', 337],
      ['four', 199],
      ['you', 180],
    ])
  })

  test('have a line as thick as there are tasks, up to seven', () => {
    const thick = (tasks: number) => [...all(around(tasks), 'line')][0]?.props['stroke-width']
    expect([thick(1), thick(3), thick(63), thick(200)]).toEqual(['2.0', '3.0', '7.0', '7.0'])
  })

  test('are larger with a receipt of both', () => {
    const receipt = { id: 'r', verified: true, status: 'OK', result_cid: 'c' } as never
    const { interactions } = viewOf([item(1, { receipt })])
    expect(props(trustPicture(app({ interactions })), 'circle', 'cy', 'r')[2]).toEqual([97, 10])
  })
})
