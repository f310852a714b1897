/** Rows with snake-case columns become objects with camel-case members; the one place that converts. */
import type { Row } from '../platform/sqlite.ts'

/** The row as an object of type `T`, whose members mirror the table's columns. */
export function camelRow<T>(row: Row): T {
  const object: Record<string, unknown> = {}
  for (const [column, value] of Object.entries(row)) {
    object[column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())] = value
  }
  return object as T
}

export function camelRows<T>(rows: Row[]): T[] {
  return rows.map(row => camelRow<T>(row))
}
