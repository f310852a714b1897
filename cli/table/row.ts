/** How a row of the command table is written down: positionals and flags, each with the words that help prints. */
import type { Flag, Positional } from '../command.ts'

export const need = (name: string, says: string): Positional => ({ name, says, required: true })
export const may = (name: string, says: string): Positional => ({ name, says })
export const on = (name: `--${string}`, says: string, short?: `-${string}`): Flag =>
  short === undefined ? { name, says } : { name, says, short }
export const takes = (name: `--${string}`, value: string, says: string, values?: readonly string[]): Flag =>
  values === undefined ? { name, value, says } : { name, value, says, values }
export const many = (name: `--${string}`, value: string, says: string): Flag => ({
  name,
  value,
  says,
  repeat: true,
})

/** Flags of whatever serves the tools. */
export const toolFlags: readonly Flag[] = [
  on('--read-only', 'only the tools that read; nothing is marked as read'),
  takes('--tools', 'A,B', 'only these tools'),
  many('--folder', 'DIR', 'a folder of which files may be sent, besides those that the client opens'),
]
