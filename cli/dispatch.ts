/** From a line to its command: what stands behind the command is read, its code loaded and run. */

import { OperationRefused } from '../protocol/control/refusal.ts'
import { shellWord } from '../protocol/shell.ts'
import { calledFor } from './as-called.ts'
import type { CommandRow, Input, Table } from './command.ts'
import { commandsNamed, type Found } from './flags.ts'
import { type Io, UsageRefused } from './io.ts'
import { reporting } from './report.ts'
import { commands } from './table.ts'

const table: Table = { commands, find: commandsNamed }

/** The parser is loaded by the lines that need it: it would be a tenth of the time of a command without arguments. */
async function inputOf(found: Pick<Found, 'row' | 'words'>): Promise<Input> {
  const isBare = found.words.length === 0 && !(found.row.positionals ?? []).some(({ required }) => required)
  if (isBare) return { id: undefined, flags: new Map(), positionals: [] }
  const { parse } = await import('./parse.ts')
  return parse(found)
}

/** Parses and runs one command; resolves to its exit code. A line that is refused is thrown. */
export async function dispatch(io: Io, found: Pick<Found, 'row' | 'words'>): Promise<number> {
  const input = await inputOf(found)
  const run = await found.row.load()
  const called = calledFor(io, input.id)
  return await reporting(called, async () => {
    try {
      return await run(called, input, table)
    } catch (error) {
      if (error instanceof UsageRefused && error.next === undefined)
        throw new UsageRefused(error.message, helpOf(found.row))
      throw error instanceof OperationRefused ? filled(error, found.row, input) : error
    }
  })
}

/** The refusal with what the line said in the place of `<command>` and `<id>`, so that its next step can be copied. */
function filled(
  refused: OperationRefused,
  { path, positionals = [] }: CommandRow,
  input: Input,
): OperationRefused {
  const id = input.positionals[positionals.findIndex(({ name }) => name === 'id')]
  const next = refused.next
    ?.replaceAll('<command>', () => path)
    .replaceAll('<id>', given => (id === undefined ? given : shellWord(id)))
  return new OperationRefused(refused.code, refused.message, next)
}

const helpOf = ({ path }: CommandRow): string => (path === 'help' ? 'svc help' : `svc help ${path}`)
