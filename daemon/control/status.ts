/** How a node stands, as its screens and programs read it. */
import { buildInfo } from '../../protocol/build-info.ts'
import type { NodeStatus } from '../../protocol/control/shapes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { lastBackup } from '../archive/last-backup.ts'
import type { Chain } from '../chain/chain.ts'
import type { Config } from '../home/config.ts'
import type { Settings } from '../home/settings.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import type { Membership } from '../membership/membership.ts'
import { counted } from '../store/counters.ts'
import { pendingCount, unreadCount } from '../store/lists.ts'
import type { Store } from '../store/open.ts'
import { atHubSize, heldSize, outboxSize } from '../store/outbox-sizes.ts'
import type { AutoReply } from '../tasks/auto-reply.ts'
import { STRANGERS_REFUSED } from '../tasks/policies.ts'
import type { ControlAddress } from './address.ts'
import { autoReplyView } from './auto-reply.ts'
import { consoleUrl } from './console.ts'
import type { Restored } from './restored.ts'
import type { Warnings } from './warnings.ts'

/** What the process is: its identity, its directory, its build. */
export class OwnStanding {
  readonly #dir: string
  readonly #identity: Identity
  readonly #chain: Chain
  readonly #version: string

  constructor(parts: { dir: string; identity: Identity; chain: Chain; version: string }) {
    this.#dir = parts.dir
    this.#identity = parts.identity
    this.#chain = parts.chain
    this.#version = parts.version
  }

  view() {
    const { aid, log } = this.#identity
    return {
      aid,
      version: this.#version,
      build: buildInfo.build,
      commit: buildInfo.commit,
      data_dir: this.#dir,
      ...present({ backup_at: lastBackup(this.#dir) }),
      deactivated: log.deactivated,
      kel_seq: log.seq,
      pid: process.pid,
      chain: this.#chain.head(),
    }
  }
}

const profileView = (config: Config) => ({
  name: config.name,
  caps: config.caps,
  summary: config.summary,
  readme: config.readme,
  pricing: config.pricing,
  accept_delegations: config.accept_delegations,
  guest_messages: config.guest_messages,
  ...present({
    visibility: config.visibility,
    console_keys: config.console_keys,
    spend: config.spend,
  }),
})

type P2pParts = {
  home: HubClient | undefined
  membership: Pick<Membership, 'isAddressListed' | 'addressToldCount'>
}

/** Nothing where direct delivery was never set. */
export function p2pView({ p2p }: Config, { home, membership }: P2pParts): NodeStatus['p2p'] {
  const { address = '', send = false, hosts } = p2p ?? {}
  if (address === '' && !send) return undefined
  const known = isSealed(home)
    ? { told: membership.addressToldCount }
    : { listed: membership.isAddressListed }
  return { ...(address !== '' && { address, ...known }), send, ...present({ hosts }) }
}

const isSealed = (home: HubClient | undefined) => home !== undefined && home.mail !== undefined

function hubView(hub: CurrentHub, now: number): NodeStatus['hub'] {
  const home = hub.last
  if (home === undefined) return null
  const { reason, state, powProgress, keptOut } = hub.state
  return {
    aid: home.identity.aid,
    wire: home.identity.wire,
    state,
    sealed: home.mail !== undefined,
    ...present({ reason, kept_out: keptOut }),
    last_contact_at: home.lastContactAtMs ?? null,
    ...present({ pow_progress: powProgress, pow_left_ms: leftOfWork(hub, now) }),
  }
}

/** By how long what is done took; nothing where more than was expected is done already. */
function leftOfWork({ state }: CurrentHub, now: number): number | undefined {
  const { powProgress: share = 0, powBeganAt } = state
  if (powBeganAt === undefined || share <= 0 || share >= 1) return undefined
  return Math.round((Math.max(0, now - powBeganAt) * (1 - share)) / share)
}

function countsView(store: Store): NodeStatus['counts'] {
  return {
    ...unreadCounts(store),
    pending: pendingCount(store),
    outbox: outboxSize(store),
    outbox_held: heldSize(store),
    outbox_at_hub: atHubSize(store),
    foreign: counted(store, 'foreign'),
    strangers_refused: counted(store, STRANGERS_REFUSED),
  }
}

function unreadCounts(store: Store) {
  const [received, sent] = [unreadCount(store, 'received'), unreadCount(store, 'sent')]
  return { unread: received + sent, unread_received: received, unread_sent: sent }
}

type StatusParts = {
  own: OwnStanding
  store: Store
  hub: CurrentHub
  settings: Settings
  membership: P2pParts['membership']
  restored: Restored
  warnings: Warnings
  autoReply: AutoReply
  control: ControlAddress
}

export function statusView(parts: StatusParts, now: number): NodeStatus {
  const { hub, settings, autoReply } = parts
  const { auto_reply } = autoReplyView(settings.current.auto_reply, autoReply.sandbox)
  return {
    ...parts.own.view(),
    hub_url: hub.last?.url ?? null,
    ...profileView(settings.current),
    ...present({ p2p: p2pView(settings.current, { home: hub.home, membership: parts.membership }) }),
    console_url: consoleUrl(parts.control),
    old_copy: hub.oldCopy !== undefined,
    ...present({ restored: parts.restored.view(), auto_reply }),
    hub: hubView(hub, now),
    counts: countsView(parts.store),
    ...warningsView(parts.warnings),
  }
}

function warningsView(all: Warnings): Pick<NodeStatus, 'warnings' | 'quoting_warnings'> {
  const warnings = all.list()
  const quoting = all.quoting()
  const places = warnings.flatMap((warning, place) => (quoting.includes(warning) ? [place] : []))
  return { warnings, ...present({ quoting_warnings: places.length === 0 ? undefined : places }) }
}
