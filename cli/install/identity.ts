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
/** A word of a shell as {@link shellWord} writes it; its parts begin in different signs, so that none is read twice. */
const WORD = /(?:[^\s'\\]|\\\S|'[^']*')+/g
const PART = /'([^']*)'|\\(\S)/g
const SETTING = /^(SVC_\w+)=(.*)$/s

type Held = { id: string | undefined; env: Readonly<Record<string, string>> }

/**
 * The launch with the identity that stands in the server's entry, or in the instructions where there is none. The
 * files of a project say nothing of that: whoever wrote them may be a stranger.
 */
export function withStandingIdentity(tool: AgentTool, env: Env, launch: Launch): Launch {
  const held = tool.root === undefined ? heldIdentity(tool, env, launch) : undefined
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
      : servedBy(memberAt(text, member?.path ?? [], server.path))
  const added = addedWords(held.words, { program: launch.program, id: undefined })
  return added === undefined ? undefined : { id: idIn(added), env: held.env }
}

const servedBy = (held: unknown) => ({ words: wordsOf(held), env: environmentOf(held) })

function idIn(words: readonly string[]): string | undefined {
  const at = words.indexOf('--id')
  return at < 0 ? words.find(word => word.startsWith('--id='))?.slice('--id='.length) : words[at + 1]
}

function ofInstructions(tool: AgentTool, env: Env): Held | undefined {
  const path = tool.persona(env)
  const body = bodyIn(readText(path) ?? '', path) ?? ''
  const starts = body.split('`').flatMap((line, n) => (n % 2 === 0 ? [] : (startIn(line) ?? [])))
  return starts[0]
}

/** What starts the node, as instructions say it: settings of the environment, the program, and the identity. */
function startIn(line: string): Held | undefined {
  if (!line.endsWith(' up')) return undefined
  const words = (line.match(WORD) ?? []).map(word =>
    word.replace(PART, (_, quoted?: string, escaped?: string) => quoted ?? escaped ?? ''),
  )
  const count = words.findIndex(word => !SETTING.test(word))
  const [, , ...rest] = words.slice(count)
  const id = rest[0] === '--id' ? rest[1] : undefined
  if (rest.length !== (id === undefined ? 1 : 3) || rest.at(-1) !== 'up') return undefined
  const members = words.slice(0, count).map(word => (SETTING.exec(word) ?? []).slice(1) as [string, string])
  return { id, env: Object.fromEntries(members) }
}
