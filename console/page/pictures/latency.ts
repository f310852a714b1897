/** How long the auto-reply took for its last answers, and what they cost where the backend says so. */
import { span, took } from '../../../view/ages.ts'
import { cleanLine } from '../../../view/clean.ts'
import type { View } from '../../../view/state.ts'
import type { App } from '../app.ts'
import { type Drawn, h } from '../h.ts'
import { picture } from './frame.ts'

const WIDTH = 560
const HEIGHT = 150
const BASE = 124
const TOP = 20
const SHOWN = 40

type Run = NonNullable<View['autoReplyRuns']>['runs'][number]

export function latencyPicture(app: App, now: number): Drawn | undefined {
  // the oldest first
  const runs = (app.view.autoReplyRuns?.runs ?? []).slice(0, SHOWN).reverse()
  const answered = runs.filter(({ event }) => event === 'answered')
  if (runs.length === 0) return undefined
  const most = Math.max(1, ...runs.map(({ ms }) => ms))
  const step = WIDTH / Math.max(runs.length, 12)
  return picture(
    {
      id: 'latency',
      title: 'Answers of the auto-reply',
      says: sayRuns(runs, answered),
      width: WIDTH,
      height: HEIGHT,
      table: {
        heads: ['When', 'What', 'Took', 'Cost'],
        rows: runs.map(run => [
          `${span(now - run.at)} ago`,
          run.event,
          took(run.ms),
          cleanLine(run.cost ?? ''),
        ]),
      },
    },
    h('line', { class: 'axis', x1: 0, x2: WIDTH, y1: BASE, y2: BASE }),
    h('line', { class: 'axis faint', x1: 0, x2: WIDTH, y1: TOP, y2: TOP }),
    h('text', { x: 0, y: TOP - 5, class: 'label start' }, took(most)),
    runs.map((run, i) => {
      const height = Math.max(2, ((BASE - TOP) * run.ms) / most)
      const kind = run.event === 'answered' ? 'delivered' : 'failed'
      return h('rect', {
        key: `${run.at} ${i}`,
        class: `fill ${kind}`,
        x: i * step + 2,
        y: BASE - height,
        width: Math.min(step - 4, 28),
        height,
        rx: 2,
      })
    }),
    h('text', { x: 0, y: HEIGHT - 8, class: 'label start' }, 'older'),
    h('text', { x: runs.length * step, y: HEIGHT - 8, class: 'label end' }, 'newest'),
  )
}

function sayRuns(runs: readonly Run[], answered: readonly Run[]): string {
  const times = answered.map(({ ms }) => ms).sort((a, b) => a - b)
  const middle = times[Math.floor(times.length / 2)]
  const costs = answered.flatMap(({ cost }) => cost ?? [])
  const failed = runs.length - answered.length
  const parts = [
    `${answered.length} of the last answers`,
    ...(middle === undefined ? [] : [`half of them within ${took(middle)}`]),
    ...(failed === 0 ? [] : [`${failed} that failed`]),
    costs.length === 0 ? 'the backend names no cost' : `the last one cost ${cleanLine(costs.at(-1) ?? '')}`,
  ]
  return `${parts.join('; ')}.`
}
