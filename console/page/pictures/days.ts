/** How the last days went: tasks of each day, those that came and those that went out, by what became of them. */
import type { InteractionSummary } from '../../../protocol/control/shapes.ts'
import { isQuote } from '../../../view/sentences.ts'
import type { App } from '../app.ts'
import { type Drawn, h } from '../h.ts'
import { picture } from './frame.ts'

const DAYS = 14
const DAY_MS = 86_400_000
const WIDTH = 560
const HEIGHT = 180
const BASE = 150
const TOP = 16
const STEP = (WIDTH - 12) / DAYS
const BAR = STEP - 12

const kinds = ['came', 'delivered', 'waiting', 'failed'] as const
type Kind = (typeof kinds)[number]
type Day = { start: number; counts: Record<Kind, number> }

const LEGEND: Record<Kind, string> = {
  came: 'came to me',
  delivered: 'sent, delivered',
  waiting: 'sent, on its way',
  failed: 'sent, not delivered',
}

const NAMES: Record<Kind, string> = {
  came: 'came to me',
  delivered: 'from me, delivered',
  waiting: 'from me, on its way',
  failed: 'from me, not delivered',
}

/** What became of a task on its way: what left is delivered, waits, or failed. */
export function kindOf({
  side,
  delivery,
  state,
}: Pick<InteractionSummary, 'side' | 'delivery' | 'state'>): Kind {
  if (side === 'received') return 'came'
  if (delivery?.state === 'failed' || state === 'failed') return 'failed'
  return delivery?.state === 'queued' || delivery?.state === 'at_hub' ? 'waiting' : 'delivered'
}

/** The last days, the oldest first, by the calendar of this machine. */
export function daysOf(items: Iterable<InteractionSummary>, now: number): Day[] {
  const midnight = new Date(now)
  midnight.setHours(0, 0, 0, 0)
  const days = Array.from({ length: DAYS }, (_, i): Day => {
    const start = new Date(midnight)
    start.setDate(start.getDate() - (DAYS - 1 - i))
    return { start: start.getTime(), counts: { came: 0, delivered: 0, waiting: 0, failed: 0 } }
  })
  for (const item of items) {
    // a price that was asked is no task
    if (isQuote(item)) continue
    const day = days.findLast(({ start }) => start <= item.created_at)
    if (day !== undefined && item.created_at < now + DAY_MS) day.counts[kindOf(item)] += 1
  }
  return days
}

export function daysPicture(app: App, now: number): Drawn {
  const days = daysOf(app.view.interactions.values(), now)
  const most = Math.max(1, ...days.map(({ counts }) => kinds.reduce((sum, kind) => sum + counts[kind], 0)))
  const total = (kind: Kind) => days.reduce((sum, { counts }) => sum + counts[kind], 0)
  const isPart = Object.values(app.view.lists).some(list => list.nextCursor !== undefined)
  return picture(
    {
      id: 'days',
      title: `Tasks of the last ${DAYS} days`,
      says: `${total('came')} came to you. Of those that you sent, ${total('delivered')} were delivered, ${total('waiting')} are on their way, ${total('failed')} were not delivered${isPart ? '; of the tasks that are loaded' : ''}.`,
      width: WIDTH,
      height: HEIGHT,
      table: {
        heads: ['Day', ...kinds.map(kind => NAMES[kind])],
        rows: days.map(({ start, counts }) => [dayName(start), ...kinds.map(kind => counts[kind])]),
      },
    },
    h('line', { class: 'axis', x1: 0, x2: WIDTH, y1: BASE, y2: BASE }),
    h('text', { x: 0, y: TOP - 4, class: 'label start' }, `${most}`),
    h('line', { class: 'axis faint', x1: 0, x2: WIDTH, y1: TOP, y2: TOP }),
    days.map((day, i) => bar(day, i, most)),
    legend(),
  )
}

function bar({ start, counts }: Day, i: number, most: number): Drawn {
  let y = BASE
  const scale = (BASE - TOP) / most
  const x = i * STEP + 6
  const parts = kinds
    .filter(kind => counts[kind] > 0)
    .map(kind => {
      const height = counts[kind] * scale
      y -= height
      return h('rect', {
        key: kind,
        class: `fill ${kind}`,
        x,
        y,
        width: BAR,
        height: Math.max(height - 1, 1),
        rx: 2,
      })
    })
  const isNamed = (DAYS - 1 - i) % 3 === 0
  return h(
    'g',
    { key: start },
    parts,
    isNamed && h('text', { x: x + BAR / 2, y: BASE + 14, class: 'label' }, dayName(start)),
  )
}

function legend(): Drawn {
  return h(
    'g',
    { key: 'legend' },
    kinds.map((kind, i) => [
      h('rect', {
        key: `${kind}-box`,
        class: `fill ${kind}`,
        x: i * 138,
        y: HEIGHT - 11,
        width: 10,
        height: 10,
        rx: 2,
      }),
      h('text', { key: `${kind}-name`, x: i * 138 + 15, y: HEIGHT - 2, class: 'label start' }, LEGEND[kind]),
    ]),
  )
}

const dayName = (at: number): string =>
  new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
