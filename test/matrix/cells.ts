/** Every pair of something that waits and something that happens: a test of its own, with one check at its end. */
import { describe, expect, test } from 'vitest'
import { DAY_MS } from '../../daemon/testing/node.ts'
import { accused } from './accused.ts'
import { between } from './between.ts'
import { faults, stuck } from './check.ts'
import { type Column, columns, IMPOSSIBLE } from './columns.ts'
import type { Row } from './row.ts'
import { MatrixWorld } from './world.ts'

const MONTH_DAYS = [31]
/** A hub that was left is emptied for some days, and a clock that ran ahead puts mail off by some. */
const MONTH_DAYS_ACROSS = [3, 28]
/** What waited is asked about one recipient at a time. */
const TURNS_AFTER_MONTH = 8

const known = new Set([...columns, ...between].map(({ name }) => name))

type Given = { isOpen?: boolean }

/** `isOpen`: hubs that read the mail they carry. */
export function testCells(
  rows: readonly Row[],
  chosen: readonly Column[] = columns,
  { isOpen = false }: Given = {},
): void {
  for (const row of rows) {
    const strange = Object.keys(row.cannot ?? {}).find(name => !known.has(name))
    if (strange !== undefined) throw new Error(`no column is called: ${strange}`)
    const cells = chosen.map(column => ({
      column,
      why: row.cannot?.[column.name],
      is: titleOf(row, column.name),
    }))
    describe(`while ${row.name} waits${isOpen ? ' in open mail' : ''}`, () => {
      test.each(cells)('$is', async ({ column, why }) => {
        await using world = new MatrixWorld({ isOpen })
        const waiting = await row.begin(world)
        const outcome = await column.happen(waiting)
        expect(outcome).toBe(why === undefined ? undefined : IMPOSSIBLE)
        await world.calm()
        expect([...(await accused(world)), ...faults(world)].join('\n')).toBe('')
        for (const days of world.isAcross ? MONTH_DAYS_ACROSS : MONTH_DAYS) {
          world.pass(days * DAY_MS)
          await world.turns(TURNS_AFTER_MONTH)
        }
        expect([...faults(world), ...stuck(world)].join('\n')).toBe('')
      })
    })
  }
}

function titleOf({ cannot = {} }: Row, column: string): string {
  const why = cannot[column]
  return why === undefined ? column : `${column}: can't happen, ${why}`
}
