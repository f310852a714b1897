/** The identity for which svc was installed before: it stays wherever it stands until another one is named. */
import { CommandFailed } from '../io.ts'
import type { AgentTool, Launch } from './agents.ts'
import { startOf } from './codex-table.ts'
import { readText } from './files.ts'
import { bodyIn } from './managed-block.ts'
import type { Env } from './places.ts'
import { addedWords, environmentOf, wordsOf } from './server-entry.ts'
import { memberAt } from './settings.ts'

const SELECTING = ['SVC_HOME', 'SVC_DATA_DIR']
/** What starts the node, as instructions say it: settings of the environment, and the identity. */
const START = /`((?:SVC_\w+=(?:'[^']*'|\S+) )*)\S+ \S+ (?:--id (\S+) )?up`/

type Held = { id: string | undefined; env: Readonly<Record<string, string>> }

/** The launch with the identity that stands in the server's entry, or in the instructions where there is none. */
export function withStandingIdentity(tool: AgentTool, env: Env, launch: Launch): Launch {
  const held = heldIdentity(tool, env, launch)
  if (held === undefined) return launch
  const selecting = Object.entries(held.env).filter(([name]) => SELECTING.includes(name))
  return {
    ...launch,
    id: launch.id ?? held.id,
    env: { ...Object.fromEntries(selecting), ...launch.env },
  }
}

function heldIdentity(tool: AgentTool, env: Env, launch: Launch): Held | undefined {
  try {
    return ofServer(tool, env, launch) ?? ofInstructions(tool, env)
  } catch (error) {
    // a file that cannot be read is named where it is to be changed
    if (error instanceof CommandFailed) return undefined
    throw error
  }
}

function ofServer(tool: AgentTool, env: Env, launch: Launch): Held | undefined {
  const [server] = tool.register(env, launch)
  const text = server && readText(server.path)
  if (server === undefined || text === undefined) return undefined
  const [member] = 'settings' in server ? server.settings : []
  const held =
    'toml' in server
      ? startOf(bodyIn(text, server.path) ?? '')
      : startIn(memberAt(text, member?.path ?? [], server.path))
  const added = addedWords(held.words, { program: launch.program, id: undefined })
  return added === undefined ? undefined : { id: idIn(added), env: held.env }
}

const startIn = (held: unknown) => ({ words: wordsOf(held), env: environmentOf(held) })

function idIn(words: readonly string[]): string | undefined {
  const at = words.indexOf('--id')
  return at < 0 ? words.find(word => word.startsWith('--id='))?.slice('--id='.length) : words[at + 1]
}

function ofInstructions(tool: AgentTool, env: Env): Held | undefined {
  const path = tool.persona(env)
  const [found, settings = '', id] = START.exec(bodyIn(readText(path) ?? '', path) ?? '') ?? []
  if (found === undefined) return undefined
  const members = [...settings.matchAll(/(\w+)=(?:'([^']*)'|(\S+)) /g)]
  return { id, env: Object.fromEntries(members.map(([, name, word, plain]) => [name, word ?? plain])) }
}
