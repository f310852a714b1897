/** Operations on the node itself: status, hub, profile, contacts, auto-reply, identity, evidence. */

import type { AutoReplyConfig } from '../../protocol/control/auto-reply-config.ts'
import { toBase64, utf8 } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { encodeKel } from '../../protocol/identity/kel.ts'
import { shellWord } from '../../protocol/shell.ts'
import type { Context } from '../context.ts'
import type { HubClient } from '../hubs/hub.ts'
import { spoken } from '../hubs/open.ts'
import type { Publication } from '../hubs/publication.ts'
import { KeyRefused } from '../identity/identity.ts'
import { cardWarning } from '../membership/card.ts'
import type { Membership } from '../membership/home.ts'
import type { Sync } from '../membership/sync.ts'
import type { Modules } from '../modules/modules.ts'
import { refuse } from '../refusal.ts'
import type { Contact } from '../store/contacts.ts'
import type { AutoReply } from '../tasks/auto-reply.ts'
import { accountHub, refuseWhileCreditsRemain, sayOwedBy } from './accounts.ts'
import type { ControlAddress } from './address.ts'
import { autoReplyView, chosen, orRefuse } from './auto-reply.ts'
import { backupOperations } from './backup.ts'
import { capabilityOperations } from './capabilities.ts'
import { consoleLink } from './console.ts'
import { balanceOf } from './credits.ts'
import { findAgents, pricesOnCard } from './directory.ts'
import { draftOperations } from './drafts.ts'
import { evidenceOperations } from './evidence.ts'
import type { FreshHosts } from './fresh-hosts.ts'
import type { Handlers, NodeOperations } from './handlers.ts'
import { hubCall, hubOrdered, isUnreachable, publishing } from './hub-call.ts'
import { waitsView } from './payment-warnings.ts'
import { statusView } from './status.ts'
import type { Tickets } from './tickets.ts'

type Needs = Pick<
  Context,
  | 'dir'
  | 'identity'
  | 'store'
  | 'chain'
  | 'contacts'
  | 'peers'
  | 'capabilities'
  | 'threads'
  | 'hub'
  | 'settings'
  | 'modules'
  | 'events'
  | 'now'
  | 'hubNow'
  | 'timers'
  | 'random'
  | 'topUps'
  | 'notices'
  | 'carriers'
>

const EVIDENCE_LIMIT_DEFAULT = 50
const PROFILE_NOTE = 'hubs publish no prices; pricing is kept here and shown by profile show'

export type NodeParts = {
  membership: Membership
  sync: Sync
  autoReply: AutoReply
  control: ControlAddress
  tickets: Tickets
  hosts: FreshHosts
  publication: Publication
  modules: Modules
  version: string
  /** Looks at once at everything that waits for its time. */
  wake: () => void
  shutdown: () => void
  lifetime: AbortSignal
}

export function nodeOperations(ctx: Needs, parts: NodeParts): NodeOperations {
  const { membership, sync } = parts
  const home = (): HubClient => {
    if (ctx.identity.log.deactivated) refuse('identity_deactivated', 'this identity is deactivated')
    return ctx.hub.home ?? refuse('no_hub', 'this node is registered at no hub')
  }
  return {
    async status() {
      return statusView(ctx, parts)
    },
    async shutdown() {
      parts.shutdown()
      return { state: 'stopping' }
    },
    async consoleTicket() {
      return consoleLink({ ctx, ...parts })
    },
    async find(given) {
      return findAgents(ctx, home(), given)
    },
    async agentPrices({ aid }) {
      return pricesOnCard(ctx, home(), aid)
    },
    async keyHistory({ agent }) {
      const aid = agent === undefined ? ctx.identity.aid : ctx.contacts.resolve(agent)
      const log = aid === ctx.identity.aid ? ctx.identity.log : aid && ctx.peers.find(aid)?.log
      if (!log) return refuse('unknown_peer', `no key history of "${agent}" is stored here`)
      return { aid: log.aid, kel_seq: log.seq, kel: toBase64(encodeKel(log.events)) }
    },
    async contacts() {
      return { contacts: ctx.contacts.list().map(contactView) }
    },
    ...draftOperations(ctx),
    async contactAdd(given) {
      if (given.aid === ctx.identity.aid) refuse('bad_request', 'this is the AID of this node itself')
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
        if (given.blocked) ctx.capabilities.revokeIssued(changed.aid)
        return changed
      }, 'node.block')
      if (given.blocked) parts.wake()
      // what was revoked is gone; a contact again gets new ones, or it could never write
      else ctx.topUps.hurry(contact.aid)
      return settings(ctx, contactView(contact))
    },
    async hubRegister(given, signal) {
      return joinHub(ctx, parts, given, signal)
    },
    async hubLook() {
      return { talking: await membership.lookAgain() }
    },
    async hubLeave(given) {
      ctx.settings.requireReadable()
      const work = async () => {
        const done = await membership.leave(given.url)
        if (done.current) ctx.settings.change({ hub_url: undefined })
        return done
      }
      const again = ['svc hub-leave', ...(given.url === undefined ? [] : [shellWord(given.url)])].join(' ')
      const left = await hubOrdered(ctx, work, { again }).catch(stillRegistered)
      const owed = left.hub && (await sayOwedBy(left.hub, ctx.timers))
      return { status: 'left', hub_url: left.url, current: left.current, ...owed }
    },
    async accept(given) {
      ctx.settings.change({ accept_delegations: given.on })
      return { accept_delegations: given.on }
    },
    async consoleSet({ keys }) {
      ctx.settings.change({ console_keys: keys })
      ctx.events.emit('settings')
      return { keys }
    },

    async profileSet(given) {
      requirePublishable(parts, given)
      const config = ctx.settings.change(withoutUndefined(given))
      const published = [given.summary, given.readme, given.caps].some(one => one !== undefined)
      if (published && ctx.hub.home !== undefined)
        await publishing(ctx, () => sync.updateProfile(parts.lifetime))
      const { summary, readme, pricing, caps } = config
      const note = given.pricing === undefined ? {} : { note: PROFILE_NOTE }
      return { status: 'profile_updated', summary, readme, pricing, caps, ...note }
    },
    async visibility(given) {
      ctx.settings.requireReadable()
      await hubOrdered(ctx, async () => {
        await home().setVisibility(given.visibility)
        ctx.settings.change({ visibility: given.visibility })
      })
      return { visibility: given.visibility }
    },
    async autoReplyShow() {
      return autoReplyView(ctx.settings.current.auto_reply, parts.autoReply.sandbox)
    },
    async autoReplySet({ unsafe = false, ...given }, signal) {
      const { config: auto_reply, resets } = chosen(ctx.settings.current.auto_reply, given)
      await orRefuse('bad_request', () => parts.autoReply.check(auto_reply, given, { unsafe, signal }))
      const config = ctx.settings.change({ auto_reply })
      await parts.autoReply.restart()
      return autoReplyView(config.auto_reply, parts.autoReply.sandbox, resets)
    },
    async autoReplyAgents() {
      return { agents: parts.autoReply.agents() }
    },
    async autoReplyRuns() {
      return { runs: parts.autoReply.runs.list }
    },
    async autoReplyOff() {
      ctx.settings.change({ auto_reply: undefined })
      await parts.autoReply.restart()
      return autoReplyView(undefined, undefined)
    },
    async autoReplyTest(given, signal) {
      const question = given.question ?? 'Say in one sentence that you are ready.'
      const config = tried(ctx, given.settings)
      return orRefuse('backend_failed', () => parts.autoReply.test(question, signal, config))
    },
    async autoReplyAttack(given, signal) {
      const config = tried(ctx, given.settings)
      return orRefuse('backend_failed', () => parts.autoReply.attack(signal, config))
    },
    async idRotate(given) {
      return withNextKey(ctx, given.recovery_phrase, async () => {
        const untold = await membership.rotate(parts.lifetime)
        return { ...identityView(ctx, 'rotated', untold), ...waitsView(ctx) }
      })
    },
    async idDeactivate(given) {
      if (given.forfeit_credits !== true) await refuseWhileCreditsRemain(membership.accounts(), ctx.timers)
      return withNextKey(ctx, given.recovery_phrase, async () => {
        const untold = await membership.deactivate(parts.lifetime)
        parts.wake()
        return identityView(ctx, 'deactivated', untold)
      })
    },
    async evidence(given) {
      const limit = given.limit ?? EVIDENCE_LIMIT_DEFAULT
      const { event_type: eventType, since, before, interaction_id: interactionId } = given
      const records = ctx.chain.read({ eventType, since, before, interactionId, limit })
      return { head: ctx.chain.head(), records: records as never }
    },
    ...evidenceOperations(ctx),
    ...backupOperations(ctx),
    ...capabilityOperations(parts.modules),
    async balance({ hub }) {
      return balanceOf(ctx, await accountHub(ctx, membership, hub))
    },
  }
}

/** What a change would make of the settings, where one is to be tried. */
const tried = (ctx: Needs, change: Parameters<typeof chosen>[1] | undefined): AutoReplyConfig | undefined =>
  change === undefined ? undefined : chosen(ctx.settings.current.auto_reply, change).config

function settings<T>(ctx: Needs, value: T): T {
  ctx.events.emit('settings')
  return value
}

const contactView = ({ aid, petname, blocked, addedAt }: Contact) => ({
  aid,
  petname,
  blocked: blocked === 1,
  added_at: addedAt,
})

/** `untold`: why the hub does not know of the key event yet. */
function identityView(ctx: Needs, state: string, untold: string | undefined) {
  const hub = ctx.hub.last?.url
  const note = untold && `the hub does not know of it yet (${untold}); the node goes on telling it`
  return {
    aid: ctx.identity.aid,
    kel_seq: ctx.identity.log.seq,
    state,
    ...present({ hub, note }),
  }
}

/** Refuses what would be published before any of it is kept. */
function requirePublishable({ publication }: NodeParts, profile: object): void {
  publication.check(profile, () => utf8(JSON.stringify(profile)))
}

/** A hub is left when it knows; until then it takes mail for this node. */
function stillRegistered(error: unknown): never {
  if (!isUnreachable(error)) throw error
  const { message, next } = error
  return refuse(
    'hub_unreachable',
    `${message}; this node stays registered there until the hub has heard it`,
    next,
  )
}

const NAMED_MAX = 5

async function joinHub(
  ctx: Needs,
  parts: NodeParts,
  given: Parameters<Handlers['hubRegister']>[0],
  signal: AbortSignal,
) {
  if (given.wire !== undefined && !spoken.includes(given.wire))
    refuse('hub_incompatible', `this node speaks wire ${spoken.join(', ')}, not ${given.wire}`, 'svc version')
  requirePublishable(parts, present({ name: given.name, caps: given.caps }))
  if (given.recovery_phrase !== undefined) importPhrase(ctx, given.recovery_phrase)
  const { name, caps, guest_messages, accept_delegations } = ctx.settings.current
  ctx.settings.change(
    withoutUndefined({
      name: given.name,
      caps: given.caps,
      guest_messages: given.guest_messages,
      accept_delegations: given.accept_delegations,
    }),
  )
  const join = () => parts.membership.join(given.url, AbortSignal.any([signal, parts.lifetime]))
  const { hub, reply } = await hubCall(ctx.identity, join, registration(given)).catch(error => {
    if (isUnreachable(error)) ctx.settings.change({ name, caps, guest_messages, accept_delegations })
    throw error
  })
  ctx.settings.change({ hub_url: hub.url })
  parts.wake()
  const note = cardWarning(ctx.store, hub) ?? elsewhereNote(ctx, hub.identity.aid)
  return {
    status: 'registered',
    hub_url: hub.url,
    hub_aid: hub.identity.aid,
    wire: hub.identity.wire,
    sealed: hub.mail !== undefined,
    keys_status: reply.keysStatus,
    card_status: reply.cardStatus,
    ...present({ note, probation_until: reply.probationUntilMs, trial: reply.trial }),
  }
}

/** The command that asks the same once more. A phrase comes from standard input and is in no command. */
function registration(given: Parameters<Handlers['hubRegister']>[0]): string {
  const { url, name, caps, guest_messages, accept_delegations } = given
  const flags = {
    '--name': name,
    '--caps': caps?.join(','),
    '--guest-messages': guest_messages,
    '--accept-delegations': accept_delegations,
  }
  const words = Object.entries(withoutUndefined(flags)).flatMap(([flag, value]) => [flag, String(value)])
  return ['svc', 'hub-register', url, ...words].map(shellWord).join(' ')
}

/** Contacts that a node at this hub cannot reach. */
function elsewhereNote(ctx: Needs, hub: string): string | undefined {
  const names = ctx.contacts
    .list()
    .filter(({ aid }) => (ctx.peers.find(aid)?.log?.home ?? hub) !== hub)
    .map(({ aid, petname }) => petname ?? aid)
  if (names.length === 0) return undefined
  const shown = names.slice(0, NAMED_MAX).join(', ')
  const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : ''
  return `hubs do not pass mail on to each other yet: with ${shown}${more}, at another hub, tasks fail both ways until you meet at one`
}

async function withNextKey<T>(ctx: Needs, phrase: string | undefined, work: () => Promise<T>): Promise<T> {
  if (ctx.identity.log.deactivated) refuse('identity_deactivated', 'this identity is deactivated')
  if (phrase !== undefined) importPhrase(ctx, phrase)
  if (!ctx.identity.hasNextKey) refuse('next_key_missing', 'the next key is not on this machine')
  return hubCall(ctx.identity, work)
}

function importPhrase(ctx: Needs, phrase: string): void {
  try {
    ctx.identity.importNext(phrase)
  } catch (error) {
    if (error instanceof KeyRefused) refuse('next_key_missing', error.message)
    throw error
  }
}

function withoutUndefined<T extends object>(given: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const members = Object.entries(given).filter(([, value]) => value !== undefined)
  return Object.fromEntries(members) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
