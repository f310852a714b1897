/** Operations on the node itself: status, hub, profile, contacts, auto-reply, identity, evidence. */

import { BackendFailed } from '../../autoreply/backend.ts'
import { Refused } from '../../protocol/contract/client.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import type { AutoReplyConfig, NodeStatus } from '../../protocol/control/shapes.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Context } from '../context.ts'
import { type Config, type ConfigChanges, ConfigError } from '../home/config.ts'
import { describe } from '../hubs/failures.ts'
import { ClocksApart, type HubLine, HubStopped } from '../hubs/hub.ts'
import { IdentityError } from '../identity/identity.ts'
import { cardWarning } from '../membership/card.ts'
import type { Registration } from '../membership/registration.ts'
import { revokeIssuedTo } from '../membership/revocations.ts'
import { refuse } from '../refusal.ts'
import type { Contact } from '../store/contacts.ts'
import { counted } from '../store/counters.ts'
import type { AutoReply } from '../tasks/auto-reply.ts'
import type { Handlers } from './operations.ts'
import type { TaskOperations } from './task-operations.ts'

const FIND_LIMIT_DEFAULT = 10
const EVIDENCE_LIMIT_DEFAULT = 50
const PROFILE_NOTE = 'wire 3 publishes no prices; pricing is kept here and shown by profile show'

export type NodeParts = {
  registration: Registration
  autoReply: AutoReply
  controlAddress: () => string
  version: string
  warnings: () => string[]
  changeConfig(changes: ConfigChanges): Config
  outboxSize: () => number
  pullMail: () => Promise<void>
  /** Directory agents whose name is like a word that is no contact. */
  suggestPeers: (name: string) => Promise<string>
  /** Looks at once at everything that waits for its time. */
  wake: () => void
  shutdown: () => void
  lifetime: AbortSignal
}

export type NodeOperations = Omit<Handlers, keyof TaskOperations>

export function nodeOperations(ctx: Context, parts: NodeParts): NodeOperations {
  const { registration } = parts
  const home = (): HubLine => {
    if (ctx.identity.log.deactivated) refuse('identity_deactivated', 'this identity is deactivated')
    return registration.home ?? refuse('no_hub', 'this node is registered at no hub')
  }
  return {
    async status() {
      return statusView(ctx, parts)
    },
    async shutdown() {
      parts.shutdown()
      return { state: 'stopping' }
    },
    async find(given) {
      return findAgents(ctx, home(), given)
    },
    async contacts() {
      return { contacts: ctx.contacts.list().map(contactView) }
    },
    async contactAdd(given) {
      const contact = ctx.contacts.add(given.aid, given.petname)
      if (ctx.peers.find(given.aid) !== undefined) ctx.topUps.note(given.aid)
      return settings(ctx, contactView(contact))
    },
    async contactRemove(given) {
      return settings(ctx, contactView(ctx.contacts.remove(given.peer)))
    },
    async contactBlock(given) {
      const contact = ctx.store.transaction(() => {
        const changed = ctx.contacts.block(given.peer, given.blocked)
        if (given.blocked) revokeIssuedTo(ctx, changed.aid)
        return changed
      }, 'node.block')
      if (given.blocked) parts.wake()
      // what was revoked is gone; a contact again gets new ones, or it could never write
      if (!given.blocked) ctx.topUps.note(contact.aid)
      return settings(ctx, contactView(contact))
    },
    async hubRegister(given, signal) {
      return joinHub(ctx, parts, given, signal)
    },
    async hubLeave(given) {
      const left = await hubCall(() => registration.leave(given.url))
      if (left.current) parts.changeConfig({ hub_url: undefined })
      return { status: 'left', hub_url: left.url, current: left.current }
    },
    async accept(given) {
      parts.changeConfig({ accept_delegations: given.on })
      return { accept_delegations: given.on }
    },
    async profileSet(given) {
      const config = parts.changeConfig(withoutUndefined(given))
      const published = given.summary !== undefined || given.readme !== undefined
      if (published && registration.home !== undefined)
        await hubCall(() => registration.updateProfile(parts.lifetime))
      const { summary, readme, pricing } = config
      const note = given.pricing === undefined ? {} : { note: PROFILE_NOTE }
      return { status: 'profile_updated', summary, readme, pricing, ...note }
    },
    async visibility(given) {
      await hubCall(() => home().setVisibility(given.visibility))
      parts.changeConfig({ visibility: given.visibility })
      return { visibility: given.visibility }
    },
    async autoReplyShow() {
      return autoReplyView(ctx.config().auto_reply)
    },
    async autoReplySet(given) {
      const merged = { ...ctx.config().auto_reply, ...withoutUndefined(given) } as AutoReplyConfig
      const runs = given.agent !== undefined || given.command !== undefined
      const inferred = runs ? 'exec' : given.api_base === undefined ? merged.backend : 'openai'
      const auto_reply = { ...merged, backend: given.backend ?? inferred }
      if ((auto_reply.backend as string | undefined) === undefined)
        refuse('bad_request', 'say what answers: --agent <tool>, --command <line> or --api-base <url>')
      const config = parts.changeConfig({ auto_reply })
      await parts.autoReply.restart()
      return autoReplyView(config.auto_reply)
    },
    async autoReplyOff() {
      parts.changeConfig({ auto_reply: undefined })
      await parts.autoReply.restart()
      return autoReplyView(undefined)
    },
    async autoReplyTest(given, signal) {
      try {
        return await parts.autoReply.test(given.question ?? 'Say in one sentence that you are ready.', signal)
      } catch (error) {
        if (error instanceof BackendFailed) refuse('backend_failed', error.message)
        throw error
      }
    },
    async idRotate(given) {
      return withNextKey(ctx, given.recovery_phrase, async () => {
        await registration.rotate(parts.lifetime)
        return identityView(ctx, registration, 'rotated')
      })
    },
    async idDeactivate(given) {
      return withNextKey(ctx, given.recovery_phrase, async () => {
        await registration.deactivate(parts.lifetime)
        parts.wake()
        return identityView(ctx, registration, 'deactivated')
      })
    },
    async evidence(given) {
      const limit = given.limit ?? EVIDENCE_LIMIT_DEFAULT
      const records = ctx.chain.read({ eventType: given.event_type, since: given.since, limit })
      return { head: ctx.chain.head(), records: records as never }
    },
    async balance() {
      return refuse('no_credits', 'this build has no payment support')
    },
  }
}

function settings<T>(ctx: Context, value: T): T {
  ctx.events.emit('settings')
  return value
}

function statusView(ctx: Context, parts: NodeParts): NodeStatus {
  const config = ctx.config()
  const { registration } = parts
  const home = registration.lastHome
  const count = (sql: string) => ctx.store.get<{ n: number }>(sql)?.n ?? 0
  const { reason, state, powProgress } = registration.state
  const { auto_reply } = autoReplyView(config.auto_reply)
  return {
    aid: ctx.identity.aid,
    version: parts.version,
    data_dir: ctx.dir,
    hub_url: home?.url ?? null,
    name: config.name,
    caps: config.caps,
    summary: config.summary,
    readme: config.readme,
    pricing: config.pricing,
    accept_delegations: config.accept_delegations,
    guest_messages: config.guest_messages,
    console_url: `http://${parts.controlAddress()}/console`,
    ...present({ auto_reply }),
    kel_seq: ctx.identity.log.seq,
    pid: process.pid,
    hub:
      home === undefined
        ? null
        : {
            aid: home.identity.aid,
            wire: home.identity.wire,
            state,
            sealed: home.identity.wire === 3,
            ...present({ reason }),
            last_contact_at: home.lastContactAtMs ?? null,
            ...present({ pow_progress: powProgress }),
          },
    counts: {
      unread: count('SELECT count(*) AS n FROM interactions WHERE last_in > read_to'),
      pending: count("SELECT count(*) AS n FROM interactions WHERE side = 'received' AND state = 'pending'"),
      outbox: parts.outboxSize(),
      foreign: counted(ctx.store, 'foreign'),
    },
    chain: ctx.chain.head(),
    warnings: parts.warnings(),
  }
}

type AutoReplyView = Awaited<ReturnType<Handlers['autoReplyShow']>>

/** The auto-reply block without its secret. */
function autoReplyView(config: AutoReplyConfig | undefined): AutoReplyView {
  if (config === undefined) return { enabled: false }
  const { api_key, ...shown } = config
  return { enabled: true, auto_reply: { ...shown, api_key_set: api_key !== undefined } }
}

const contactView = ({ aid, petname, blocked, addedAt }: Contact) => ({
  aid,
  petname,
  blocked: blocked === 1,
  added_at: addedAt,
})

function identityView(ctx: Context, registration: Registration, state: string) {
  const hub = registration.lastHome?.url
  return {
    aid: ctx.identity.aid,
    kel_seq: ctx.identity.log.seq,
    state,
    ...present({ hub }),
  }
}

async function findAgents(ctx: Context, hub: HubLine, given: Parameters<Handlers['find']>[0]) {
  const { query, capability, cursor } = given
  const listed = await hubCall(() =>
    hub.listAgents({
      ...(query === undefined || query === '' ? {} : { q: query }),
      ...present({ cap: capability }),
      limit: given.limit ?? FIND_LIMIT_DEFAULT,
      ...present({ cursor }),
    }),
  )
  return {
    agents: listed.agents.map(agent => ({
      aid: agent.aid,
      name: agent.name,
      contact: ctx.contacts.petnameOf(agent.aid),
      summary: agent.summary,
      caps: agent.caps,
      hub: hub.identity.aid,
      registered_at: agent.registeredAtMs,
      last_seen: agent.lastSeenMs,
      quiet: agent.quiet,
    })),
    ...present({ next_cursor: listed.next }),
  }
}

async function joinHub(
  ctx: Context,
  parts: NodeParts,
  given: Parameters<Handlers['hubRegister']>[0],
  signal: AbortSignal,
) {
  if (given.recovery_phrase !== undefined) importPhrase(ctx, given.recovery_phrase)
  parts.changeConfig(
    withoutUndefined({
      name: given.name,
      caps: given.caps,
      guest_messages: given.guest_messages,
      accept_delegations: given.accept_delegations,
    }),
  )
  const { hub, reply } = await hubCall(() =>
    parts.registration.join(given.url, AbortSignal.any([signal, parts.lifetime])),
  )
  parts.changeConfig({ hub_url: hub.url })
  parts.wake()
  const note = cardWarning(ctx, hub)
  return {
    status: 'registered',
    hub_url: hub.url,
    hub_aid: hub.identity.aid,
    wire: hub.identity.wire,
    sealed: hub.identity.wire === 3,
    keys_status: reply.keysStatus,
    card_status: reply.cardStatus,
    ...present({ note, probation_until: reply.probationUntilMs, trial: reply.trial }),
  }
}

/** Runs a call to the hub and names its failure by the codes of the control table. */
async function hubCall<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof OperationRefused) throw error
    if (error instanceof ClocksApart)
      refuse('hub_refused', error.message, 'date; set the clock of this machine, then: svc status')
    if (error instanceof HubStopped) refuse('hub_incompatible', error.message)
    if (error instanceof IdentityError) refuse('next_key_missing', error.message)
    if (error instanceof Refused && error.code === 'wire_too_old') refuse('hub_incompatible', error.message)
    if (error instanceof Refused)
      refuse('hub_refused', `the hub refused (${error.code}): ${error.message}`, nextOf(error))
    if (error instanceof ConfigError) throw error
    return refuse('hub_unreachable', describe(error))
  }
}

/** The step after the semicolon of a hub's sentence, where it is a command for the operator. */
function nextOf(error: Refused): string | undefined {
  const aid = error.members['aid']
  return error.code === 'admission_required' && typeof aid === 'string'
    ? `the operator of the hub runs: svc-hub admit ${aid}`
    : undefined
}

async function withNextKey<T>(ctx: Context, phrase: string | undefined, work: () => Promise<T>): Promise<T> {
  if (ctx.identity.log.deactivated) refuse('identity_deactivated', 'this identity is deactivated')
  if (phrase !== undefined) importPhrase(ctx, phrase)
  if (!ctx.identity.hasNextKey) refuse('next_key_missing', 'the next key is not on this machine')
  return hubCall(work)
}

function importPhrase(ctx: Context, phrase: string): void {
  try {
    ctx.identity.importNext(phrase)
  } catch (error) {
    if (error instanceof IdentityError) refuse('next_key_missing', error.message)
    throw error
  }
}

function withoutUndefined<T extends object>(given: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const members = Object.entries(given).filter(([, value]) => value !== undefined)
  return Object.fromEntries(members) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
