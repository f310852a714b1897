/** Copies all rows from one engine to another, and says of both sides what they hold. */
import { createHash, type Hash } from 'node:crypto'
import type { Cell, MovedRows, MovedTable } from './moving-port.ts'

/** What a table holds: how many rows, and a hash over all of their cells in the order of keys. */
export type TableHeld = { table: string; rows: number; hash: string; last: number }

/** Settings that belong to one place of rows, and not to the hub. */
type Stays = ReadonlySet<string>

/** Copies every table; what it gives is what was read. */
export async function copyRows(
  tables: readonly MovedTable[],
  { from, to, stays }: { from: MovedRows; to: MovedRows; stays: Stays },
): Promise<TableHeld[]> {
  const held: TableHeld[] = []
  for (const table of tables) {
    held.push(await look(table, from, stays, rows => to.write(table, rows)))
    const last = held.at(-1)?.last ?? 0
    if (table.counts !== undefined) await to.setCounter(table, last)
  }
  return held
}

/** What every table holds. */
export async function heldIn(
  tables: readonly MovedTable[],
  of: MovedRows,
  stays: Stays,
): Promise<TableHeld[]> {
  const held: TableHeld[] = []
  for (const table of tables) held.push(await look(table, of, stays, async () => undefined))
  return held
}

/** The first table that the two sides do not hold alike. */
export function differsIn(one: readonly TableHeld[], other: readonly TableHeld[]): string | undefined {
  const wrong = one.find((held, n) => {
    const beside = other[n]
    return (
      beside?.table !== held.table ||
      beside.rows !== held.rows ||
      beside.hash !== held.hash ||
      beside.last !== held.last
    )
  })
  return wrong?.table
}

async function look(
  table: MovedTable,
  of: MovedRows,
  stays: Stays,
  each: (rows: Cell[][]) => Promise<void>,
): Promise<TableHeld> {
  const hash = createHash('sha256')
  let count = 0
  const name = table.columns.findIndex(column => column.name === 'name')
  // one engine writes while the other one reads on
  let written: Promise<void> = Promise.resolve()
  for await (const all of of.read(table)) {
    const rows = table.name === 'setting' ? all.filter(row => !stays.has(String(row[name]))) : all
    for (const row of rows) for (const cell of row) add(hash, cell)
    count += rows.length
    await written
    if (rows.length > 0) written = each(rows)
    written.catch(() => undefined)
  }
  await written
  const last = table.counts === undefined ? 0 : await of.counter(table)
  return { table: table.name, rows: count, hash: hash.digest('hex'), last }
}

/** Kind and length before each, so that no two rows give the same bytes. */
function add(hash: Hash, cell: Cell): void {
  if (cell instanceof Uint8Array) hash.update(`b${cell.length}:`).update(cell)
  else if (cell === null) hash.update('-')
  else hash.update(`${typeof cell}${String(cell).length}:${String(cell)}`)
}
