/**
 * Moving all rows of a hub from one engine to another: tables and columns have the same names in both, and each engine
 * reads and writes them in the order of their keys.
 */

/** `boolean` is 0 or 1 where an engine has none. */
export type CellKind = 'integer' | 'text' | 'bytes' | 'boolean'
export type Cell = null | number | string | boolean | Uint8Array
export type MovedColumn = { name: string; kind: CellKind }
/** `counts`: the column whose numbers the engine gives out, and gives none twice. */
export type MovedTable = {
  name: string
  columns: readonly MovedColumn[]
  key: readonly string[]
  counts: string | undefined
}

/** A store that nobody else works on. */
export interface MovedRows {
  /** Rows of a table in the order of its key, some at a time. */
  read(table: MovedTable): AsyncIterable<Cell[][]>
  write(table: MovedTable, rows: readonly Cell[][]): Promise<void>
  /** The largest number that was given out; 0 where none was. */
  counter(table: MovedTable): Promise<number>
  setCounter(table: MovedTable, last: number): Promise<void>
}
