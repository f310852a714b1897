/** Settings of the auto-reply: what a change makes of them, and how they are shown. */

import { PEER_ANSWERS_PER_HOUR_MAX } from '../../autoreply/answering.ts'
import { BackendFailed } from '../../autoreply/backend.ts'
import type { Sandbox } from '../../autoreply/sandbox.ts'
import type { AutoReplyConfig } from '../../protocol/control/auto-reply-config.ts'
import type { ControlCode } from '../../protocol/control/codes.ts'
import { autoReplySettings } from '../home/config.ts'
import { refuse } from '../refusal.ts'
import type { Handlers } from './handlers.ts'

type Change = { [M in keyof AutoReplyConfig]?: AutoReplyConfig[M] | undefined }
type AutoReplyView = Awaited<ReturnType<Handlers['autoReplyShow']>>

/** What names a backend, and what means something under that one only. */
const BACKENDS = {
  agent: {
    backend: 'exec',
    own: ['agent', 'openclaw_agent', 'model', 'provider_url', 'provider_key_env', 'extra_args', 'sandbox'],
  },
  command: { backend: 'exec', own: ['command', 'extra_args', 'sandbox'] },
  api_base: { backend: 'openai', own: ['api_base', 'api_key', 'model'] },
} as const
type Named = keyof typeof BACKENDS
const names = Object.keys(BACKENDS) as Named[]

/** The settings after a change, and what of the previous ones fell away with it, in sentences. */
export type Chosen = { config: AutoReplyConfig; resets: string[] }

/**
 * Naming one backend takes out what belonged to another. What was allowed to one program is not allowed to the next, and
 * a key goes to no other server than the one that it was given for.
 */
export function chosen(current: AutoReplyConfig | undefined, change: Change): Chosen {
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
  const named = names.filter(name => change[name] !== undefined)
  if (named.length > 1) refuse('bad_request', 'expected one of --agent, --command and --api-base')
  const [name] = named
  const kept: Record<string, unknown> = { ...current }
  const isSame = name !== undefined && current !== undefined && isOfOneKind(name, current, change)
  const stays: readonly string[] = isSame ? BACKENDS[name].own : []
  const own = name === undefined ? [] : names.flatMap(other => BACKENDS[other].own)
  for (const member of own) if (!stays.includes(member)) delete kept[member]
  const backend = change.backend ?? (name === undefined ? current?.backend : BACKENDS[name].backend)
  if (backend === undefined)
    refuse('bad_request', 'say what answers: --agent <tool>, --command <line> or --api-base <url>')
  if (name !== undefined && backend !== BACKENDS[name].backend)
    refuse('bad_request', `--backend ${backend} does not go with --${name.replace('_', '-')}`)
  for (const member of Object.keys(given)) if (isTakenOut(member, given[member])) delete kept[member]
  const next = Object.entries(given).filter(([member, value]) => !isTakenOut(member, value))
  const config = { ...kept, ...Object.fromEntries(next), backend } as AutoReplyConfig
  const resets = [
    ...fallenAway(current, change, config),
    ...backToDefaults(current, change, config),
    ...withoutKeys(current, change, config),
  ]
  requireToolsOfAgent(change, config)
  requireNoToolsForGuests(config)
  return { config, resets }
}

/** A text that was emptied; what names a backend is never empty. */
const isTakenOut = (member: string, value: unknown): boolean =>
  value === '' && !(names as readonly string[]).includes(member)

/** Whether what meant something to the previous one means the same to the next: agents differ, the owner's own do not. */
const isOfOneKind = (name: Named, current: AutoReplyConfig, change: Change): boolean =>
  name === 'agent' ? current.agent === change.agent : current[name] !== undefined

/** By which flags the settings that belong to one backend are set. */
const FLAGS = {
  model: '--model',
  openclaw_agent: '--openclaw-agent',
  provider_url: '--provider-url',
  provider_key_env: '--provider-key-env',
  extra_args: '--extra-arg',
  api_key: '--api-key',
} as const

/** What belonged to the one that answered before and was not taken out by its person, in one sentence. */
function fallenAway(current: AutoReplyConfig | undefined, change: Change, config: AutoReplyConfig): string[] {
  if (current === undefined) return []
  const members = Object.keys(FLAGS) as (keyof typeof FLAGS)[]
  const isGone = (member: keyof typeof FLAGS) =>
    current[member] !== undefined && config[member] === undefined && change[member] !== ''
  const gone = members.filter(isGone)
  const flags: string[] = gone.map(member => FLAGS[member])
  if (current.sandbox === false && config.sandbox === undefined) flags.push('--no-sandbox')
  return flags.length === 0 ? [] : [`${flags.join(', ')} fell away with what answered before`]
}

/** Takes out what the owner allowed to the program or the model that answered before; which, in sentences. */
function backToDefaults(
  current: AutoReplyConfig | undefined,
  change: Change,
  config: AutoReplyConfig,
): string[] {
  if (current === undefined || whatAnswers(current) === whatAnswers(config)) return []
  const { strangers, guests, tools } = autoReplySettings(current)
  const resets: string[] = []
  if (change.tools === undefined) {
    delete config.tools
    if (tools !== 'none') resets.push(`--tools ${tools} was for what answered before; tools: none`)
  }
  if (change.send_files === undefined) {
    delete config.send_files
    if (current.send_files === true)
      resets.push('--send-files true was for what answered before; no files are sent')
  }
  if (change.strangers === undefined) {
    delete config.strangers
    if (strangers) resets.push('--strangers true was for what answered before; only contacts are answered')
  }
  if (change.guests === undefined) {
    delete config.guests
    if (guests) resets.push('--guests true was for what answered before; no visitor is answered')
  }
  return resets
}

/** Another command line of the owner's is as much the owner's as the first one. */
const whatAnswers = ({ backend, agent, command }: AutoReplyConfig): string =>
  backend === 'exec' ? (command === undefined ? `agent ${agent ?? ''}` : 'command') : backend

/** Where a key goes, and by which flag it is set. */
const KEYS = [
  { address: 'api_base', key: 'api_key', flag: '--api-key' },
  { address: 'provider_url', key: 'provider_key_env', flag: '--provider-key-env' },
] as const

/** Takes out a key whose server is another one now; which, in sentences. */
function withoutKeys(
  current: AutoReplyConfig | undefined,
  change: Change,
  config: AutoReplyConfig,
): string[] {
  return KEYS.flatMap(({ address, key, flag }) => {
    const [previous, next] = [originOf(current?.[address]), originOf(config[address])]
    const stays = change[key] !== undefined || config[key] === undefined || previous === next
    if (stays || previous === undefined) return []
    delete config[key]
    return [`the key was for ${previous} and is not sent to another server; name one with ${flag}`]
  })
}

/** Scheme, host and port; an address that is none of these is its own. */
function originOf(address: string | undefined): string | undefined {
  if (address === undefined) return undefined
  const origin = URL.parse(address)?.origin
  return origin === undefined || origin === 'null' ? address : origin
}

/** Nothing but a coding agent is told which tools it has. */
function requireToolsOfAgent(change: Change, config: AutoReplyConfig): void {
  const other = (['command', 'api_base'] as const).find(name => config[name] !== undefined)
  if (other === undefined) return
  if ((change.tools ?? 'none') !== 'none')
    refuse(
      'bad_request',
      `--tools is for a coding agent and means nothing to --${other.replace('_', '-')}; leave it out`,
    )
  delete config.tools
}

/** Nobody approves what a visitor asks for. */
function requireNoToolsForGuests(config: AutoReplyConfig): void {
  const { guests, tools } = autoReplySettings(config)
  if (guests && tools !== 'none')
    refuse(
      'bad_request',
      `visitors are answered without approval, so nothing that answers them has tools; set --tools none or --guests false`,
    )
}

/** A backend that cannot work is a refusal with its sentence. */
export async function orRefuse<T>(code: ControlCode, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof BackendFailed) refuse(code, error.message)
    throw error
  }
}

/** The block without its secret, and in one sentence what answers whom. */
export function autoReplyView(
  config: AutoReplyConfig | undefined,
  sandbox: Sandbox | undefined,
  resets: readonly string[] = [],
): AutoReplyView {
  if (config === undefined) return { enabled: false }
  const { api_key, ...shown } = config
  return {
    enabled: true,
    says: [sentence(config, sandbox), ...resets].join('; '),
    auto_reply: { ...shown, api_key_set: api_key !== undefined },
  }
}

function sentence(config: AutoReplyConfig, sandbox: Sandbox | undefined): string {
  const { tools, max_auto_replies, api_timeout_seconds, backend } = autoReplySettings(config)
  const model = config.model ?? 'a model'
  const exec = config.command ?? config.agent ?? 'a program'
  const who = backend === 'openai' ? `${model} at ${config.api_base}` : exec
  const limits = `at most ${max_auto_replies} answers in a task and ${PEER_ANSWERS_PER_HOUR_MAX} an hour for one peer, ${api_timeout_seconds} s each`
  const files = config.send_files === true ? '; the files that it leaves in out are sent' : ''
  return `${who} answers ${whomOf(config)}; tools: ${tools}; ${limits}${files}${holding(sandbox)}`
}

function whomOf(config: AutoReplyConfig): string {
  const { strangers, guests } = autoReplySettings(config)
  const others = [
    ...(strangers ? ['strangers whose task was approved'] : []),
    ...(guests ? ['visitors of the hub'] : []),
  ]
  return ['contacts', ...others].join(', and ')
}

function holding(sandbox: Sandbox | undefined): string {
  if (sandbox === undefined) return ''
  return sandbox.kind === 'none' ? `; in no sandbox: ${sandbox.why}` : '; held in bubblewrap'
}
