/** What `svc install` changes: for each file its text before and after, all of it known before the first one is written. */
import { present } from '../../protocol/encoding/present.ts'
import { CommandFailed } from '../io.ts'
import { type AgentTool, type Env, type Launch, type Registration, SERVER } from './agents.ts'
import { backupPath, readText } from './files.ts'
import { hasBlock, hash, markdown, withBlock, withoutBlock } from './managed-block.ts'
import { persona } from './persona.ts'
import { holdsMember, holdsSettings, type Setting, withoutSettings, withSettings } from './settings.ts'

export type Change = {
  readonly path: string
  readonly part: 'persona' | 'configuration'
  /** undefined: there is no such file. */
  readonly before: string | undefined
  readonly after: string | undefined
  /** The file is another program's configuration, of which one copy is kept before the first change. */
  readonly backup: boolean
}

export type Wish = { mcp: boolean; allowSend: boolean; hooks: boolean }

export function planInstall(tool: AgentTool, env: Env, launch: Launch, wish: Wish): Change[] {
  const path = tool.persona(env)
  const before = readText(path)
  const instructions: Change = {
    path,
    part: 'persona',
    before,
    after: withBlock(before, persona(launch), markdown, path),
    backup: false,
  }
  return [instructions, ...registrations(tool, env, launch, wish).map(register)]
}

/** Takes out whatever stands there, however it was installed. */
export function planRemoval(tool: AgentTool, env: Env, launch: Launch): Change[] {
  const path = tool.persona(env)
  const before = readText(path)
  const instructions: Change = {
    path,
    part: 'persona',
    before,
    after: before === undefined ? undefined : withoutBlock(before, path),
    backup: false,
  }
  const files = registrations(tool, env, launch, EVERYTHING).map(registration => registration.path)
  return [instructions, ...files.map(file => unregister(tool, env, launch, file))]
}

export type Standing = {
  persona: 'installed' | 'outdated' | 'absent'
  mcp: 'registered' | 'other' | 'absent'
  /** undefined where the tool has no hooks that are known here. */
  hooks?: 'installed' | 'absent'
}

/** What stands there now. */
export function standing(tool: AgentTool, env: Env, launch: Launch): Standing {
  const path = tool.persona(env)
  const text = readText(path)
  const has = text !== undefined && hasBlock(text, path)
  const isCurrent = has && withBlock(text, persona(launch), markdown, path) === text
  const [server] = tool.register(env, launch) as [Registration]
  return {
    persona: isCurrent ? 'installed' : has ? 'outdated' : 'absent',
    mcp: serverStanding(readText(server.path), server),
    ...present({ hooks: hookStanding(tool.hooks?.(env, launch)) }),
  }
}

function hookStanding(hooks: readonly Registration[] | undefined): Standing['hooks'] {
  if (hooks === undefined) return undefined
  const stands = hooks.every(one => {
    const text = readText(one.path)
    return 'settings' in one && text !== undefined && holdsSettings(text, one.settings, one.path)
  })
  return stands ? 'installed' : 'absent'
}

function serverStanding(text: string | undefined, server: Registration): Standing['mcp'] {
  if (text === undefined) return 'absent'
  if ('toml' in server) {
    if (hasBlock(text, server.path)) return text.includes(server.toml) ? 'registered' : 'other'
    return hasForeignTable(text) ? 'other' : 'absent'
  }
  const [member] = server.settings as [Setting]
  if (!holdsMember(text, member.path)) return 'absent'
  return holdsSettings(text, [member], server.path) ? 'registered' : 'other'
}

const EVERYTHING: Wish = { mcp: true, allowSend: true, hooks: true }
/** What may have been asked for together. */
const WISHES: readonly Wish[] = [true, false].flatMap(hooks => [
  { mcp: true, allowSend: true, hooks },
  { mcp: true, allowSend: false, hooks },
  { mcp: false, allowSend: false, hooks },
])

/** One registration for each file: what allows sending joins what registers, or takes its place; hooks join both. */
function registrations(tool: AgentTool, env: Env, launch: Launch, wish: Wish): Registration[] {
  const byPath = new Map<string, Registration>()
  for (const one of [
    ...(wish.mcp ? tool.register(env, launch) : []),
    ...(wish.allowSend ? (tool.allowSend?.(env, launch) ?? []) : []),
    ...(wish.hooks ? (tool.hooks?.(env, launch) ?? []) : []),
  ]) {
    const held = byPath.get(one.path)
    const isJoined = held !== undefined && 'settings' in held && 'settings' in one
    byPath.set(one.path, isJoined ? { path: one.path, settings: joined(held.settings, one.settings) } : one)
  }
  return [...byPath.values()]
}

function joined(first: readonly Setting[], second: readonly Setting[]): Setting[] {
  const byName = new Map([...first, ...second].map(setting => [nameOf(setting), setting]))
  return [...byName.values()]
}

const nameOf = ({ path }: Setting) => path.join('\0')

function register(registration: Registration): Change {
  const { path } = registration
  const before = readText(path)
  if ('settings' in registration) {
    const after = withSettings(before, registration.settings, path)
    return { path, part: 'configuration', before, after, backup: true }
  }
  if (before !== undefined && !hasBlock(before, path) && hasForeignTable(before))
    throw new CommandFailed(
      `${path} already has a table [mcp_servers.svc] that svc did not write; nothing was changed`,
      'take that table out, then run this again',
    )
  return {
    path,
    part: 'configuration',
    before,
    after: withBlock(before, registration.toml, hash, path),
    backup: true,
  }
}

const hasForeignTable = (text: string) => /^\s*\[\s*mcp_servers\s*\.\s*"?svc"?\s*[.\]]/m.test(text)

function unregister(tool: AgentTool, env: Env, launch: Launch, path: string): Change {
  const before = readText(path)
  const change = { path, part: 'configuration' as const, before, backup: true }
  if (before === undefined) return { ...change, after: undefined }
  const all = WISHES.flatMap(wish => registrations(tool, env, launch, wish).filter(one => one.path === path))
  const [widest] = all as [Registration]
  if ('toml' in widest) return { ...change, after: withoutBlock(before, path) }
  const copy = readText(backupPath(path))
  const former = copy === '' ? undefined : copy
  const isUntouched = all.some(
    one => 'settings' in one && withSettings(former, one.settings, path) === before,
  )
  if (isUntouched) return { ...change, after: former }
  // Without the copy from before, only what bears our name is known to be ours.
  const ours = copy === undefined ? widest.settings.filter(namesUs) : widest.settings
  return { ...change, after: withoutSettings(before, ours, former, path) }
}

const namesUs = (setting: Setting) => setting.path.includes(SERVER) || 'add' in setting
