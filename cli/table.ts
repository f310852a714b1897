/**
 * Every command, once: paths, aliases, flags, positionals, and where its code is. The parser, help, the list of
 * accepted flags and the generated tables are read from it. Nothing heavy is imported here; a command's code loads
 * when it runs.
 */
import type { CommandRow } from './command.ts'
import { agentsCommands } from './table/agents.ts'
import { boardCommands } from './table/board.ts'
import { creditCommands } from './table/credits.ts'
import { hubCommands } from './table/hub.ts'
import { identityCommands } from './table/identity.ts'
import { nodeCommands } from './table/node.ts'
import { otherCommands } from './table/other.ts'
import { proofCommands } from './table/proof.ts'
import { workCommands } from './table/work.ts'

export const commands: readonly CommandRow[] = [
  ...nodeCommands,
  ...identityCommands,
  ...hubCommands,
  ...workCommands,
  ...boardCommands,
  ...creditCommands,
  ...proofCommands,
  ...agentsCommands,
  ...otherCommands,
]

/** First words under which two-word commands stand. */
export const groupAliases: Readonly<Record<string, string>> = {
  ids: 'id',
  identity: 'id',
  contacts: 'contact',
  tasks: 'task',
  'auto-reply': 'autoreply',
}
/** What a first word alone means. */
export const groupDefaults: Readonly<Record<string, string>> = {
  id: 'id ls',
  contact: 'contact ls',
  task: 'task ls',
  profile: 'profile show',
  autoreply: 'autoreply show',
  price: 'price ls',
  spend: 'spend show',
  a2a: 'a2a status',
}
