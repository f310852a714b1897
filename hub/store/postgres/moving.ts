/** All rows of a hub in PostgreSQL, to be moved out or in within one transaction. */
import { concat } from '../../../protocol/encoding/bytes.ts'
import type { Cell, CellKind, MovedColumn, MovedRows, MovedTable } from '../moving-port.ts'
import type { Queries, Value } from './connections.ts'
import { numberSome, toldTables } from './told-numbers.ts'

const ROWS_AT_ONCE = 500

/** What stays is logged; `schema_held` says which schema this is. */
const COLUMNS = `
SELECT class.relname AS "table", attribute.attname AS name, format_type(attribute.atttypid, NULL) AS type,
  attribute.attidentity <> '' AS counts,
  coalesce(array_position(index.indkey::int[], attribute.attnum::int), -1) AS place
FROM pg_class AS class
JOIN pg_attribute AS attribute ON attribute.attrelid = class.oid AND attribute.attnum > 0
LEFT JOIN pg_index AS index ON index.indrelid = class.oid AND index.indisprimary
WHERE class.relnamespace = 'public'::regnamespace AND class.relkind = 'r' AND class.relpersistence = 'p'
  AND class.relname <> 'schema_held' AND class.relname NOT LIKE 'watched%' AND NOT attribute.attisdropped AND attribute.attgenerated = ''
ORDER BY class.relname, attribute.attnum`
const REFERENCES = `
SELECT conrelid::regclass::text AS "table", confrelid::regclass::text AS other
FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace`

const kinds: Readonly<Record<string, CellKind>> = {
  bigint: 'integer',
  text: 'text',
  bytea: 'bytes',
  boolean: 'boolean',
}
const typeOf: Readonly<Record<CellKind, string>> = {
  integer: 'bigint',
  text: 'text',
  bytes: 'bytea',
  boolean: 'boolean',
}

type Row = { table: string; name: string; type: string; counts: boolean; place: number }

/** Every table that lasts, each after those to which it refers. */
export async function movedTables(db: Queries): Promise<MovedTable[]> {
  const byTable = Map.groupBy(await db.all<Row>(COLUMNS), ({ table }) => table)
  const tables = [...byTable].map(([name, rows]): MovedTable => {
    const isTold = toldTables.some(told => told === name)
    if (isTold) return toldTable(name, rows)
    const key = rows.filter(({ place }) => place >= 0).sort((a, b) => a.place - b.place)
    return {
      name,
      columns: rows.map(columnOf),
      key: key.map(row => row.name),
      counts: rows.find(({ counts }) => counts)?.name,
    }
  })
  const references = await db.all<{ table: string; other: string }>(REFERENCES)
  return inOrder(tables, references)
}

/** What peers are told is numbered before it is moved; the order in which it came is that of the numbers then. */
const toldTable = (name: string, rows: readonly Row[]): MovedTable => ({
  name,
  columns: rows.filter(row => row.name !== 'n').map(columnOf),
  key: ['fed_seq'],
  counts: 'fed_seq',
})

function columnOf({ table, name, type }: Row): MovedColumn {
  const kind = kinds[type]
  if (kind === undefined) throw new Error(`${table}.${name} has the type ${type}, which is not moved`)
  return { name, kind }
}

function inOrder(
  tables: readonly MovedTable[],
  references: readonly { table: string; other: string }[],
): MovedTable[] {
  const ordered: MovedTable[] = []
  const place = (table: MovedTable): void => {
    if (ordered.includes(table)) return
    for (const { other } of references.filter(one => one.table === table.name && one.other !== table.name)) {
      const needed = tables.find(({ name }) => name === other)
      if (needed !== undefined) place(needed)
    }
    ordered.push(table)
  }
  for (const table of tables) place(table)
  return ordered
}

const quoted = (name: string): string => `"${name}"`
const listed = (names: readonly string[]): string => names.map(quoted).join(', ')
const namesOf = ({ columns }: MovedTable): string => listed(columns.map(({ name }) => name))

/** How a column goes along: arrays with a cell of each row, what is sent beside them, and what a cell is made of. */
type Given = { types: string[]; values: Value[]; cell: (name: string, last: number) => string }

function givenOf(kind: CellKind, rows: readonly Cell[][], n: number): Given {
  if (kind !== 'bytes')
    return {
      types: [typeOf[kind]],
      values: [rows.map(row => row[n] ?? null) as Value],
      cell: name => `${name}_0`,
    }
  // many in an array would go as text: they go as one piece, with where each begins in it, from 1 on, and its length
  const pieces = rows.map(row => row[n] as Uint8Array | null)
  let end = 1
  const starts = pieces.map(piece => {
    const start = end
    end += piece?.length ?? 0
    return piece === null ? null : start
  })
  return {
    types: ['integer', 'integer'],
    values: [
      starts,
      pieces.map(piece => piece?.length ?? 0),
      concat(...pieces.filter(piece => piece !== null)),
    ],
    cell: (name, last) =>
      `CASE WHEN ${name}_0 IS NULL THEN NULL ELSE substring($${last}::bytea FROM ${name}_0 FOR ${name}_1) END`,
  }
}

/** Works within the transaction of `db`. */
export function movedRowsOver(db: Queries): MovedRows {
  let cursors = 0
  return {
    async *read(table) {
      const told = toldTables.find(one => one === table.name)
      if (told !== undefined) while (!(await numberSome(db, told)));
      const cursor = `moved_${cursors++}`
      const { name, key } = table
      await db.run(
        `DECLARE ${cursor} CURSOR FOR SELECT ${namesOf(table)} FROM ${quoted(name)} ORDER BY ${listed(key)}`,
      )
      for (;;) {
        const rows = await db.all<Record<string, Cell>>(`FETCH ${ROWS_AT_ONCE} FROM ${cursor}`)
        if (rows.length > 0) yield rows.map(row => table.columns.map(column => row[column.name] as Cell))
        if (rows.length < ROWS_AT_ONCE) break
      }
      await db.run(`CLOSE ${cursor}`)
    },
    async write(table, rows) {
      const given = table.columns.map(({ kind }, n) => givenOf(kind, rows, n))
      const values = given.flatMap(one => one.values)
      const arrays: string[] = []
      const names: string[] = []
      const cells: string[] = []
      let first = 1
      for (const [n, { types, cell, values: of }] of given.entries()) {
        for (const [at, type] of types.entries()) {
          arrays.push(`$${first + at}::${type}[]`)
          names.push(`c${n}_${at}`)
        }
        cells.push(cell(`c${n}`, first + of.length - 1))
        first += of.length
      }
      await db.run(
        `INSERT INTO ${quoted(table.name)} (${namesOf(table)}) OVERRIDING SYSTEM VALUE` +
          ` SELECT ${cells.join(', ')} FROM unnest(${arrays.join(', ')}) AS of (${names.join(', ')})`,
        ...values,
      )
    },
    async counter({ name, counts = '' }) {
      const row = await db.one<{ last: number }>(
        `SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS last FROM ${await sequenceOf(db, name, counts)}`,
      )
      return row?.last ?? 0
    },
    async setCounter({ name, counts = '' }, last) {
      if (last > 0) await db.run('SELECT setval($1, $2)', await sequenceOf(db, name, counts), last)
    },
  }
}

async function sequenceOf(db: Queries, table: string, column: string): Promise<string> {
  const row = await db.one<{ name: string }>('SELECT pg_get_serial_sequence($1, $2) AS name', table, column)
  if (row === undefined) throw new Error(`${table}.${column} counts nothing`)
  return row.name
}
