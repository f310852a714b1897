/** Every pair of something that waits and something that happens: a test of its own, with one check at its end. */
import { describe, expect, test } from 'vitest'
import { DAY_MS } from '../../daemon/testing/node.ts'
import { accused } from './accused.ts'
import { faults, stuck } from './check.ts'
import { columns, IMPOSSIBLE } from './columns.ts'
import type { Row } from './row.ts'
import { MatrixWorld } from './world.ts'

const MONTH_MS = 31 * DAY_MS
/** What waited is asked about one recipient at a time. */
const TURNS_AFTER_MONTH = 8

export function testCells(rows: readonly Row[]): void {
  for (const row of rows) {
    const strange = Object.keys(row.cannot ?? {}).find(name => columns.every(column => column.name !== name))
    if (strange !== undefined) throw new Error(`no column is called: ${strange}`)
    const cells = columns.map(column => ({
      column,
      why: row.cannot?.[column.name],
      is: titleOf(row, column.name),
    }))
    describe(`while ${row.name} waits`, () => {
      test.each(cells)('$is', async ({ column, why }) => {
        await using world = new MatrixWorld()
        const waiting = await row.begin(world)
        const outcome = await column.happen(waiting)
        expect(outcome).toBe(why === undefined ? undefined : IMPOSSIBLE)
        await world.calm()
        expect([...(await accused(world)), ...faults(world)].join('\n')).toBe('')
        world.pass(MONTH_MS)
        await world.turns(TURNS_AFTER_MONTH)
        expect([...faults(world), ...stuck(world)].join('\n')).toBe('')
      })
    })
  }
}

function titleOf({ cannot = {} }: Row, column: string): string {
  const why = cannot[column]
  return why === undefined ? column : `${column}: can't happen, ${why}`
}
