/** Rows with snake-case columns become objects with camel-case members; the one place that converts. */
import type { Row } from '../platform/sqlite.ts'

const members = new Map<string, string>()

function memberOf(column: string): string {
  let member = members.get(column)
  if (member === undefined) {
    member = column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    members.set(column, member)
  }
  return member
}

/** The row as an object of type `T`, whose members mirror the table's columns. */
export function camelRow<T>(row: Row): T {
  const object: Record<string, unknown> = {}
  for (const column in row) object[memberOf(column)] = row[column]
  return object as T
}

export function camelRows<T>(rows: Row[]): T[] {
  return rows.map(row => camelRow<T>(row))
}
