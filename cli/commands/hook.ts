/**
 * `svc hook inbox`: what a coding agent runs at its own events, to hear of mail without asking. It says what is new since
 * the session heard last, and nothing else: a hook must not disturb whoever calls it, so whatever fails is silent.
 */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { runtimeDirectory } from '../../daemon/home/home.ts'
import { channelMessage } from '../../mcp/channel.ts'
import type { InteractionSummary } from '../../protocol/control/shapes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { type Control, connect, ownSelection } from '../client/control.ts'
import type { Run } from '../command.ts'
import { type Io, jsonText } from '../io.ts'
import { flags } from './values.ts'

const NODE_WAIT_MS = 2_000
const STDIN_WAIT_MS = 1_000
const STDIN_BYTES_MAX = 16 * 1024 * 1024
const LISTED_MAX = 20
const TOLD_MAX = 5
const SESSIONS_MAX = 50

/** What the agent says of itself on standard input. */
type HookInput = { session: string; event: string | undefined; isContinued: boolean }
type Cursors = { received: string; sent: string }

export const hookInbox: Run = async (io, input) => {
  const [format = 'text'] = flags(input, '--format')
  const call = await readCall(io, format)
  // an agent that goes on because of a hook is not held up again
  if (call === undefined || call.isContinued) return 0
  try {
    const words = await news(io, input.id, call.session)
    if (words !== undefined) io.out(`${rendered(format, call.event, words)}\n`)
  } catch {
    // silent: see above
  }
  return 0
}

/** The first lines of what contacts wrote, which nobody read yet; undefined when there is nothing new. */
async function news(io: Io, id: string | undefined, session: string): Promise<string | undefined> {
  const quiet = Object.create(io, { err: { value: () => {} } }) as Io
  const control = connect(quiet, { selection: ownSelection(io, id) })
  const memory = openMemory(io, control.target.dataDir)
  const heard = memory.of(session)
  const { items, cursors } = await changed(control, heard).catch(error => {
    memory.keep(session, undefined)
    throw error
  })
  memory.keep(session, cursors)
  const told = items.flatMap(item => channelMessage(item)?.content ?? [])
  if (told.length === 0) return undefined
  const more =
    told.length > TOLD_MAX ? [`and ${told.length - TOLD_MAX} more: task_inbox {}, task_results {}`] : []
  return ['svc: news of contacts.', ...told.slice(0, TOLD_MAX), ...more].join('\n')
}

async function changed(
  { call }: Control,
  heard: Cursors | undefined,
): Promise<{ items: InteractionSummary[]; cursors: Cursors }> {
  const options = { signal: AbortSignal.timeout(NODE_WAIT_MS) }
  const [received, sent] = await Promise.all([
    call('inbox', { limit: LISTED_MAX, ...present({ cursor: heard?.received }) }, {}, options),
    call('results', undefined, { limit: String(LISTED_MAX), ...present({ cursor: heard?.sent }) }, options),
  ])
  return {
    items: [...received.items, ...sent.items],
    cursors: { received: received.new_cursor, sent: sent.new_cursor },
  }
}

function rendered(format: string, event: string | undefined, words: string): string {
  if (format === 'text') return words
  if (event === 'Stop') return jsonText({ decision: 'block', reason: words })
  if (event === 'AfterAgent') return jsonText({ decision: 'deny', reason: words })
  if (format === 'copilot') return jsonText({ additionalContext: words })
  const hookEventName = event ?? (format === 'gemini' ? 'AfterTool' : 'PostToolUse')
  return jsonText({ hookSpecificOutput: { hookEventName, additionalContext: words } })
}

/** What each session heard last, beside the other things that end with the session of the user. */
function openMemory(io: Io, dataDir: string) {
  const path = join(runtimeDirectory(io.env), 'hooks.json')
  const key = (session: string) => `${dataDir}\n${session}`
  const read = (): [string, Cursors][] => {
    try {
      return Object.entries(JSON.parse(fs.readFileSync(path, 'utf8')) as Record<string, Cursors>)
    } catch {
      return []
    }
  }
  return {
    of: (session: string) => read().find(([name]) => name === key(session))?.[1],
    keep(session: string, cursors: Cursors | undefined): void {
      const others = read().filter(([name]) => name !== key(session))
      const own: [string, Cursors][] = cursors === undefined ? [] : [[key(session), cursors]]
      // it may be lost with the machine, so nothing waits for the disk
      const draft = `${path}.${process.pid}`
      const text = JSON.stringify(Object.fromEntries([...others, ...own].slice(-SESSIONS_MAX)))
      fs.writeFileSync(draft, text, { mode: 0o600, flag: 'wx' })
      fs.renameSync(draft, path)
    },
  }
}

/** Undefined for what an agent would not say; nothing at all is said by a person who tries the command. */
async function readCall(io: Io, format: string): Promise<HookInput | undefined> {
  const said = await standardInput(io)
  const given = said.trim() === '' ? {} : objectIn(said)
  if (given === undefined) return undefined
  const { session_id: session, hook_event_name: event, stop_hook_active: active } = given
  return {
    session: `${format}:${typeof session === 'string' ? session.slice(0, 128) : ''}`,
    event: typeof event === 'string' && /^[A-Za-z]{1,32}$/.test(event) ? event : undefined,
    isContinued: active === true,
  }
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(text) as unknown
    const isObject = value !== null && typeof value === 'object' && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** All of standard input where something is piped into it, or what came of it in time. */
async function standardInput(io: Io): Promise<string> {
  if (!isPiped()) return ''
  const { stdin } = io
  const chunks: Buffer[] = []
  let bytes = 0
  await new Promise<void>(resolve => {
    const late = setTimeout(resolve, STDIN_WAIT_MS)
    const end = () => {
      clearTimeout(late)
      resolve()
    }
    stdin.on('end', end).on('error', end)
    stdin.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= STDIN_BYTES_MAX) chunks.push(chunk)
    })
  })
  stdin.destroy()
  return Buffer.concat(chunks).toString()
}

/** A terminal, or nothing at all, has nothing to say. */
function isPiped(): boolean {
  try {
    return !fs.fstatSync(0).isCharacterDevice()
  } catch {
    return false
  }
}
