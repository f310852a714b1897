/** Texts of ours with their commands as the reader calls them: how the program was started, for which identity. */
import { withCommands } from '../protocol/shell.ts'
import { callPaths, ID_FLAG } from './command.ts'
import type { Io } from './io.ts'
import { commands, groupDefaults } from './table.ts'

/** The same terminal, whose next steps are for the identity that a line named. */
export function calledFor(io: Io, id: string | undefined): Io {
  const asOperator = (text: string): string =>
    withCommands(text, HUB, ({ words }) =>
      OPERATOR_COMMANDS.includes(words[0] as string) ? hubForm(io.program) : undefined,
    )
  const asCalled = (text: string): string =>
    withCommands(asOperator(text), 'svc', ({ words, isPlaced }) => {
      if (words[0] === ID_FLAG.name) return io.program
      const row = rowBefore(words)
      if (row === undefined) return undefined
      const isSaid = id === undefined || isPlaced || row.ofHome || words.includes(id)
      return isSaid ? io.program : `${io.program} ${ID_FLAG.name} ${id}`
    })
  return Object.create(io, { asCalled: { value: asCalled } }) as Io
}

const HUB = 'svc-hub'
/** What a node names of the hub's commands: what its operator, or a person without a hub, may run. */
const OPERATOR_COMMANDS = ['serve', 'admit', 'unblock']

/** The packages of a checkout hold both programs; of any other place only its operator knows how the hub is called. */
const hubForm = (program: string): string => (program.startsWith('npx ') ? `npx ${HUB}` : HUB)

/** The command that these words begin with. */
function rowBefore(words: readonly string[]) {
  const paths = words.map((_, n) => words.slice(0, words.length - n).join(' '))
  return paths
    .map(path => groupDefaults[path] ?? path)
    .map(path => commands.find(row => callPaths(row).includes(path)))
    .find(row => row !== undefined)
}
