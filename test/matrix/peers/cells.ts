/** Every pair of something that waits between hubs and something that happens: a test of its own, with one check. */
import { describe, expect, test } from 'vitest'
import { HOUR_MS } from '../../../hub/core/limits.ts'
import { faults, stuck, unanswered } from './check.ts'
import { type Column, columns, IMPOSSIBLE } from './columns.ts'
import type { Row } from './rows.ts'
import { PeersWorld } from './world.ts'

const TURNS_TO_CALM = 2
/** Longer than holds last, with the hours that a clock is doubted. */
const HOURS_AFTER = 6
const TURNS_AFTER = 2
/** A hub shows older statements at its second look, a minute after the first. */
const TURNS_OF_LOOKS = 9

/** On a machine with much to do, what hubs began by themselves may need some turns more. */
const TURNS_MORE = 6

async function leftOver(world: PeersWorld): Promise<string[]> {
  for (let turn = 0; ; turn++) {
    const found = [...unanswered(world), ...(await stuck(world))]
    if (found.length === 0 || turn === TURNS_MORE) return found
    await world.turn()
  }
}

const turnsAfter = ({ statements }: PeersWorld): number =>
  statements.length === 0 ? TURNS_AFTER : TURNS_OF_LOOKS

export function testCells(rows: readonly Row[], chosen: readonly Column[] = columns): void {
  for (const row of rows) {
    const { cannot = {} } = row
    const strange = Object.keys(cannot).find(name => columns.every(column => column.name !== name))
    if (strange !== undefined) throw new Error(`no column is called: ${strange}`)
    const cells = chosen.map(column => {
      const why = cannot[column.name]
      return { column, why, is: why === undefined ? column.name : `${column.name}: can't happen, ${why}` }
    })
    describe(`while ${row.name} waits`, () => {
      test.each(cells)('$is', async ({ column, why }) => {
        await using world = await PeersWorld.open()
        await column.before?.(world)
        const waiting = await row.begin(world)
        const outcome = await column.happen(waiting)
        expect(outcome).toBe(why === undefined ? undefined : IMPOSSIBLE)
        for (let turn = 0; turn < TURNS_TO_CALM; turn++) await world.turn()
        expect((await faults(world)).join('\n')).toBe('')
        expect(world.harmed.join('\n')).toBe('')
        await world.pass(HOURS_AFTER * HOUR_MS)
        for (let turn = 0; turn < turnsAfter(world); turn++) await world.turn()
        expect((await faults(world)).join('\n')).toBe('')
        expect((await leftOver(world)).join('\n')).toBe('')
      })
    })
  }
}
