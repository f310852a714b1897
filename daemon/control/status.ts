/** How a node stands, as its screens and programs read it. */
import { buildInfo } from '../../protocol/build-info.ts'
import type { NodeStatus } from '../../protocol/control/shapes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { lastBackup } from '../archive/last-backup.ts'
import type { Context } from '../context.ts'
import { counted } from '../store/counters.ts'
import { heldSize, outboxSize } from '../store/outbox.ts'
import type { AutoReply } from '../tasks/auto-reply.ts'
import { STRANGERS_REFUSED } from '../tasks/policies.ts'
import type { ControlAddress } from './address.ts'
import { autoReplyView } from './auto-reply.ts'
import { consoleUrl } from './console.ts'
import { restoredView } from './restored.ts'
import { quotingWarnings, warningsOf } from './warnings.ts'

type Needs = Pick<
  Context,
  | 'dir'
  | 'identity'
  | 'store'
  | 'chain'
  | 'contacts'
  | 'peers'
  | 'capabilities'
  | 'hub'
  | 'settings'
  | 'modules'
  | 'events'
  | 'now'
  | 'hubNow'
  | 'topUps'
  | 'notices'
>
type Parts = { autoReply: AutoReply; control: ControlAddress; version: string }

export function statusView(ctx: Needs, parts: Parts): NodeStatus {
  const config = ctx.settings.current
  const home = ctx.hub.last
  const count = (sql: string) => ctx.store.get<{ n: number }>(sql)?.n ?? 0
  const { reason, state, powProgress, keptOut } = ctx.hub.state
  const { auto_reply } = autoReplyView(config.auto_reply, parts.autoReply.sandbox)
  return {
    aid: ctx.identity.aid,
    version: parts.version,
    build: buildInfo.build,
    commit: buildInfo.commit,
    data_dir: ctx.dir,
    hub_url: home?.url ?? null,
    name: config.name,
    caps: config.caps,
    summary: config.summary,
    readme: config.readme,
    pricing: config.pricing,
    ...present({ visibility: config.visibility, backup_at: lastBackup(ctx.dir) }),
    accept_delegations: config.accept_delegations,
    guest_messages: config.guest_messages,
    console_url: consoleUrl(parts.control),
    deactivated: ctx.identity.log.deactivated,
    old_copy: ctx.hub.oldCopy !== undefined,
    ...present({ restored: restoredView(ctx), auto_reply, console_keys: config.console_keys }),
    kel_seq: ctx.identity.log.seq,
    pid: process.pid,
    hub:
      home === undefined
        ? null
        : {
            aid: home.identity.aid,
            wire: home.identity.wire,
            state,
            sealed: home.mail !== undefined,
            ...present({ reason, kept_out: keptOut }),
            last_contact_at: home.lastContactAtMs ?? null,
            ...present({ pow_progress: powProgress, pow_left_ms: leftOfWork(ctx) }),
          },
    counts: {
      ...unreadCounts(ctx),
      pending: count("SELECT count(*) AS n FROM interactions WHERE side = 'received' AND state = 'pending'"),
      outbox: outboxSize(ctx.store),
      outbox_held: heldSize(ctx.store),
      foreign: counted(ctx.store, 'foreign'),
      strangers_refused: counted(ctx.store, STRANGERS_REFUSED),
    },
    chain: ctx.chain.head(),
    ...present({ spend: config.spend }),
    ...warningsView(ctx, parts),
  }
}

/** By how long what is done took; nothing where more than was expected is done already. */
function leftOfWork({ hub, now }: Needs): number | undefined {
  const { powProgress: share = 0, powBeganAt } = hub.state
  if (powBeganAt === undefined || share <= 0 || share >= 1) return undefined
  return Math.round((Math.max(0, now() - powBeganAt) * (1 - share)) / share)
}

function unreadCounts({ store }: Needs) {
  const of = (side: 'received' | 'sent') =>
    store.get<{ n: number }>(
      'SELECT count(*) AS n FROM interactions WHERE last_in > read_to AND side = ?',
      side,
    )?.n ?? 0
  const [received, sent] = [of('received'), of('sent')]
  return { unread: received + sent, unread_received: received, unread_sent: sent }
}

function warningsView(ctx: Needs, parts: Parts): Pick<NodeStatus, 'warnings' | 'quoting_warnings'> {
  const state = {
    autoReplyFault: parts.autoReply.fault,
    autoReplyFailure: parts.autoReply.lastFailure,
    sandbox: parts.autoReply.sandbox,
    control: parts.control,
  }
  const warnings = warningsOf(ctx, state)
  const quoting = quotingWarnings(ctx, state)
  const places = warnings.flatMap((warning, place) => (quoting.includes(warning) ? [place] : []))
  return { warnings, ...present({ quoting_warnings: places.length === 0 ? undefined : places }) }
}
