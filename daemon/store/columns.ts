/** Columns of a table as data: the type of its rows is read from them, and a test compares them with the schema. */

/** `value` only carries the type; no column has it. */
export type Column<T> = {
  readonly type: 'INTEGER' | 'TEXT' | 'BLOB'
  readonly nullable: boolean
  readonly value?: T
}

export const integer: Column<number> = { type: 'INTEGER', nullable: false }
export const flag: Column<0 | 1> = { type: 'INTEGER', nullable: false }
export const text: Column<string> = { type: 'TEXT', nullable: false }
export const blob: Column<Uint8Array> = { type: 'BLOB', nullable: false }

/** A number or a text of a few known values. */
export const oneOf = <T extends string | number>(column: Column<string> | Column<number>): Column<T> => ({
  type: column.type,
  nullable: column.nullable,
})
export const orNull = <T>({ type }: Column<T>): Column<T | null> => ({ type, nullable: true })

/** JSON text of a value of this type. */
export type Json<T> = string & { readonly of?: T }
/** Text that holds JSON. */
export const json = <T>(): Column<Json<T>> => text
/** What such a column holds. */
export const toJson = <T>(value: T): Json<T> => JSON.stringify(value)
export const fromJson = <T>(text: Json<T>): T => JSON.parse(text) as T

/** A table: its name, and its columns as members in camel case. */
export type Table = { readonly name: string; readonly columns: Readonly<Record<string, Column<unknown>>> }

export type RowOf<T extends Table> = {
  -readonly [M in keyof T['columns']]: T['columns'][M] extends Column<infer V> ? V : never
}

const columnNames = new Map<string, string>()

/** The name of a member's column. */
export function columnOf(member: string): string {
  const name = columnNames.get(member) ?? member.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
  columnNames.set(member, name)
  return name
}

/** The name of a column's member. */
export const memberOf = (column: string): string =>
  column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
