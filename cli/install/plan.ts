/** What `svc install` changes: for each file its text before and after, all of it known before the first one is written. */
import { parse, TomlError } from 'smol-toml'
import { present } from '../../protocol/encoding/present.ts'
import { CommandFailed } from '../io.ts'
import { type AgentTool, type Launch, type Registration, SERVER } from './agents.ts'
import { readBackup, readText } from './files.ts'
import { withStandingIdentity } from './identity.ts'
import type { Root } from './known-projects.ts'
import { bodyIn, hasBlock, hash, markdown, withBlock, withoutBlock } from './managed-block.ts'
import { persona } from './persona.ts'
import type { Env } from './places.ts'
import {
  holdsSettings,
  isEqual,
  isForeign,
  memberAt,
  type Setting,
  withoutSettings,
  withSettings,
} from './settings.ts'

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

export function planInstall(tool: AgentTool, env: Env, given: Launch, wish: Wish): Change[] {
  const launch = withStandingIdentity(tool, env, given)
  const path = tool.persona(env)
  const before = readText(path, tool.root)
  const instructions: Change = {
    path,
    part: 'persona',
    before,
    after: withBlock(before, persona(launch), markdown, path),
    backup: false,
  }
  // in a project what registers the server takes out every other leave with it
  const isKept = wish.allowSend || !wish.mcp || tool.root !== undefined
  const refused = isKept ? [] : permissions(tool, env, launch)
  const outdated = wish.mcp ? (tool.previous?.(env) ?? []) : []
  return [
    instructions,
    ...registrations(tool, env, launch, wish).map(one =>
      withoutPrevious(withoutPermissions(register(one, tool.root), refused, tool.root), outdated, tool.root),
    ),
  ]
}

/** What an earlier release wrote goes, and comes back as it was before; what stood there without svc stays. */
function withoutPrevious(change: Change, outdated: readonly Registration[], root: Root | undefined): Change {
  const one = outdated.find(({ path }) => path === change.path)
  const copy = readBackup(change.path, root)
  const { after } = change
  if (one === undefined || !('settings' in one) || copy === undefined || after === undefined) return change
  const ours = one.settings.filter(
    setting => 'value' in setting && memberAt(after, setting.path, change.path) === setting.value,
  )
  return { ...change, after: withoutSettings(after, ours, copy || undefined, change.path) }
}

/** What allows sending beside the server's own entry, which holds it for other tools. */
const permissions = (tool: AgentTool, env: Env, launch: Launch): Registration[] =>
  (tool.allowSend?.(env, launch) ?? []).filter(
    one => 'settings' in one && one.settings.every(setting => 'add' in setting),
  )

/** What an earlier run allowed goes, and what its owner had allowed before that stays. */
function withoutPermissions(
  change: Change,
  refused: readonly Registration[],
  root: Root | undefined,
): Change {
  const one = refused.find(({ path }) => path === change.path)
  if (one === undefined || !('settings' in one) || change.after === undefined) return change
  const previous = readBackup(change.path, root) || undefined
  return { ...change, after: withoutSettings(change.after, one.settings, previous, change.path) }
}

/** Takes out whatever stands there, however it was installed. */
export function planRemoval(tool: AgentTool, env: Env, given: Launch): Change[] {
  const launch = withStandingIdentity(tool, env, given)
  const path = tool.persona(env)
  const before = readText(path, tool.root)
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
  persona: 'installed' | 'outdated' | 'absent' | 'unreadable'
  /**
   * `other`: a server of our name that somebody else registered. `altered`: one in a project that runs this program
   * otherwise than this installation would.
   */
  mcp: 'registered' | 'outdated' | 'altered' | 'other' | 'absent' | 'unreadable'
  /** undefined where the tool has no hooks that are known here. */
  hooks?: 'installed' | 'absent' | 'unreadable'
  /** Whether the tool sends without asking; undefined where it cannot, or has no server of ours. */
  allow_send?: boolean
  /** What keeps a file from being read, or is to be looked at, in sentences. */
  why?: string
}

/** What stands there now; a file that cannot be read is said to be one, and hides nothing else. */
export function standing(tool: AgentTool, env: Env, given: Launch): Standing {
  const launch = withStandingIdentity(tool, env, given)
  const faults = new Set<string>()
  const read = <T>(look: () => T): T | 'unreadable' => {
    try {
      return look()
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error
      faults.add(error.message.replace(/; nothing was changed$/, ''))
      return 'unreadable'
    }
  }
  const persona = read(() => personaStanding(tool, env, launch))
  const servers = registersOf(tool, env, launch)
  const mcp = read(() => serverStanding(readText(servers[0].path, tool.root), servers, tool.root))
  if (mcp === 'altered') faults.add(sayAltered(tool, servers[0].path))
  const hooks = read(() => hookStanding(tool.hooks?.(env, launch), tool.root))
  const isServed = mcp === 'registered' || mcp === 'outdated'
  const sends = isServed ? read(() => sendsFreely(tool, env, launch)) : undefined
  return {
    persona,
    mcp,
    ...present({
      hooks,
      allow_send: sends === 'unreadable' ? undefined : sends,
      why: faults.size === 0 ? undefined : [...faults].join('; '),
    }),
  }
}

const sayAltered = ({ id }: AgentTool, path: string): string =>
  `${path} holds a server svc that this installation did not write so, and which may start anything; look at it, then svc install ${id} --mcp --project writes it anew`

function personaStanding(tool: AgentTool, env: Env, launch: Launch): Standing['persona'] {
  const path = tool.persona(env)
  const text = readText(path, tool.root)
  if (text === undefined || !hasBlock(text, path)) return 'absent'
  return withBlock(text, persona(launch), markdown, path) === text ? 'installed' : 'outdated'
}

function sendsFreely(tool: AgentTool, env: Env, launch: Launch): boolean | undefined {
  return tool.allowSend?.(env, launch).some(one => {
    const text = readText(one.path, tool.root)
    if (text === undefined) return false
    if ('toml' in one) return /approval_mode\s*=\s*"approve"/.test(bodyIn(text, one.path) ?? '')
    return one.settings.some(setting => {
      const held = memberAt(text, setting.path, one.path)
      if ('value' in setting) return (held as { trust?: unknown } | undefined)?.trust === true
      return Array.isArray(held) && setting.add.some(tool => held.some(entry => covers(entry, tool)))
    })
  })
}

/** Whether an entry of a list of permissions allows this tool: by its name, its server or a pattern. */
function covers(entry: unknown, tool: unknown): boolean {
  if (typeof entry !== 'string' || typeof tool !== 'string') return false
  if (entry === tool || tool.startsWith(`${entry}__`)) return true
  return entry.endsWith('*') && tool.startsWith(entry.slice(0, -1))
}

function hookStanding(hooks: readonly Registration[] | undefined, root: Root | undefined): Standing['hooks'] {
  if (hooks === undefined) return undefined
  const stands = hooks.every(one => {
    const text = readText(one.path, root)
    return 'settings' in one && text !== undefined && holdsSettings(text, one.settings, one.path)
  })
  return stands ? 'installed' : 'absent'
}

/** The registration of the server, plain and as it is where sending is allowed with it. */
function registersOf(tool: AgentTool, env: Env, launch: Launch): [Registration, ...Registration[]] {
  const [plain] = tool.register(env, launch) as [Registration]
  return [plain, ...(tool.allowSend?.(env, launch) ?? []).filter(({ path }) => path === plain.path)]
}

function serverStanding(
  text: string | undefined,
  [server, ...others]: [Registration, ...Registration[]],
  root: Root | undefined,
): Standing['mcp'] {
  if (text === undefined) return 'absent'
  const otherwise = root === undefined ? 'outdated' : 'altered'
  if ('toml' in server) {
    const body = bodyIn(text, server.path)
    if (body === undefined) return tableIn(text, server.path) === undefined ? 'absent' : 'other'
    const isCurrent = [server, ...others].some(
      one => 'toml' in one && one.over(body) === body && (root === undefined || isAlone(text, one)),
    )
    return isCurrent ? 'registered' : otherwise
  }
  const [member] = server.settings as [Setting]
  const held = memberAt(text, member.path, server.path)
  if (held === undefined) return 'absent'
  if (isForeign(text, member)) return 'other'
  const forms = [server, ...others].flatMap(one => ('settings' in one ? one.settings.slice(0, 1) : []))
  return forms.some(form => holdsSettings(text, [form], server.path)) ? 'registered' : otherwise
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

/** Each member once: what is added to one list is added together, any other is as it was said last. */
function joined(first: readonly Setting[], second: readonly Setting[]): Setting[] {
  const byName = new Map<string, Setting>()
  for (const setting of [...first, ...second]) {
    const held = byName.get(nameOf(setting))
    const isAdded = held !== undefined && 'add' in held && 'add' in setting
    byName.set(nameOf(setting), isAdded ? { ...setting, add: [...held.add, ...setting.add] } : setting)
  }
  return [...byName.values()]
}

const nameOf = ({ path }: Setting) => path.join('\0')

function register(registration: Registration, root: Root | undefined): Change {
  const { path } = registration
  const before = readText(path, root)
  if ('settings' in registration) {
    const after = withSettings(before, registration.settings, path)
    return { path, part: 'configuration', before, after, backup: true }
  }
  if (!hasBlock(before ?? '', path) && tableIn(before ?? '', path) !== undefined)
    throw new CommandFailed(
      `${path} already has a table [mcp_servers.svc] that svc did not write; nothing was changed`,
      'take that table out, then run this again',
    )
  const body = bodyIn(before ?? '', path)
  const toml = body === undefined ? registration.toml : registration.over(body)
  const after = withBlock(before, toml, hash, path)
  if (root !== undefined && !isAlone(after, registration))
    throw new CommandFailed(
      `${path} says something of [mcp_servers.svc] outside of the lines of svc; nothing was changed`,
      'take that out, then run this again',
    )
  return { path, part: 'configuration', before, after, backup: true }
}

/** The server of our name in the configuration of codex, however it is written; throws {@link CommandFailed}. */
function tableIn(text: string, path: string): unknown {
  try {
    const { mcp_servers: servers } = parse(text) as { mcp_servers?: Record<string, unknown> }
    return servers?.[SERVER]
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    throw new CommandFailed(
      `${path} is not TOML that svc can read (line ${error.line}); nothing was changed`,
      'mend the file, or add the table by hand: see docs/agents.md',
    )
  }
}

/** Whether a configuration of codex says of the server what stands between our markers, and no word more. */
const isAlone = (text: string, { path, toml }: { path: string; toml: string }): boolean =>
  isEqual(tableIn(text, path), tableIn(toml, path))

function unregister(tool: AgentTool, env: Env, launch: Launch, path: string): Change {
  const before = readText(path, tool.root)
  const change = { path, part: 'configuration' as const, before, backup: true }
  if (before === undefined) return { ...change, after: undefined }
  const all = WISHES.flatMap(wish => registrations(tool, env, launch, wish).filter(one => one.path === path))
  const [widest] = all as [Registration]
  if ('toml' in widest) return { ...change, after: withoutBlock(before, path) }
  const copy = readBackup(path, tool.root)
  const previous = copy === '' ? undefined : copy
  const isUntouched = all.some(
    one => 'settings' in one && withSettings(previous, overriding(previous, one.settings), path) === before,
  )
  if (isUntouched) return { ...change, after: previous }
  // Without the copy from before, only what bears our name is known to be ours.
  const ours = copy === undefined ? widest.settings.filter(namesUs) : widest.settings
  const less = withoutPrevious(
    { ...change, after: withoutSettings(before, ours, previous, path) },
    tool.previous?.(env) ?? [],
    tool.root,
  )
  return copy === '' && isEqual(memberAt(less.after ?? '', [], path), {})
    ? { ...less, after: undefined }
    : less
}

/** An earlier release wrote over what somebody else had registered. */
const overriding = (previous: string | undefined, settings: readonly Setting[]): Setting[] =>
  settings.map(setting =>
    previous !== undefined && 'value' in setting && isForeign(previous, setting)
      ? { path: setting.path, value: setting.value }
      : setting,
  )

const namesUs = (setting: Setting) => setting.path.includes(SERVER) || 'add' in setting
