/** How long tasks took that were delegated, from the delegation to the accepted result, as the evidence chain holds both. */
import { clock, took } from '../../../view/ages.ts'
import type { View } from '../../../view/state.ts'
import type { App } from '../app.ts'
import { type Drawn, h } from '../h.ts'
import { picture } from './frame.ts'

const WIDTH = 560
const HEIGHT = 150
const BASE = 124
const TOP = 20
const SHOWN = 40
const STEPS_MIN = 12

type Taken = { seq: number; at: number; ms: number }

/** Tasks of which both records are here, the oldest result first. */
export function takenOf({ evidence: { records } }: Pick<View, 'evidence'>): Taken[] {
  const sent = new Map<string, number>()
  for (const { event_type, corr_id, timestamp } of records)
    if (event_type === 'svc.delegation.sent' && corr_id !== undefined) sent.set(corr_id, timestamp)
  return records
    .flatMap(({ event_type, corr_id = '', timestamp, seq }) => {
      const began = sent.get(corr_id)
      return event_type === 'svc.result.accepted' && began !== undefined
        ? [{ seq, at: timestamp, ms: Math.max(0, timestamp - began) }]
        : []
    })
    .sort((a, b) => a.seq - b.seq)
}

export function takenPicture(app: App, now: number): Drawn | undefined {
  const taken = takenOf(app.view).slice(-SHOWN)
  if (taken.length === 0) return undefined
  const most = Math.max(1, ...taken.map(({ ms }) => ms))
  const step = WIDTH / Math.max(taken.length, STEPS_MIN)
  return picture(
    {
      id: 'taken',
      title: 'How long tasks took',
      says: sayTaken(taken),
      width: WIDTH,
      height: HEIGHT,
      table: {
        heads: ['Result accepted', 'Record', 'Took'],
        rows: taken.map(({ at, seq, ms }) => [clock(at, now), seq, took(ms)]),
      },
    },
    h('line', { class: 'axis', x1: 0, x2: WIDTH, y1: BASE, y2: BASE }),
    h('line', { class: 'axis faint', x1: 0, x2: WIDTH, y1: TOP, y2: TOP }),
    h('text', { x: 0, y: TOP - 5, class: 'label start' }, took(most)),
    taken.map(({ seq, ms }, i) => {
      const height = Math.max(2, ((BASE - TOP) * ms) / most)
      return h('rect', {
        key: seq,
        class: 'fill delivered',
        x: i * step + 2,
        y: BASE - height,
        width: Math.min(step - 4, 28),
        height,
        rx: 2,
      })
    }),
    h('text', { x: 0, y: HEIGHT - 8, class: 'label start' }, 'older'),
    h('text', { x: taken.length * step, y: HEIGHT - 8, class: 'label end' }, 'newest'),
  )
}

function sayTaken(taken: readonly Taken[]): string {
  const times = taken.map(({ ms }) => ms).sort((a, b) => a - b)
  const middle = times[Math.floor(times.length / 2)] as number
  const many = taken.length === 1 ? '1 task' : `${taken.length} tasks`
  return `${many} that you delegated, from the delegation to the accepted result; half of them within ${took(middle)}.`
}
