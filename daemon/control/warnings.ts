/** What the owner of a node should know and do something about. */
import { statSync } from 'node:fs'
import type { Sandbox } from '../../autoreply/sandbox.ts'
import { buildInfo } from '../../protocol/build-info.ts'
import { shellWord } from '../../protocol/shell.ts'
import { copyWarnings, hasTakenOver } from '../chain/place.ts'
import type { Context } from '../context.ts'
import { type Config, controlHost, LOOPBACK_HOSTS, settingsWithoutEffect } from '../home/config.ts'
import { keyWarning } from '../identity/key-warning.ts'
import { hasClaim } from '../mail/claims.ts'
import { cardWarning } from '../membership/card.ts'
import { clockAheadWarning } from '../membership/clock-ahead.ts'
import { refusingHubs } from '../payments/previous-accounts.ts'
import { contradictionWarnings } from '../peers/contradictions.ts'
import { REWRITTEN } from '../peers/heads.ts'
import { roomWarning } from '../platform/room.ts'
import { counted } from '../store/counters.ts'
import { alarmed, alarmOf, witnessedOf } from '../store/hub-accounts.ts'
import { urlOfLeft } from '../store/hubs.ts'
import { contradictedInteractions } from '../store/interactions.ts'
import type { DeliveryState } from '../store/messages.ts'
import type { ControlAddress } from './address.ts'
import { ALONE } from './console.ts'
import { paymentWarnings } from './payment-warnings.ts'
import { restoreWarnings } from './restored.ts'

type Needs = Pick<
  Context,
  | 'dir'
  | 'identity'
  | 'store'
  | 'chain'
  | 'contacts'
  | 'hub'
  | 'settings'
  | 'modules'
  | 'now'
  | 'hubNow'
  | 'notices'
>

type State = {
  /** Why auto-reply does not run although it is configured. */
  autoReplyFault?: string | undefined
  /** Why the last automatic answer failed. */
  autoReplyFailure?: string | undefined
  /** What holds the program that answers. */
  sandbox?: Sandbox | undefined
  control?: ControlAddress
}

function creditsWarning({ store, hub }: Pick<Needs, 'store' | 'hub'>): string | undefined {
  const { home } = hub
  const alarm = home && alarmOf(store, home.identity.aid)
  return alarm === undefined
    ? undefined
    : `nothing is paid in credits of ${home?.url}: ${alarm}; svc audit-hub --all shows it, and svc audit-hub --accept goes on`
}

/** Hubs that were left, hold something of this node, and do not show it. */
const previousWarnings = (ctx: Pick<Needs, 'store'>): string[] =>
  refusingHubs(ctx).map(
    ({ url, code }) =>
      `${url}, which this node left, refuses to show its account there (${code}), and credits or holds of it remain: svc balance --hub ${shellWord(url)} asks again; ask its operator where that fails`,
  )

/** Hubs that were left, and whose books do not agree with those of this node. */
function previousAlarms({ store }: Pick<Needs, 'store'>): string[] {
  return alarmed(store).flatMap(hub => {
    const url = urlOfLeft(store, hub)
    if (url === undefined) return []
    const audit = `svc audit-hub --hub ${shellWord(url)}`
    return [
      `the account at ${url}, which this node left, is in doubt: ${alarmOf(store, hub)}; ${audit} compares it again, and ${audit} --accept ends this warning`,
    ]
  })
}

/** Of a hub that had witnesses, as the last audit found it. */
function witnessWarning({ store, hub }: Pick<Needs, 'store' | 'hub'>): string | undefined {
  const { home } = hub
  const kept = home && witnessedOf(store, home.identity.aid)
  if (kept?.isStale !== true) return undefined
  const last = new Date(kept.lastMs).toISOString()
  return `no witness has watched the credits of ${home?.url} for more than 48 hours, the last one at ${last}; ask its operator, and pay no more than you can lose`
}

const said = (sentence: string | undefined): [boolean, string | undefined] => [true, sentence]

export function warningsOf(
  ctx: Needs,
  { autoReplyFault, autoReplyFailure, sandbox, control }: State = {},
): string[] {
  const host = controlHost(ctx.settings.current)
  const warnings: [boolean, string | undefined][] = [
    [
      !LOOPBACK_HOSTS.includes(host),
      `the control interface listens on ${host}: anyone who can reach it and has the token controls this node`,
    ],
    [
      (statSync(ctx.dir).mode & 0o077) !== 0,
      `other users of this machine can enter the data directory; tighten it with: chmod 700 ${ctx.dir}`,
    ],
    [ctx.hub.oldCopy === undefined && ctx.hub.unsettled === undefined, ctx.hub.unasked],
    [true, keyWarning({ deactivated: ctx.identity.log.deactivated, hasNextKey: ctx.identity.hasNextKey })],
    [true, stoppedWarning(ctx.hub)],
    ...[creditsWarning(ctx), witnessWarning(ctx), ...paymentWarnings(ctx)].map(said),
    [ctx.hub.oldCopy === undefined, ctx.hub.unsettled],
    [true, roomWarning(ctx.dir)],
    ...ctx.notices.current(ctx.now()).map(said),
    [true, settingsWarning(ctx.settings.current)],
    [true, ctx.settings.editedWarning()],
    [
      control?.missed !== undefined,
      `config.json: control_addr ${control?.missed} is in use by another program, so this node listens on ${control?.bound}; send the token to no other address`,
    ],
    [control?.isAlone === true, `${ALONE} (${control?.bound})`],
    [true, clockAheadWarning(ctx.store, ctx.identity.aid, ctx.now())],
    [
      sandbox?.kind === 'none' && ctx.settings.current.auto_reply?.sandbox !== false,
      `the program that answers tasks is in no sandbox (${sandbox?.kind === 'none' ? sandbox.why : ''}): what it can be talked into, it can do with your files and your network; install bubblewrap and restart the node, or accept it with: svc autoreply set --no-sandbox`,
    ],
    [true, toolsWarning(ctx.settings.current)],
    [true, notRunning(autoReplyFault)],
    [true, autoReplyFailure],
    [
      counted(ctx.store, 'notice_differs') > 0,
      'the hub showed a key state for this identity that differs from the one held here',
    ],
    [
      ctx.hub.twinSeen && ctx.hub.oldCopy === undefined && !hasTakenOver(ctx.store),
      'this identity is also running on another machine, which was started later; stop it there',
    ],
    [true, cardWarning(ctx.store, ctx.hub.last)],
    [
      ctx.chain.isQuarantined,
      'the evidence chain is quarantined because two records share a sequence number; no more receipts are signed',
    ],
    ...ctx.contacts
      .list()
      .map(({ aid, petname }): [boolean, string] => [
        petname !== null && hasClaim(ctx, aid),
        `${petname} says that it holds messages from this node that are not here, which may be untrue; only if these files came from a backup, restore a newer one`,
      ]),
    [
      contradictedInteractions(ctx.store) > 0,
      'a provider signed two receipts of one task that contradict each other; both are kept, and the task takes no review',
    ],
    [
      counted(ctx.store, REWRITTEN) > 0,
      'a correspondent signed two different heads of its evidence chain at one length: it rewrote or cut that chain, or put a backup back; svc evidence --type svc.peer.rewritten shows who',
    ],
    ...[...twinWarnings(ctx), ...pastWarnings(ctx), ...previousWarnings(ctx), ...previousAlarms(ctx)].map(
      said,
    ),
  ]
  return warnings.flatMap(([holds, sentence]) => (holds && sentence !== undefined ? [sentence] : []))
}

/** An old copy is told that it is one, and nothing else of other copies. */
function twinWarnings({ hub, store, now }: Needs): string[] {
  if (hub.oldCopy !== undefined || (hub.twinSeen && !hasTakenOver(store))) return []
  return copyWarnings(store, now())
}

/** What a restore left to be known, and what others contradicted. */
const pastWarnings = (ctx: Needs): string[] => [
  ...restoreWarnings(ctx),
  ...contradictionWarnings(ctx.store, aid => ctx.contacts.petnameOf(aid) ?? aid),
]

const notRunning = (fault: string | undefined): string | undefined =>
  fault === undefined ? undefined : `auto-reply is not running: ${fault}`

/** Those of the warnings that quote a hub or a program. */
export function quotingWarnings(ctx: Needs, { autoReplyFault, autoReplyFailure }: State = {}): string[] {
  const quoting = [
    stoppedWarning(ctx.hub),
    creditsWarning(ctx),
    autoReplyFailure,
    notRunning(autoReplyFault),
    cardWarning(ctx.store, ctx.hub.last),
  ]
  return quoting.filter(sentence => sentence !== undefined)
}

/** Said as long as a coding agent that reads what others wrote may use tools. */
function toolsWarning({ auto_reply }: Config): string | undefined {
  const { agent, command, tools = 'none' } = auto_reply ?? {}
  if (agent === undefined || command !== undefined || tools === 'none') return undefined
  return `${agent} answers tasks with tools (--tools ${tools}): what a task talks it into, it can do; take them away with: svc autoreply set --tools none`
}

/** Names what stands in the configuration in vain; also said at each start. */
export function settingsWarning(config: Config): string | undefined {
  const names = settingsWithoutEffect(config, buildInfo.modules)
  if (names.length === 0) return undefined
  return `config.json: ${names.join(', ')} ${names.length === 1 ? 'has' : 'have'} no effect in this build`
}

/** Why what was just committed does not leave this machine now, or is not answered. */
export function waitingWarning(hub: Needs['hub'], delivery: DeliveryState | null = null): string | undefined {
  if (hub.home !== undefined) return stoppedWarning(hub) ?? offlineWarning(hub, delivery)
  return 'this node is registered at no hub; what it sends waits here until svc hub-register <url> --name <name>'
}

/**
 * A node that has just started has not reached its hub yet, and has no reason to give. A hub of which no mail can be
 * fetched, as where the clocks differ, may take what is sent all the same.
 */
function offlineWarning({ state }: Needs['hub'], delivery: DeliveryState | null): string | undefined {
  if (state.state !== 'offline' || state.reason === undefined) return undefined
  const then = hasLeft(delivery)
    ? 'this went out, and what comes back waits there until then'
    : 'this waits here until the hub takes it'
  return `no mail can be fetched from the hub now (${state.reason}); ${then}`
}

const hasLeft = (delivery: DeliveryState | null): boolean => delivery === 'at_hub' || delivery === 'delivered'

/** What a node that talks to its hub no longer says wherever something waits for that. */
export function stoppedWarning({ oldCopy, state }: Needs['hub']): string | undefined {
  if (oldCopy !== undefined) return oldCopy
  return state.state === 'stopped' ? `this node no longer talks to its hub: ${state.reason}` : undefined
}
