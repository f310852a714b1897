/** Every pair of something that waits and something that happens: a test of its own, with one check at its end. */
import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../daemon/testing/node.ts'
import { accused } from './accused.ts'
import { between } from './between.ts'
import { faults, isStuck, stuck } from './check.ts'
import { type Column, columns, IMPOSSIBLE } from './columns.ts'
import type { Row } from './row.ts'
import { MatrixWorld } from './world.ts'

type Span = { ms: number; turns: number }
/** After each of them, what failed is tried again. */
const HOURS: readonly Span[] = [1, 2].map(hours => ({ ms: hours * HOUR_MS, turns: 3 }))
/** Days after which what waited is asked about, one recipient at a time. */
const daysOf = (...days: number[]): Span[] => days.map(n => ({ ms: n * DAY_MS, turns: 8 }))
const MONTH = daysOf(31)
/** A hub that was left is emptied for some days, and a clock that ran ahead puts mail off by some. */
const MONTH_ACROSS = daysOf(3, 28)

const known = new Set([...columns, ...between].map(({ name }) => name))

type Given = { isOpen?: boolean; isPatient?: boolean }

type Part = 'kinds' | 'variants'

/** The part of the matrix that this run has, see `vitest.config.ts`; all of it where none is named. */
const named = process.env['SVC_CELLS']

/** Every row with every column. A cell whose row or column is like another one is a variant. */
export function testMatrix(rows: readonly Row[]): void {
  for (const things of [rows, columns]) requireLikes(things)
  for (const row of rows) {
    const chosen = columns.filter(column => named === undefined || named === partOf(row, column))
    if (chosen.length > 0) testCells([row], chosen)
  }
}

const partOf = (row: Row, column: Column): Part =>
  row.like === undefined && column.like === undefined ? 'kinds' : 'variants'

function requireLikes(things: readonly { name: string; like?: string }[]): void {
  const kinds = new Set(things.flatMap(({ name, like }) => (like === undefined ? [name] : [])))
  const strange = things.find(({ like }) => like !== undefined && !kinds.has(like))
  if (strange !== undefined) throw new Error(`${strange.name} is like no other: ${strange.like}`)
}

/** `isOpen`: hubs that read the mail they carry. `isPatient`: time passes also where nothing waits for it. */
export function testCells(
  rows: readonly Row[],
  chosen: readonly Column[] = columns,
  { isOpen = false, isPatient = false }: Given = {},
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
        const outcome = await column.happen(await row.begin(world))
        expect(outcome).toBe(why === undefined ? undefined : IMPOSSIBLE)
        if (why === undefined || isPatient) await endWell(world, isPatient)
      })
    })
  }
}

async function endWell(world: MatrixWorld, isPatient: boolean): Promise<void> {
  const goesOn = () => isPatient || isStuck(world)
  await world.calm()
  await pass(world, HOURS, goesOn)
  expect([...(await accused(world)), ...faults(world)].join('\n')).toBe('')
  if (!goesOn()) return
  await pass(world, world.isAcross ? MONTH_ACROSS : MONTH, goesOn)
  expect([...faults(world), ...stuck(world)].join('\n')).toBe('')
}

async function pass(world: MatrixWorld, spans: readonly Span[], goesOn: () => boolean): Promise<void> {
  for (const { ms, turns } of spans) {
    if (!goesOn()) return
    world.pass(ms)
    await world.turns(turns)
  }
}

function titleOf({ cannot = {} }: Row, column: string): string {
  const why = cannot[column]
  return why === undefined ? column : `${column}: can't happen, ${why}`
}
