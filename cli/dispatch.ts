/**
 * Dispatch by clipanion: a row of the table becomes a command class, and clipanion parses the normalised argument list
 * into it. Only the class of the matched row is made, so that the table's length costs nothing at start.
 */
import { Cli, Command, Option } from 'clipanion'
import type { CommandRow, Input, Table } from './command.ts'
import { parseArguments } from './flags.ts'
import type { Io } from './io.ts'
import { commands } from './table.ts'

const table: Table = { commands, find: words => parseArguments(words).row }

/** The argument list in the one form that clipanion reads without ambiguity. */
export function normalised(row: CommandRow, input: Input): string[] {
  const flags = (row.flags ?? []).flatMap(flag =>
    (input.flags.get(flag.name) ?? []).map(value =>
      flag.value === undefined ? flag.name : `${flag.name}=${value}`,
    ),
  )
  return [...row.path.split(' '), ...flags, '--', ...input.positionals]
}

/** Parses and runs one command; resolves to its exit code. */
export async function dispatch(io: Io, row: CommandRow, input: Input): Promise<number> {
  const cli = new Cli({ binaryName: 'svc', enableColors: false })
  cli.register(commandClass(io, row, input.id))
  return (await cli.process(normalised(row, input)).execute()) ?? 0
}

function commandClass(io: Io, row: CommandRow, id: string | undefined) {
  return class extends Command {
    static override paths = [row.path.split(' ')]
    positionals = Option.Rest({ name: 'arguments' })

    constructor() {
      super()
      // clipanion finds options as own properties of the instance
      for (const flag of row.flags ?? []) {
        const option = flag.value === undefined ? Option.Boolean(flag.name) : Option.Array(flag.name)
        Object.assign(this, { [flag.name]: option })
      }
    }

    override async execute(): Promise<number> {
      const run = await row.load()
      return await run(io, { id, flags: this.flags(), positionals: this.positionals }, table)
    }

    flags(): Map<string, string[]> {
      const given = new Map<string, string[]>()
      for (const { name } of row.flags ?? []) {
        const value = (this as Record<string, unknown>)[name]
        if (value === true) given.set(name, ['true'])
        else if (Array.isArray(value)) given.set(name, value as string[])
      }
      return given
    }
  }
}
