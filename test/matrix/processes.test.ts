// project: programs

/** What waits for money or mail, over real processes: each pair of nodes meets one happening with all of it waiting. */
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { hasCompiler } from '../../hub/testing/disk.ts'
import { withoutPostgres } from '../../hub/testing/postgres-server.ts'
import { type Happening, happenings, prepare, rows, unexplained } from './process-cells.ts'
import { ProcessWorld } from './process-world.ts'

const AT_ONCE = 4
const LEDGER = 'the ledger of the hub'
const needsCompiler = 'its disk has no room for a while'

type Outcome = Map<string, string>
const due: (() => Promise<void>)[] = []

/** Outcomes of all rows under one happening; some happenings are under way at once. */
function begin(happening: Happening): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    due.push(() => run(happening).then(resolve, reject))
  })
}

async function run(happening: Happening): Promise<Outcome> {
  await using world = await new ProcessWorld().open({ isShared: happening.isShared ?? false })
  await pause(happening.afterMs ?? 0)
  const prepared = await prepare(world)
  await happening.happen(world, prepared)
  world.heal()
  const outcome: Outcome = new Map()
  const tell = (row: string) => (error: unknown) => void outcome.set(row, String(error))
  await Promise.all(rows.map(({ name, end }) => end(world, prepared, happening).catch(tell(name))))
  const left = await unexplained(world, prepared).catch(error => [String(error)])
  if (left.length > 0) outcome.set(LEDGER, left.join('\n'))
  return outcome
}

const chosen = happenings.filter(
  ({ name, isShared }) =>
    (hasCompiler || name !== needsCompiler) && (isShared !== true || withoutPostgres === undefined),
)
const outcomes = new Map(chosen.map(happening => [happening.name, begin(happening)]))
for (const outcome of outcomes.values()) outcome.catch(() => undefined)
for (let n = 0; n < AT_ONCE; n++) void work()

async function work(): Promise<void> {
  for (let next = due.shift(); next !== undefined; next = due.shift()) await next()
}

describe.each(happenings)('when $name', ({ name }) => {
  test.skipIf(!outcomes.has(name)).each([...rows.map(row => row.name), LEDGER])(
    '%s',
    {
      timeout: 300_000,
    },
    async row => {
      expect((await outcomes.get(name))?.get(row)).toBe(undefined)
    },
  )
})
