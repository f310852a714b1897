/** How a row of the command table is written down: positionals and flags. */
import type { Flag, Positional } from '../command.ts'

export const need = (name: string): Positional => ({ name, required: true })
export const may = (name: string): Positional => ({ name })
export const on = (name: `--${string}`, short?: `-${string}`): Flag =>
  short === undefined ? { name } : { name, short }
export const takes = (name: `--${string}`, value: string, values?: readonly string[]): Flag =>
  values === undefined ? { name, value } : { name, value, values }
export const many = (name: `--${string}`, value: string): Flag => ({ name, value, repeat: true })
